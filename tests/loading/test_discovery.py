from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from loading.sites import Wheel, every_row
from trimtab.config import Config
from trimtab.loading import vetting
from trimtab.loading.discovery import (
    Candidate,
    Installed,
    built_in,
    by_name,
    find,
    forget_installed,
    in_process,
    installed,
)

GROUP = "trimtab.strategies"
CODECS = "trimtab.codecs"


def candidate(
    name: str, distribution: str, version: str = "1.0", value: str = "mod:obj", group: str = GROUP
) -> Candidate:
    return Candidate(group, name, value, distribution, version)


def own(name: str) -> Candidate:
    return Candidate(GROUP, name, "trimtab_strategies.x", "trimtab", "1.0", own=True)


def placed(name: str, distribution: str, group: str = GROUP) -> Candidate:
    return Candidate(group, name, "mod", distribution, "1.0", home="directory")


def listing(*candidates: Candidate, **config: object) -> list[Installed]:
    return list(installed(config=Config(**config), candidates=candidates))


def verdicts(rows: list[Installed]) -> list[tuple[str, str, str]]:
    return [(row.name, row.trust, row.status) for row in rows]


def test_the_listing_is_sorted_and_without_doubles_whatever_the_order_of_the_directory() -> None:
    one, two = candidate("b", "x"), candidate("a", "y")
    assert listing(one, two, one) == listing(two, one)
    assert [row.name for row in listing(one, two, one)] == ["a", "b"]


def test_a_stranger_runs_confined_and_the_listing_says_what_its_installer_could_do() -> None:
    (row,) = listing(candidate("recap", "trimtab-recap"))
    assert (row.trust, row.status) == ("unprotected-install", "ready")
    assert "a plugin directory keeps it apart" in row.reason
    (row,) = listing(placed("recap", "trimtab-recap"))
    assert (row.trust, row.status, row.reason) == ("confined", "ready", "")


def test_without_a_configuration_it_is_the_same() -> None:
    (row,) = installed(GROUP, candidates=[candidate("recap", "trimtab-recap")])
    assert (row.trust, row.status) == ("unprotected-install", "ready")


def test_a_stranger_is_refused_with_the_line_to_add_where_the_configuration_confines_nobody() -> None:
    rows = listing(candidate("recap", "trimtab-recap"), placed("tap", "trimtab-tap"), untrusted="refuse")
    assert verdicts(rows) == [("recap", "needs-trust", "refused"), ("tap", "needs-trust", "refused")]
    assert "'trimtab-recap'" in rows[0].reason
    assert "trusted" in rows[0].reason


def test_a_stranger_is_refused_where_the_platform_cannot_confine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vetting, "CAN_CONFINE", False)
    (row,) = listing(candidate("recap", "trimtab-recap"))
    assert (row.trust, row.status) == ("needs-trust", "refused")
    assert "cannot be confined on this platform" in row.reason
    assert verdicts(listing(candidate("recap", "one"), trusted=["one"])) == [("recap", "trusted", "ready")]


def test_a_driver_of_a_stranger_is_refused_with_the_line_to_add() -> None:
    (row,) = listing(candidate("odd", "trimtab-odd", group=CODECS))
    assert (row.kind, row.trust, row.status) == ("codec", "needs-trust", "refused")
    assert "add 'trimtab-odd' to Config(trusted=[...])" in row.reason
    assert "confine" not in row.reason


def test_a_trusted_distribution_is_ready_within_its_version_range_in_any_spelling() -> None:
    rows = listing(candidate("recap", "trimtab-recap", "1.4"), trusted=["Trimtab_Recap>=1,<2"])
    assert verdicts(rows) == [("recap", "trusted", "ready")]
    rows = listing(candidate("recap", "trimtab-recap", "2.0"), trusted=["trimtab-recap>=1,<2"])
    assert verdicts(rows) == [("recap", "unprotected-install", "ready")]
    assert "trusted only as 'trimtab-recap>=1,<2'" in rows[0].reason


def test_trust_does_not_reach_into_the_plugin_directory_nor_over_a_fault() -> None:
    (row,) = listing(placed("recap", "one"), trusted=["one"])
    assert (row.trust, row.status) == ("confined", "ready")
    assert "stays confined" in row.reason
    (row,) = listing(Candidate(GROUP, "recap", "mod", "one", "1.0", fault="it is forged"), trusted=["one"])
    assert (row.trust, row.status, row.reason) == ("unprotected-install", "refused", "it is forged")


def test_the_name_of_a_built_in_is_reserved_also_for_the_trusted() -> None:
    rows = listing(own("truncate"), candidate("truncate", "trimtab-x"), trusted=["trimtab-x"])
    assert verdicts(rows) == [("truncate", "built-in", "ready"), ("truncate", "trusted", "refused")]
    assert "the name of a built-in" in rows[1].reason
    assert by_name(rows)["truncate"].distribution == "trimtab"


def test_calling_itself_trimtab_makes_nobody_a_built_in() -> None:
    (row,) = listing(candidate("truncate", "trimtab"), trusted=["trimtab"])
    assert (row.trust, row.status) == ("unprotected-install", "refused")
    assert "calls itself trimtab" in row.reason


def test_two_owners_of_a_name_are_refused_and_each_names_the_other() -> None:
    for trusted in (["one", "two"], []):
        rows = listing(candidate("recap", "one"), candidate("recap", "two"), trusted=trusted)
        assert [row.status for row in rows] == ["refused", "refused"]
        assert "two" in rows[0].reason
        assert "one" in rows[1].reason


def test_a_stranger_cannot_switch_off_a_trusted_plugin_by_taking_its_name() -> None:
    for rival in (candidate("recap", "evil"), placed("recap", "evil")):
        rows = listing(candidate("recap", "one"), rival, trusted=["one"])
        assert [(row.distribution, row.status) for row in rows] == [("evil", "refused"), ("one", "ready")]
        assert "one publishes the same name" in rows[0].reason
        assert by_name(rows)["recap"].distribution == "one"


def test_a_faulty_rival_is_no_rival() -> None:
    faulty = Candidate(GROUP, "recap", "mod", "evil", "1.0", fault="it is forged")
    assert [row.status for row in listing(faulty, candidate("recap", "one"))] == ["refused", "ready"]


def test_one_name_in_two_groups_is_no_conflict() -> None:
    rows = listing(candidate("recap", "one"), candidate("recap", "two", group="trimtab.interceptors"))
    assert [row.status for row in rows] == ["ready", "ready"]


def test_blocking_goes_by_distribution_or_by_name_and_spares_built_ins() -> None:
    for blocked in ("ONE", "recap"):
        rows = listing(candidate("recap", "one"), trusted=["one"], blocked=[blocked])
        assert verdicts(rows) == [("recap", "trusted", "blocked")]
    assert verdicts(listing(own("truncate"), blocked=["truncate", "trimtab"])) == [
        ("truncate", "built-in", "ready")
    ]


def test_a_blocked_rival_is_no_rival() -> None:
    rows = listing(candidate("r", "one"), candidate("r", "two"), trusted=["one", "two"], blocked=["two"])
    assert [row.status for row in rows] == ["ready", "blocked"]


def test_without_plugins_only_the_built_ins_are_ready() -> None:
    rows = listing(
        own("truncate"), candidate("recap", "one"), placed("tap", "two"), trusted=["one"], plugins=False
    )
    assert [(row.name, row.status) for row in rows] == [("recap", "off"), ("tap", "off"), ("truncate", "ready")]


def test_names_that_users_cannot_type_are_refused() -> None:
    for name in ("Recap", "re cap", "-recap", "x" * 65, "recap\x1b[31m"):
        (row,) = listing(candidate(name, "one"), trusted=["one"])
        assert row.status == "refused"
        assert row.name.isprintable()


def test_reasons_and_names_carry_no_control_characters_and_are_short() -> None:
    bad = Candidate(GROUP, "n\x1b", "v", "d\x07", "1\n0", fault="why\x1b[31m\u202e" + "x" * 10_000)
    (row,) = listing(bad)
    assert all(text.isprintable() for text in row.to_dict().values())
    assert len(row.reason) <= 500


def test_a_row_as_json_says_where_the_plugin_came_from() -> None:
    rows = listing(own("truncate"), candidate("recap", "one"), placed("tap", "two"))
    assert [row.to_dict()["origin"] for row in rows] == ["environment", "directory", "own"]
    assert set(rows[0].to_dict()) == {
        *("name", "kind", "distribution", "version", "origin", "trust", "status", "reason")
    }


def test_a_group_lists_its_own_and_no_group_lists_everything() -> None:
    every = [
        candidate("a", "one"),
        candidate("b", "two", group=CODECS),
        Candidate("", "c", "", "c", "", fault="x"),
    ]
    assert [row.name for row in installed(GROUP, candidates=every)] == ["a"]
    assert [(row.name, row.kind) for row in installed(candidates=every)] == [
        ("a", "strategy"),
        ("b", "codec"),
        ("c", "unknown"),
    ]


def test_the_built_ins_are_found_in_this_environment() -> None:
    rows = {row.name: row for row in installed(GROUP)}
    assert rows["truncate"].status == rows["manual"].status == "ready"
    assert rows["truncate"].trust == "built-in"
    assert [row for row in installed(GROUP) if row.trust == "built-in"] == list(built_in(GROUP))


def run(code: str, site: Path) -> object:
    """Run code in a Python of its own that has `site` on its path, and give what it prints as JSON."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_listing_two_hundred_plugins_imports_none_of_them(tmp_path: Path) -> None:
    for at in range(200):
        Wheel(f"some-{at}", module=f"strange_{at}.part", entry=f"plugin-{at}").put(tmp_path)
    code = """
import json, sys
from trimtab.loading import installed
rows = [row for row in installed() if row.distribution.startswith("some-")]
strange = [name for name in sys.modules if name.startswith(("strange", "trimtab_strategies", "trimtab_plugins"))]
print(json.dumps([len(rows), sorted({row.status for row in rows}), strange]))
"""
    assert run(code, tmp_path) == [200, ["ready"], []]


def test_a_built_in_is_found_without_a_look_at_any_other_distribution(tmp_path: Path) -> None:
    info = Wheel().put(tmp_path)
    code = f"""
import json, sys
from trimtab.config import Config
opened = []
sys.addaudithook(lambda event, details: opened.append(str(details[0])) if event == "open" else None)
from trimtab.loading.discovery import find, in_process
row = find("trimtab.strategies", "truncate", config=Config(trusted=["trimtab-recap"]))
ready = in_process("trimtab.codecs", config=Config())
off = in_process("trimtab.codecs", config=Config(trusted=["trimtab-recap"], plugins=False))
before = [name for name in opened if name.startswith({str(info)!r})]
other = find("trimtab.strategies", "recap", config=Config())
after = [name for name in opened if name.startswith({str(info)!r})]
print(json.dumps([row.status, len(ready) > 5, ready == off, before, other.status, bool(after)]))
"""
    assert run(code, tmp_path) == ["ready", True, True, [], "ready", True]


def test_what_may_run_here_is_the_built_in_and_the_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Wheel().put(tmp_path)
    Wheel(name="stranger", module="strange", entry="strange").put(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    forget_installed()
    rows = in_process(GROUP, config=Config(trusted=["trimtab-recap"]))
    assert [row.name for row in rows] == ["manual", "recap", "summarize", "truncate", "vector-recall"]


def test_the_environment_is_read_once_until_it_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    forget_installed()
    config = Config()
    assert find(GROUP, "recap", config=config) is None
    Wheel().put(tmp_path)
    assert find(GROUP, "recap", config=config) is None
    forget_installed()
    assert find(GROUP, "recap", config=config) is not None


def test_another_import_path_or_plugin_directory_is_another_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Wheel().put(tmp_path / "site")
    Wheel(name="trimtab-tap", module="tap_one", entry="tap").put(tmp_path / "plugins" / "tap")
    assert find(GROUP, "recap", config=Config()) is None
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find(GROUP, "recap", config=Config()) is not None
    assert find(GROUP, "tap", config=Config()) is None
    assert find(GROUP, "tap", config=Config(plugin_directory=tmp_path / "plugins")) is not None


def test_a_fault_of_one_distribution_is_seen_in_the_whole_listing(tmp_path: Path) -> None:
    Wheel(entry_points=b"\xff[trimtab.").put(tmp_path)
    (row,) = [row for row in every_row(tmp_path) if row.trust != "built-in"]
    assert (row.name, row.kind, row.distribution, row.version) == (
        "trimtab-recap",
        "unknown",
        "trimtab-recap",
        "1.0",
    )
