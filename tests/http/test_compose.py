"""The compose file: read by a YAML parser, and what it starts tried against the command itself."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
import yaml  # type: ignore[import-untyped]

from trimtab.cli.root import root
from trimtab.config_files import Places, load_config
from trimtab.http.access import read_tokens
from trimtab.store.addresses import PostgresAddress, read_address

FOLDER = Path(__file__).parent.parent.parent / "examples" / "compose"


def compose() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return told


def servers() -> dict[str, Any]:
    return {name: one for name, one in compose()["services"].items() if "build" in one}


def test_the_commands_are_such_as_serve_takes() -> None:
    command = root.get_command(click.Context(root), "serve")
    assert command is not None
    options = {name for one in command.params for name in one.opts}
    entry = (FOLDER / "Dockerfile").read_text()
    assert 'ENTRYPOINT ["trimtab", "serve"]' in entry
    assert len(servers()) == 2
    for one in servers().values():
        names, values = one["command"][::2], one["command"][1::2]
        assert set(names) <= options
        given = dict(zip(names, values, strict=True))
        assert isinstance(read_address(given["--db"]), PostgresAddress)
        assert Path(given["--config"]).name == "trimtab.toml"
        assert f"./trimtab.toml:{given['--config']}:ro" in one["volumes"]


def test_the_configuration_lets_nobody_in_without_a_token_and_drains_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.config_files.usual_places", Places)
    shutil.copy(FOLDER / "trimtab.toml", tmp_path)
    config = load_config(tmp_path / "trimtab.toml")
    for one in servers().values():
        assert set(config.server.tokens.values()) <= set(one["environment"])
        assert config.server.drain_seconds < float(one["stop_grace_period"].removesuffix("s"))
    server = config.server.model_copy(update={"host": "0.0.0.0"})
    assert read_tokens(server, {"ANN_TOKEN": "a-token-that-is-long"}).needed


def test_all_that_is_named_is_there() -> None:
    told = compose()
    services = told["services"]
    for one in services.values():
        assert set(one.get("depends_on", ())) <= set(services)
        assert ("image" in one) != ("build" in one)
        for volume in one.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in told["volumes"] or (FOLDER / source).is_file()
    nginx = (FOLDER / "nginx.conf").read_text()
    assert re.findall(r"server (\S+):8420;", nginx) == list(servers())
    assert nginx.count("{") == nginx.count("}")
