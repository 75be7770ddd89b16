"""What the author's guide shows is so. Its commands are run as written by scripts/try_new_plugin.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import trimtab
import trimtab_sdk
from install.fresh_environment import run
from install.wheels import ROOT
from talks import count, fit, ids, talk, turn
from trimtab.cli.root import root
from trimtab.conformance import InterceptorContract, StrategyContract

GUIDE = (ROOT / "docs" / "writing-a-plugin.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL) if "@hookimpl" in block]
STRATEGIES = [block for block in BLOCKS if "def trimtab_shift" in block]
INTERCEPTORS = [block for block in BLOCKS if "def trimtab_intercept" in block]
CONTRACTS = """
import pytest
from trimtab.conformance import StrategyContract
import shown


class TestShown(StrategyContract):
    shortens = True

    @pytest.fixture
    def subject(self):
        return shown
"""


def module(block: str) -> ModuleType:
    made = ModuleType("shown")
    exec(block, made.__dict__)
    return made


def test_every_hook_has_an_example() -> None:
    hooks = {name for name in trimtab_sdk.__all__ if name.startswith("trimtab_")}
    assert [hook for hook in sorted(hooks) if f"def {hook}" not in "".join(BLOCKS)] == []


def test_the_strategy_of_the_first_steps_lets_small_talk_leave_first() -> None:
    registry = trimtab.ContextStrategyRegistry()
    registry.register("shown", module(STRATEGIES[0]))
    chat = [turn("heavy", "assistant", "word " * 200), turn("light", "user", "Thanks."), *talk()[1:]]
    result = fit(chat, count(chat) - 1, strategy="shown", registry=registry)
    assert ids(result.excluded) == ["light"]
    assert result.diagnostics == ()


def test_the_strategy_that_shows_shortening_keeps_its_contract(tmp_path: Path) -> None:
    (tmp_path / "shown.py").write_text(STRATEGIES[1], encoding="utf-8")
    tests = tmp_path / "test_shown.py"
    tests.write_text(CONTRACTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(tmp_path / "hypothesis")}
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    ended = run(*command, "-c", tmp_path / "pytest.ini", "--rootdir", tmp_path, tests, env=alone)
    assert ended.code == 0, ended.out
    assert " passed" in ended.out


@pytest.mark.parametrize("block", INTERCEPTORS)
def test_an_interceptor_of_the_page_does_what_it_says(block: str) -> None:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("shown", module(block))
    chat = [*talk(), turn("last", "user", "Which ships lie in the harbour?")]
    result = fit(chat, 2 * count(chat) + 400, registry=registry, config=trimtab.Config(interceptors=["shown"]))
    (call,) = [call for call in result.calls if call.plugin == "shown"]
    notes = [one.message for one in result.diagnostics]
    assert (call.rejected, call.inserted, notes) in [("", 1, []), ("", 0, ["5 words are wanted"])]


def test_the_claims_of_the_page_are_those_of_the_contracts() -> None:
    table = GUIDE.partition("| claim | on | says |")[2].partition("\n\n")[0]
    claims = set(re.findall(r"^\| `(\w+) = ", table, re.MULTILINE))
    abilities = {*StrategyContract.abilities, *InterceptorContract.abilities}
    assert claims == abilities | {"settings", "more_conversations"}
    assert all(hasattr(StrategyContract, name) or hasattr(InterceptorContract, name) for name in claims)


def test_the_commands_of_the_page_exist() -> None:
    named = set(re.findall(r"^trimtab ([a-z-]+)", GUIDE, re.MULTILINE))
    assert {"new-plugin", "plugins", "fit", "conform"} == named
    assert named <= set(root.list_commands(root.make_context("trimtab", ["--help"], resilient_parsing=True)))


def test_the_level_of_the_page_is_the_sdks() -> None:
    assert f"`trimtab_sdk.API_LEVEL`, now {trimtab_sdk.API_LEVEL}." in GUIDE
