"""Plugins that pip put into folders of a plugin directory: only ever on the path of a worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from install.fresh_environment import CHAT, FreshEnvironment, Json, calls_of, same_fit, settings
from install.published import clerk, strategy
from install.wheels import wheel

# What Python would run in its start if the folder were a place for it.
STARTER = "import sys; sys.trimtab_started = True; open({mark!r}, 'w').close()\n"
TELLS_STARTERS = "import sys; notes.append('started' if hasattr(sys, 'trimtab_started') else 'not started')"
TELLS_ORIGINS = (
    "import colorsys, json, pluggy, sys, trimtab_sdk; "
    "notes += [module.__file__ for module in (colorsys, json, pluggy, trimtab_sdk)]; "
    "notes += [name for name in ('sitecustomize', 'usercustomize') if name in sys.modules]"
)
HOST_APP = """
import importlib.util, json, sys
import trimtab

config = trimtab.Config(plugin_directory=sys.argv[2], trusted=[f"trimtab-{sys.argv[3]}"])
messages = json.load(open(sys.argv[1]))
result = trimtab.fit(messages, model="gpt-4o", context_limit=500, strategy=sys.argv[3], config=config)
module = f"trimtab_{sys.argv[3]}"
print(json.dumps({
    "loaded": [name for name in sys.modules if name.partition(".")[0] == module],
    "found": importlib.util.find_spec(module) is not None,
    "on path": [place for place in sys.path if place.startswith(sys.argv[2])],
    "started": hasattr(sys, "trimtab_started"),
    "confined": [call.confined for call in result.calls],
    "left out": len(result.excluded),
    "notes": [one.message for one in result.diagnostics],
}))
"""


@dataclass(frozen=True)
class Directory:
    """A plugin directory of an environment."""

    environment: FreshEnvironment
    folder: Path

    def put(self, *wheels: Path) -> None:
        """Let pip install wheels into one folder there, named as the first of them."""
        self.environment.into_folder(self.folder / wheels[0].name.partition("-")[0], *wheels)

    def config(self, text: str = "") -> Path:
        """A configuration that names the directory."""
        return settings(self.folder.parent, f"plugin_directory = '{self.folder}'\n{text}")

    def host(self, strategy: str) -> Json:
        """Let a host app fit with a strategy."""
        return self.environment.host(HOST_APP, CHAT, self.folder, strategy)


@pytest.fixture
def directory(environment: FreshEnvironment, tmp_path: Path) -> Directory:
    (tmp_path / "plugins").mkdir()
    return Directory(environment, tmp_path / "plugins")


def test_what_pip_put_there_runs_confined_and_makes_the_fit_that_it_makes_trusted(
    directory: Directory, wheels: Path
) -> None:
    directory.put(clerk(wheels))
    confined = directory.config('interceptors = ["stamp"]')
    rows = directory.environment.rows("--config", confined)
    assert {name: (row["origin"], row["trust"], row["status"], row["reason"]) for name, row in rows.items()} == {
        "clerk": ("directory", "confined", "ready", ""),
        "stamp": ("directory", "confined", "ready", ""),
    }
    there = directory.environment.fit("--strategy", "clerk", "--config", confined)
    directory.environment.install(clerk(wheels))
    trusted = settings(directory.folder.parent, 'interceptors = ["stamp"]\ntrusted = ["trimtab-clerk"]')
    here = directory.environment.fit("--strategy", "clerk", "--config", trusted)
    directory.environment.uninstall("trimtab-clerk")
    assert [call["confined"] for call in calls_of(there).values()] == [True, True]
    assert [call["confined"] for call in calls_of(here).values()] == [False, False]
    assert same_fit(there, here)


def test_nothing_there_can_be_trusted_and_the_host_cannot_even_import_it(
    directory: Directory, wheels: Path
) -> None:
    directory.put(strategy(wheels, "shelf"))
    config = directory.config('trusted = ["trimtab-shelf"]')
    row = directory.environment.rows("--config", config)["shelf"]
    assert (row["trust"], row["status"]) == ("confined", "ready")
    assert "nothing in a plugin directory can be trusted" in row["reason"]
    told = directory.host("shelf")
    assert (told["confined"], told["left out"]) == ([True], 3)
    assert (told["loaded"], told["found"], told["on path"]) == ([], False, [])


def test_a_pth_file_there_runs_neither_in_the_host_nor_in_the_worker(directory: Directory, wheels: Path) -> None:
    mark = directory.folder.parent / "mark"
    starters = {
        name: STARTER.format(mark=str(mark)) for name in ("shelf.pth", "sitecustomize.py", "usercustomize.py")
    }
    directory.put(strategy(wheels, "shelf", inside=TELLS_STARTERS, more=starters))
    assert (directory.folder / "trimtab_shelf" / "shelf.pth").exists()
    told = directory.host("shelf")
    assert (told["confined"], told["started"], told["notes"]) == ([True], False, ["not started"])
    assert not mark.exists()


def test_what_shadows_the_host_s_packages_there_is_not_what_anybody_gets(
    directory: Directory, wheels: Path
) -> None:
    names = ("trimtab_sdk", "trimtab_worker", "trimtab", "pluggy", "colorsys", "json", "sitecustomize")
    shadows = wheel(wheels, "shadows", {f"{name}/__init__.py": "raise SystemExit('shadow')\n" for name in names})
    directory.put(strategy(wheels, "shelf", inside=TELLS_ORIGINS), shadows)
    told = directory.host("shelf")
    assert (told["confined"], told["left out"], told["found"]) == ([True], 3, False)
    origins = cast("list[str]", told["notes"])
    assert [Path(origin).parent.name for origin in origins[1:]] == ["json", "pluggy", "trimtab_sdk"]
    assert [origin for origin in origins if str(directory.folder) in origin] == []


def test_a_distribution_that_shadows_the_sdk_itself_is_refused(directory: Directory, wheels: Path) -> None:
    directory.put(strategy(wheels, "shelf", more={"trimtab_sdk/__init__.py": ""}))
    row = directory.environment.rows("--config", directory.config())["shelf"]
    assert row["status"] == "refused"
    assert "Trimtab's own packages" in row["reason"]


def test_what_a_plugin_depends_on_comes_along_and_so_does_a_copy_of_trimtab_that_nobody_uses(
    directory: Directory, wheels: Path
) -> None:
    wheel(wheels, "clerk-words", {"clerk_words.py": "def words():\n    return 'words of another package'\n"})
    strategy(
        wheels,
        "wordy",
        first="from clerk_words import words",
        inside="import trimtab_sdk; notes += [words(), trimtab_sdk.__file__]",
        requires=("trimtab", "clerk-words>=1"),
    )
    folder = directory.folder / "trimtab-wordy"
    directory.environment.install(
        "trimtab-wordy", options=("--find-links", wheels, "--only-binary", ":all:", "--target", folder)
    )
    assert (folder / "trimtab_sdk").is_dir()
    told = directory.host("wordy")
    words, sdk = cast("list[str]", told["notes"])
    assert (told["confined"], told["left out"], words) == ([True], 3, "words of another package")
    assert sdk.startswith(str(directory.environment.site))
    rows = directory.environment.rows("--config", directory.config())
    assert rows["wordy"]["status"] == "ready"
    assert "it is never used" in rows["trimtab"]["reason"]


def test_taking_the_folder_away_takes_the_plugin_away_and_a_broken_one_stops_no_other(
    directory: Directory, wheels: Path
) -> None:
    directory.put(strategy(wheels, "shelf"))
    directory.put(strategy(wheels, "other"))
    (directory.folder / "trimtab_other" / "trimtab_other.py").unlink()
    rows = directory.environment.rows("--config", directory.config())
    assert (rows["shelf"]["status"], rows["other"]["status"]) == ("ready", "refused")
    (directory.folder / "trimtab_shelf").rename(directory.folder.parent / "elsewhere")
    assert set(directory.environment.rows("--config", directory.config())) == {"other"}
