"""The provider of the guide for authors keeps its contract and answers turns; its files are read as printed."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from fakes.chat_server import ChatServer
from install.fresh_environment import run
from trimtab import load_config
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab.turns.targets import resolve_target
from trimtab_plugins.providers import (
    chatgpt_schemas,
    deepseek_schemas,
    interactions_schemas,
    messages_schemas,
    responses_schemas,
)
from trimtab_sdk import Provider, ProviderCall, TextDelta

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "providers.md").read_text()
CONFIGURATION = (DOCS / "configuration.md").read_text()
BLOCKS: Sequence[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
TOML: Sequence[str] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
CONTRACT = """
import pytest
from trimtab.conformance import ProviderContract
from trimtab_plain import PlainChat

TEXT = '{"choices": [{"delta": {"content": "Six."}, "finish_reason": null}]}'
END = '{"choices": [{"delta": {}, "finish_reason": "stop"}]}'


class TestPlainChat(ProviderContract):
    streams = [
        {"events": [TEXT, END, "[DONE]"], "text": "Six."},
        {"events": [TEXT, TEXT, END, "[DONE]"], "text": "Six.Six."},
    ]

    @pytest.fixture
    def subject(self):
        return PlainChat
"""


def test_the_provider_of_the_page_keeps_the_contract(tmp_path: Path) -> None:
    (tmp_path / "trimtab_plain.py").write_text(BLOCKS[0], encoding="utf-8")
    (tmp_path / "test_plain.py").write_text(CONTRACT, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis")}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    ended = run(*command, "-c", tmp_path / "pytest.ini", "--rootdir", tmp_path, tmp_path, env=alone)

    assert ended.code == 0, ended.out
    assert " passed" in ended.out


def test_the_provider_of_the_page_answers_a_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"TextDelta": TextDelta}
    exec(BLOCKS[0], names)
    with ChatServer() as server:
        server.say("Here ", "I am.")
        block = BLOCKS[1].replace("http://localhost:8080/v1", server.base_url)
        asyncio.run(run_block(block, names))

        assert server.faults == []
    assert capsys.readouterr().out == "Here I am."


async def run_block(block: str, names: dict[str, object]) -> None:
    running = eval(compile(block, "providers.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
    assert inspect.isawaitable(running)
    await running


def test_the_files_of_the_page_are_read_as_printed(tmp_path: Path) -> None:
    project, configuration = TOML
    named = tomllib.loads(project)["project"]["entry-points"]["trimtab.providers"]
    assert named == {"plain-chat": "trimtab_plain:PlainChat"}
    file = tmp_path / "config.toml"
    file.write_text(configuration)
    file.chmod(0o600)
    config = load_config(file)
    assert config.trusts("trimtab-plain", "1.4")
    assert config.providers["mine"].driver == "plain-chat"


def test_the_page_names_every_part_of_the_protocol_and_of_a_cursor() -> None:
    parts = [name for name in vars(Provider) if not name.startswith("_")]
    fields = ("keep", "cursor", "compact_at", "conversation", "resume")
    assert [name for name in parts if name not in PAGE] == []
    assert [name for name in fields if f"| `{name}` |" not in PAGE] == []
    assert {*fields} <= {*ProviderCall.__dataclass_fields__}


@pytest.mark.parametrize(
    ("title", "schemas"),
    [
        ("openai and gemini", responses_schemas),
        ("openai and gemini", interactions_schemas),
        ("anthropic and deepseek", messages_schemas),
        ("anthropic and deepseek", deepseek_schemas),
        ("chatgpt", chatgpt_schemas),
    ],
    ids=["openai", "gemini", "anthropic", "deepseek", "chatgpt"],
)
def test_the_configuration_page_names_every_setting_and_option_of_a_driver(
    title: str, schemas: ModuleType
) -> None:
    named = [name for schema in (schemas.SETTINGS, schemas.OPTIONS) for name in schema["properties"]]
    assert [name for name in named if f"`{name}`" not in section(title)] == []


def section(title: str) -> str:
    """The part of the configuration page below a title."""
    return re.split(r"^##+ ", CONFIGURATION[CONFIGURATION.index(f"### {title}\n") :], flags=re.MULTILINE)[1]


def test_the_providers_of_the_configuration_page_are_read_as_printed(tmp_path: Path) -> None:
    drivers = {}
    for title in ("openai and gemini", "anthropic and deepseek", "chatgpt"):
        (block,) = re.findall(r"```toml\n(.*?)```", section(title), re.DOTALL)
        file = tmp_path / "config.toml"
        file.write_text(block)
        file.chmod(0o600)
        config = load_config(file)
        for name in config.providers:
            keys = {"OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "DEEPSEEK_API_KEY"}
            environ = dict.fromkeys({*keys, "CHATGPT_ACCESS_TOKEN"}, "a-key")
            target = resolve_target(name, config=config, registry=DEFAULT_REGISTRY, environ=environ)
            drivers[name] = target.provider.name
    assert {*drivers.values()} == {"openai", "gemini", "anthropic", "deepseek", "chatgpt"}
