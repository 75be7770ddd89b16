"""Plugins that pip put into Trimtab's own environment: listed, confined, trusted, broken, gone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import cast

import pytest

from install.fresh_environment import (
    CHAT,
    FreshEnvironment,
    Json,
    calls_of,
    diagnosed,
    run,
    same_fit,
    settings,
)
from install.published import clerk, strategy
from install.wheels import wheel

STAMPED = 'interceptors = ["stamp"]\n'
TRUSTED = f'{STAMPED}trusted = ["trimtab-clerk>=1,<2"]\n'

HOST_APP = """
import json, sys
import trimtab

config = trimtab.Config(interceptors=["stamp"], trusted=sys.argv[2:])
messages = json.load(open(sys.argv[1]))
result = trimtab.fit(messages, model="gpt-4o", context_limit=500, strategy="clerk", config=config)
loaded = sorted(name for name in sys.modules if name.startswith("trimtab_clerk"))
confined = [call.confined for call in result.calls]
print(json.dumps({"messages": result.messages, "loaded": loaded, "confined": confined}))
"""


@pytest.fixture(scope="module")
def mark(wheels: Path) -> Path:
    """The file in which trimtab-clerk leaves its mark when it is imported by a process that may write."""
    return wheels / "mark"


@pytest.fixture(scope="module")
def written(wheels: Path) -> Path:
    """The file that trimtab-writer would like to write."""
    return wheels / "written"


@pytest.fixture(scope="module")
def installed(environment: FreshEnvironment, wheels: Path, mark: Path, written: Path) -> FreshEnvironment:
    """The environment with trimtab-clerk in it, and others, of which some do not work."""
    environment.install(
        clerk(wheels, mark=mark),
        strategy(wheels, "guest"),
        strategy(wheels, "needy", first="import no_such_package"),
        strategy(wheels, "slow", inside="while True: pass"),
        strategy(wheels, "loud", first='print("at import")', inside='print("in the call")'),
        strategy(wheels, "writer", inside=f"open({str(written)!r}, 'w')"),
        wheel(wheels, "trimtab-ghost", {"readme.txt": ""}, entries={"strategies": {"ghost": "trimtab_ghost"}}),
        wheel(wheels, "trimtab-garbled", {"garbled.py": ""}, entries={"strategies": {"Not a name": "garbled"}}),
    )
    return environment


def test_what_pip_installed_is_listed_with_where_it_stands_and_what_follows(installed: FreshEnvironment) -> None:
    rows = installed.rows()
    assert (rows["clerk"]["kind"], rows["stamp"]["kind"]) == ("strategy", "interceptor")
    for row in (rows["clerk"], rows["stamp"]):
        assert (row["distribution"], row["version"]) == ("trimtab-clerk", "1.0")
        assert (row["origin"], row["trust"], row["status"]) == ("environment", "unprotected-install", "ready")
        assert "its installer could have changed anything in this environment" in row["reason"]


def test_a_broken_one_is_listed_and_the_others_are_ready(installed: FreshEnvironment) -> None:
    rows = installed.rows()
    refused = {row["distribution"]: row["reason"] for row in rows.values() if row["status"] == "refused"}
    assert set(refused) == {"trimtab-ghost", "trimtab-garbled"}
    assert "is not among the files that its RECORD lists" in refused["trimtab-ghost"]
    assert "name" in refused["trimtab-garbled"]
    assert {rows[name]["status"] for name in ("clerk", "stamp", "needy", "slow")} == {"ready"}


def test_trimtab_knows_itself_when_it_was_installed_from_a_wheel(installed: FreshEnvironment) -> None:
    listing = cast("list[Json]", installed.trimtab("plugins", "--json").json["plugins"])
    own = [row for row in listing if row["origin"] == "own"]
    assert {(row["distribution"], row["trust"], row["status"]) for row in own} == {
        ("trimtab", "built-in", "ready")
    }
    assert "truncate" in {row["name"] for row in own}


def test_a_strategy_and_an_interceptor_make_the_same_fit_confined_and_trusted(
    installed: FreshEnvironment, tmp_path: Path
) -> None:
    reports, fitted = [], []
    for text in (STAMPED, TRUSTED):
        out = tmp_path / "fitted.json"
        reports.append(installed.fit("--strategy", "clerk", "--config", settings(tmp_path, text), "--out", out))
        fitted.append(out.read_bytes())
    confined, trusted = reports
    assert {name: call["confined"] for name, call in calls_of(confined).items()} == {"clerk": True, "stamp": True}
    assert {name: call["confined"] for name, call in calls_of(trusted).items()} == {"clerk": False, "stamp": False}
    assert same_fit(confined, trusted)
    assert fitted[0] == fitted[1]
    # It was no fit in which nothing happened, and the strategy did ask the host.
    clerk_call, stamp_call = calls_of(confined).values()
    assert (clerk_call["dropped"], clerk_call["inserted"], clerk_call["asked"]) == (3, 1, 2)
    assert (stamp_call["shortened"], stamp_call["inserted"]) == (4, 1)
    assert [entry["reason"] for entry in cast("list[Json]", confined["inserted"])] == ["summary", "plugin"]


def test_confined_it_is_never_imported_by_the_host_and_trusted_it_is(
    installed: FreshEnvironment, mark: Path
) -> None:
    mark.unlink(missing_ok=True)
    confined = installed.host(HOST_APP, CHAT)
    assert (confined["loaded"], confined["confined"]) == ([], [True, True])
    assert not mark.exists()
    trusted = installed.host(HOST_APP, CHAT, "trimtab-clerk")
    assert trusted["confined"] == [False, False]
    assert "trimtab_clerk.clerk" in cast("list[str]", trusted["loaded"])
    assert mark.exists()
    assert confined["messages"] == trusted["messages"]


def test_listing_imports_nothing_trusted_or_not(installed: FreshEnvironment, mark: Path, tmp_path: Path) -> None:
    mark.unlink(missing_ok=True)
    for text in (STAMPED, TRUSTED):
        assert {"clerk", "stamp"} <= installed.rows("--config", settings(tmp_path, text)).keys()
    assert not mark.exists()


def test_trust_ends_with_the_version_range(installed: FreshEnvironment, tmp_path: Path) -> None:
    config = settings(tmp_path, f'{STAMPED}trusted = ["trimtab-clerk>=2"]')
    assert "trusted only as 'trimtab-clerk>=2'" in installed.rows("--config", config)["clerk"]["reason"]
    assert calls_of(installed.fit("--strategy", "clerk", "--config", config))["clerk"]["confined"] is True


def test_its_settings_are_checked_and_reach_it_confined_and_trusted(
    installed: FreshEnvironment, tmp_path: Path
) -> None:
    usual = ("--model", "gpt-4o", "--limit", "500", "--json", "--strategy", "clerk", "--config")
    reports, refusals = [], []
    for text in (STAMPED, TRUSTED):
        words = (*usual, settings(tmp_path, text), "--set")
        reports.append(installed.trimtab("fit", CHAT, *words, "words=1").json)
        refusals.append(installed.trimtab("fit", CHAT, *words, "words=0"))
    assert same_fit(*reports)
    usual_words = installed.fit("--strategy", "clerk")
    assert _insert_tokens(reports[0]) < _insert_tokens(usual_words)
    assert [refusal.code for refusal in refusals] == [2, 2]
    assert "settings.words of clerk" in refusals[0].out
    assert refusals[0].out == refusals[1].out


def _insert_tokens(report: Json) -> int:
    return cast("int", calls_of(report)["clerk"]["insertTokens"])


def test_without_plugins_it_is_not_there(installed: FreshEnvironment) -> None:
    assert {row["status"] for row in installed.rows("--no-plugins").values()} == {"off"}
    refused = installed.trimtab("fit", CHAT, "--model", "gpt-4o", "--strategy", "clerk", "--no-plugins")
    assert (refused.code, "--no-plugins" in refused.err) == (2, True)


def test_the_commands_that_the_listing_prints_do_what_it_says(
    installed: FreshEnvironment, wheels: Path, tmp_path: Path
) -> None:
    strategy(wheels, "shelf", requires=("trimtab",))
    place = {"XDG_DATA_HOME": str(tmp_path)}
    told = cast("dict[str, str]", installed.trimtab("plugins", "--json", env=place).json["install"])
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_ROOT_USER_ACTION": "ignore", **place}
    seen = []
    for command in (told["addConfined"], told["add"]):
        ended = run(*shlex.split(command.replace("NAME", "trimtab-shelf")), env=offline)
        assert ended.code == 0, ended.err
        listing = cast("list[dict[str, str]]", installed.trimtab("plugins", "--json", env=place).json["plugins"])
        seen.append({row["trust"] for row in listing if row["name"] == "shelf" and row["status"] == "ready"})
    installed.uninstall("trimtab-shelf")
    # The second of one name in the directory gives way to the one in the environment.
    assert seen == [{"confined"}, {"unprotected-install"}]
    assert (tmp_path / "trimtab" / "plugins" / "trimtab-shelf").is_dir()


def test_what_is_uninstalled_vanishes(installed: FreshEnvironment) -> None:
    assert installed.rows()["guest"]["status"] == "ready"
    installed.uninstall("trimtab-guest")
    assert "guest" not in installed.rows()
    gone = installed.trimtab("fit", CHAT, "--model", "gpt-4o", "--strategy", "guest")
    assert (gone.code, "there is no strategy 'guest'" in gone.err) == (2, True)


def test_whoever_lacks_a_package_is_told_which(installed: FreshEnvironment) -> None:
    ended = installed.trimtab("fit", CHAT, "--model", "gpt-4o", "--strategy", "needy")
    assert ended.code == 2
    assert "needy (trimtab-needy 1.0): could not be loaded in a worker: ModuleNotFoundError" in ended.err
    assert "no_such_package" in ended.err


def test_whoever_is_late_is_ended_and_the_fit_goes_on(installed: FreshEnvironment, tmp_path: Path) -> None:
    config = settings(tmp_path, "[limits.slow]\nseconds = 0.3\n")
    ((code, message),) = diagnosed(installed.fit("--strategy", "slow", "--config", config))
    assert code == "PLUGIN_TIMEOUT"
    assert "did not answer within 0.3 s; its process was ended; the host's own shift answered" in message


def test_what_a_plugin_prints_is_told_and_harms_nothing(installed: FreshEnvironment) -> None:
    assert diagnosed(installed.fit("--strategy", "loud")) == [("plugin-output", "at import in the call")]


def test_whoever_writes_a_file_is_told_that_he_may_not(installed: FreshEnvironment, written: Path) -> None:
    ((code, message),) = diagnosed(installed.fit("--strategy", "writer"))
    assert (code, message.startswith("raised PermissionError: ")) == ("PLUGIN_CRASHED", True)
    assert not written.exists()
