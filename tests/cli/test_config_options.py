from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.chats import list_file
from cli.publishing import HEAVIEST, config_file, leaving_a_mark, publish
from cli.running import run, run_here

OWN_MODEL = "[models.my-model]\ncontext_limit = 600\n"
TIGHT = ("--model", "gpt-4o", "--limit", "600")


def commands(folder: Path) -> list[list[str]]:
    chat = str(list_file(folder))
    return [
        ["fit", chat, "--model", "gpt-4o"],
        ["fit", chat, *TIGHT, "--compare"],
        ["convert", chat, "--to", "anthropic-messages"],
        ["strategies"],
        ["plugins"],
        ["models"],
    ]


@pytest.mark.parametrize("at", range(6), ids=["fit", "compare", "convert", "strategies", "plugins", "models"])
def test_every_command_reads_the_file_it_is_given_and_tells_what_is_wrong_in_it(tmp_path: Path, at: int) -> None:
    path = config_file(tmp_path, "trust = ['x']")

    ended = run_here(*commands(tmp_path)[at], "--config", path, "--json")

    told = json.loads(ended.out)
    assert (ended.code, told["code"]) == (2, "CONFIG_INVALID")
    assert told["message"].startswith(f"{path}: the configuration is wrong: trust: there is no such key")


def test_a_model_of_the_configuration_can_be_fitted_for(tmp_path: Path) -> None:
    fit = ("fit", list_file(tmp_path), "--model", "my-model", "--json")

    ended = run("models", "my-model", "--json", "--config", config_file(tmp_path, OWN_MODEL))
    assert json.loads(ended.out)[0]["contextLimit"] == 600
    assert json.loads(run(*fit).out)["code"] == "UNKNOWN_MODEL"
    fitted = json.loads(run(*fit, "--config", config_file(tmp_path, OWN_MODEL)).out)
    assert fitted["budget"]["contextLimit"] == 600


def test_the_user_s_file_is_read_without_being_named(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "trimtab"
    folder.mkdir(parents=True)
    config_file(folder, OWN_MODEL).rename(folder / "config.toml")

    ended = run("models", "my-model", env={"XDG_CONFIG_HOME": str(tmp_path / "config")})

    assert "my-model" in ended.out


def test_a_foreign_folder_changes_nothing(tmp_path: Path) -> None:
    hostile = f"trusted = ['evil']\n{OWN_MODEL}"
    for name in ("trimtab.toml", "trimtab/config.toml", ".config/trimtab/config.toml", "config.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        config_file(tmp_path, hostile).rename(tmp_path / name)
    (tmp_path / "pyproject.toml").write_text(f"[tool.trimtab]\n{hostile}")
    (tmp_path / ".env").write_text("TRIMTAB_TRUSTED='[\"evil\"]'\nTRUSTED='[\"evil\"]'\n")
    relative = {"XDG_CONFIG_HOME": ".", "XDG_CONFIG_DIRS": ".", "XDG_DATA_HOME": ".", "HOME": str(tmp_path / "no")}

    for env in ({}, relative):
        ended = run("models", "my-model", "--json", cwd=tmp_path, env=env)
        assert (ended.code, ended.out) == (0, "[]\n")


def test_a_file_that_others_could_change_is_refused(tmp_path: Path) -> None:
    path = config_file(tmp_path, OWN_MODEL)
    path.chmod(0o666)

    ended = run("models", "--config", path)

    assert (ended.code, ended.out) == (2, "")
    assert f"run: chmod go-w {path}" in ended.err


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)

    ended = run("plugins", "--config", tmp_path / "pipe", "--json")

    assert ended.code == 2
    assert "it is no regular file" in json.loads(ended.out)["message"]


def test_a_strategy_runs_once_its_distribution_is_trusted(tmp_path: Path) -> None:
    site = publish(tmp_path / "site", "trimtab-heaviest")
    config = config_file(tmp_path, "trusted = ['trimtab-heaviest==1.*']")

    ended = run(
        *("fit", list_file(tmp_path), *TIGHT, "--strategy", "heaviest", "--json", "--config", config),
        env={"PYTHONPATH": str(site)},
    )

    assert ended.code == 0, ended.out
    assert json.loads(ended.out)["strategy"] == "heaviest"


def test_what_a_trusted_plugin_prints_stays_out_of_the_report(tmp_path: Path) -> None:
    site = publish(tmp_path / "site", "trimtab-heaviest", f"print('loaded')\n{HEAVIEST}")
    config = config_file(tmp_path, "trusted = ['trimtab-heaviest']")

    ended = run(
        *("fit", list_file(tmp_path), *TIGHT, "--strategy", "heaviest", "--json", "--config", config),
        env={"PYTHONPATH": str(site)},
    )

    assert json.loads(ended.out)["strategy"] == "heaviest"
    assert "loaded" in ended.err


def test_without_plugins_nothing_of_others_runs_or_is_listed(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    site = publish(tmp_path / "site", "trimtab-heaviest", leaving_a_mark(HEAVIEST, mark))
    config = config_file(tmp_path, "trusted = ['trimtab-heaviest']")
    options = ("--config", config, "--no-plugins", "--json")
    env = {"PYTHONPATH": str(site)}

    compared = run("fit", list_file(tmp_path), *TIGHT, "--compare", *options, env=env)
    refused = run("fit", list_file(tmp_path), *TIGHT, "--strategy", "heaviest", *options, env=env)
    listed = run("strategies", *options, env=env)

    assert compared.code == 0, compared.out
    assert "truncate" in json.loads(compared.out)["strategies"]
    assert "heaviest" not in json.loads(compared.out)["strategies"]
    assert (refused.code, "heaviest" in json.loads(refused.out)["message"]) == (2, True)
    assert {row["distribution"] for row in json.loads(listed.out) if row["status"] == "ready"} == {"trimtab"}
    assert not mark.exists()


def test_a_comparison_goes_by_the_configuration(tmp_path: Path) -> None:
    site = publish(tmp_path / "site", "trimtab-heaviest")
    compare = ("fit", list_file(tmp_path), *TIGHT, "--compare", "--json", "--config")
    env = {"PYTHONPATH": str(site)}

    trusted = run(*compare, config_file(tmp_path, "trusted = ['trimtab-heaviest']"), env=env)
    assert "tokensAfter" in json.loads(trusted.out)["strategies"]["heaviest"]
    blocked = run(*compare, config_file(tmp_path, "blocked = ['heaviest']"), env=env)
    assert "heaviest" not in json.loads(blocked.out)["strategies"]


def test_a_comparison_takes_in_what_stands_in_the_plugin_directory(tmp_path: Path) -> None:
    publish(tmp_path / "plugins" / "trimtab-heaviest", "trimtab-heaviest")
    config = config_file(tmp_path, "plugin_directory = 'plugins'")

    ended = run("fit", list_file(tmp_path), *TIGHT, "--compare", "--json", "--config", config)

    assert "tokensAfter" in json.loads(ended.out)["strategies"]["heaviest"]


def test_a_plugin_of_pydantic_is_not_loaded_by_the_command(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    site = publish(tmp_path / "site", "pydantic-spy", leaving_a_mark("", mark), group="pydantic")

    ended = run("strategies", env={"PYTHONPATH": str(site)})

    assert ended.code == 0
    assert not mark.exists()
