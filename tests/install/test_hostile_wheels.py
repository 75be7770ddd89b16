"""Wheels that do more than put their own package into the environment: what the listing says of them.

They are all there at once, beside an honest one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from install.fresh_environment import FreshEnvironment, calls_of, diagnosed, settings
from install.published import strategy
from install.wheels import wheel

NAMES = ("planted", "planter", "host", "sdk", "worker", "starter", "taker")
PLANTED = "trimtab_planted-2.0.dist-info"
PURELIB = "trimtab_planter-1.0.data/purelib"
PLANTING = {
    f"{PURELIB}/trimtab_planted.py": "raise SystemExit('imported')\n",
    f"{PURELIB}/{PLANTED}/METADATA": "Metadata-Version: 2.1\nName: trimtab-planted\nVersion: 2.0\n",
    f"{PURELIB}/{PLANTED}/entry_points.txt": "[trimtab.strategies]\nplanted = trimtab_planted\n",
    f"{PURELIB}/{PLANTED}/RECORD": f"trimtab_planted.py,,\n{PLANTED}/RECORD,,\n",
}
BURGLED = {"host": "trimtab/burgled.py", "sdk": "trimtab_sdk/burgled.py", "worker": "trimtab_worker/burgled.py"}
STARTS = "import sys; sys.trimtab_started = True; open({mark!r}, 'w').close()\n"
TELLS = "import sys; notes.append('started' if hasattr(sys, 'trimtab_started') else 'not started')"
TAKEN = {"strategies": {"truncate": "trimtab_taker"}}


@pytest.fixture(scope="module")
def mark(wheels: Path) -> Path:
    """The file that a .pth of one of the wheels makes when it runs."""
    return wheels / "mark"


@pytest.fixture(scope="module")
def visited(environment: FreshEnvironment, wheels: Path, mark: Path) -> FreshEnvironment:
    """An environment that all of them were installed into, each by pip and without a complaint."""
    environment.install(
        strategy(wheels, "shelf"),
        strategy(wheels, "planter", more=PLANTING),
        *(strategy(wheels, name, more={file: ""}) for name, file in BURGLED.items()),
        wheel(wheels, "innocent", {"trimtab/moved_in.py": ""}),
        strategy(wheels, "starter", inside=TELLS, more={"starter.pth": STARTS.format(mark=str(mark))}),
        wheel(wheels, "trimtab-taker", {"trimtab_taker.py": "raise SystemExit(3)\n"}, entries=TAKEN),
    )
    return environment


@pytest.fixture(scope="module")
def config(wheels: Path) -> Path:
    """A configuration that trusts all of them, but not the honest one."""
    return settings(wheels, f"trusted = {[f'trimtab-{name}' for name in NAMES]}")


@pytest.fixture(scope="module")
def rows(visited: FreshEnvironment, config: Path) -> dict[str, dict[str, str]]:
    """What the listing says of them, by name."""
    return visited.rows("--config", config)


def test_a_second_distribution_that_a_wheel_plants_is_refused_and_so_is_the_planter(
    rows: dict[str, dict[str, str]],
) -> None:
    assert (rows["planted"]["distribution"], rows["planted"]["version"]) == ("trimtab-planted", "2.0")
    assert (rows["planted"]["status"], rows["planter"]["status"]) == ("refused", "refused")
    assert "is listed in the RECORD of trimtab-planter" in rows["planted"]["reason"]
    assert "lists the metadata folder of trimtab-planted" in rows["planter"]["reason"]


@pytest.mark.parametrize("name", BURGLED)
def test_a_wheel_that_writes_into_trimtab_s_own_packages_is_refused(
    visited: FreshEnvironment, rows: dict[str, dict[str, str]], name: str
) -> None:
    assert (visited.site / BURGLED[name]).exists()
    assert rows[name]["status"] == "refused"
    assert "it puts files into Trimtab's own packages" in rows[name]["reason"]


def test_one_that_publishes_nothing_and_does_that_is_named_too(rows: dict[str, dict[str, str]]) -> None:
    assert (rows["innocent"]["kind"], rows["innocent"]["status"]) == ("unknown", "refused")
    assert "it puts files into Trimtab's own packages" in rows["innocent"]["reason"]


def test_a_pth_file_runs_in_every_start_of_the_environment_and_the_listing_says_so(
    visited: FreshEnvironment, rows: dict[str, dict[str, str]], mark: Path
) -> None:
    assert mark.exists()
    assert rows["starter"]["status"] == "ready"
    assert "it brings starter.pth, which runs in every start of this Python" in rows["starter"]["reason"]


def test_a_worker_looks_at_no_pth_file(visited: FreshEnvironment) -> None:
    report = visited.fit("--strategy", "starter")
    assert calls_of(report)["starter"]["confined"] is True
    assert diagnosed(report) == [("note", "not started")]


def test_the_name_of_a_built_in_is_not_to_be_had(
    visited: FreshEnvironment, rows: dict[str, dict[str, str]], config: Path
) -> None:
    assert rows["truncate"]["distribution"] == "trimtab-taker"
    assert rows["truncate"]["reason"] == "'truncate' is the name of a built-in"
    assert calls_of(visited.fit("--strategy", "truncate", "--config", config)) == {}


def test_the_honest_one_beside_them_runs(visited: FreshEnvironment, rows: dict[str, dict[str, str]]) -> None:
    assert rows["shelf"]["status"] == "ready"
    call = calls_of(visited.fit("--strategy", "shelf"))["shelf"]
    assert (call["confined"], call["dropped"]) == (True, 3)
