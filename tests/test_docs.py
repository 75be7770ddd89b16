"""What the docs show is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import trimtab
import trimtab_sdk
from cli.keyboards import Keyboard
from talks import count, fit, ids, talk, turn
from trimtab.config_models import Endpoint
from trimtab.fitting.guard import STRATEGY_REASONS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
AUTHORS = (ROOT / "docs/plugins.md").read_text()
REFERENCE = (ROOT / "docs/reference.md").read_text()


def python_block(page: str, hook: str) -> str:
    """The first Python block of a page that implements a hook."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return next(block for block in blocks if f"def {hook}" in block)


@pytest.mark.parametrize("page", [README, AUTHORS], ids=["README", "plugins"])
def test_the_strategy_of_the_page_works_as_printed(page: str) -> None:
    module = ModuleType("printed")
    exec(python_block(page, "trimtab_shift"), module.__dict__)
    registry = trimtab.ContextStrategyRegistry()
    registry.register("heaviest-first", module)
    chat = talk()
    chat.insert(4, turn("heavy", "assistant", "word " * 500))
    result = fit(chat, count(chat) - 1, strategy="heaviest-first", registry=registry)
    assert ids(result.excluded) == ["heavy"]
    assert result.diagnostics == ()


def test_the_readme_shows_what_the_command_prints() -> None:
    shown = re.search(r"\$ (trimtab fit examples/small-chat\.json .*?)\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    command = [sys.executable, "-m", "trimtab.cli", *shown[1].split()[1:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    printed = [line.rstrip() for line in done.stderr.splitlines()]
    for line in filter(None, shown[2].splitlines()):
        assert line.rstrip() in printed


def test_the_readme_shows_the_talk_as_it_goes(tmp_path: Path) -> None:
    shown = re.search(r"\$ trimtab (chat .*?)\n(.*?)```", README, re.DOTALL)
    assert shown is not None
    lines = shown[2].splitlines()
    with Keyboard(*shown[1].split(), "--store", tmp_path / "chats.db") as keyboard:
        for typed in (line.removeprefix("> ") for line in lines if line.startswith("> ")):
            keyboard.wait_for("> ")
            keyboard.type(f"{typed}\n")
            keyboard.wait_for("\n")
        keyboard.wait_for("\n> ")
        keyboard.type("/quit\n")
        assert keyboard.end() == 0

    printed = [line.rstrip() for line in keyboard.shown.splitlines()]
    told = [line for line in lines if line.rstrip() and line != "…" and not line.startswith("chat ")]
    assert [line for line in told if line.rstrip() not in printed] == []


def test_the_host_app_runs() -> None:
    done = subprocess.run(
        [sys.executable, "examples/host_app.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "left out: message 1" in done.stdout


def test_every_error_code_is_in_the_reference() -> None:
    errors: list[Any] = [getattr(trimtab_sdk, name) for name in trimtab_sdk.__all__ if name.endswith("Error")]
    ours = [error for error in errors if issubclass(error, trimtab_sdk.TrimtabError)]
    codes = {error.code for error in ours if not error.__subclasses__()} - {trimtab_sdk.TrimtabError.code}
    assert [code for code in sorted(codes) if f"`{code}`" not in REFERENCE] == []


def test_every_field_of_an_endpoint_is_in_the_configuration_page() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    fields = Endpoint.model_fields
    section = page[page.index("## Providers") : page.index("## Trust")]

    assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(fields)
    for name in ("connect_seconds", "first_byte_seconds", "idle_seconds", "answer_seconds", "retries"):
        assert f"| `{name}` | `{fields[name].default:g}` |" in section


def test_every_reason_is_in_the_reference() -> None:
    reasons = {*STRATEGY_REASONS, "manual", "final-budget", "interceptor", "wire-rule", "unpaired", "empty"}
    reasons |= {"system", "developer", "character", "persona", "required", "pinned", "current-input"}
    reasons |= {"open-step", "recent", "relevant", "summary", "plugin"}
    assert [reason for reason in sorted(reasons) if f"`{reason}`" not in REFERENCE] == []


def test_the_pages_that_are_linked_exist() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links {target}"
