"""The same plugins for a user without privileges, who can read the environment and write nowhere in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from install.fresh_environment import CHAT, FreshEnvironment, Json, calls_of, same_fit, settings
from install.published import clerk
from worker.open_house import PLAIN, House, open_house

# The house's Python needs a script around it, and a worker is started with what `sys.executable` names.
COMMAND = """
import sys
sys.executable, sys.path[:0] = sys.argv[1], sys.argv[2:4]
from trimtab.cli import main
sys.exit(main(sys.argv[4:]))
"""


@dataclass(frozen=True)
class Home:
    """A house with Trimtab in it: `bare` alone, `site` with trimtab-clerk beside it, and what Trimtab needs."""

    house: House
    bare: Path
    site: Path
    dependencies: Path

    def fit(self, site: Path, text: str) -> Json:
        """Fit with both plugins, as the user without privileges, with the example on stdin."""
        config = settings(self.house.folder, f'interceptors = ["stamp"]\n{text}\n')
        config.chmod(0o644)
        words = ["fit", "-", "--model", "gpt-4o", "--limit", "500", "--strategy", "clerk", "--json"]
        python = self.house.python
        places = [str(site), str(self.dependencies)]
        child = PLAIN.popen([python, "-I", "-c", COMMAND, python, *places, *words, "--config", str(config)])
        out, err = child.communicate(CHAT.read_text(), timeout=120)
        assert child.returncode == 0, out + err
        value: Json = json.loads(out)
        return value


@pytest.fixture(scope="module")
def home(environment: FreshEnvironment, wheels: Path) -> Iterator[Home]:
    with open_house() as house:
        made = Home(house, house.folder / "bare", house.folder / "site", house.folder / "dependencies")
        shutil.copytree(environment.site, made.bare, ignore=shutil.ignore_patterns("*.pth"))
        environment.install(clerk(wheels))
        shutil.copytree(environment.site, made.site, ignore=shutil.ignore_patterns("*.pth"))
        environment.into_folder(house.folder / "plugins" / "trimtab-clerk", clerk(wheels))
        copy_dependencies(made.dependencies)
        yield made


def copy_dependencies(folder: Path) -> None:
    """Copy every file of the distributions that Trimtab cannot do without."""
    found: dict[str, metadata.Distribution] = {}
    add_needed("trimtab", found)
    for name in found.keys() - {"trimtab"}:
        for file in found[name].files or ():
            source = Path(str(found[name].locate_file(file)))
            if ".." not in file.parts and source.is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / file)


def add_needed(name: str, found: dict[str, metadata.Distribution]) -> None:
    if name in found:
        return
    found[name] = metadata.distribution(name)
    for requirement in map(Requirement, found[name].requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            add_needed(requirement.name, found)


def test_a_normal_user_gets_the_same_fit_from_both_places_confined_and_trusted(home: Home) -> None:
    trusted = home.fit(home.site, 'trusted = ["trimtab-clerk"]')
    environment = home.fit(home.site, "")
    directory = home.fit(home.bare, f"plugin_directory = '{home.house.folder}/plugins'")
    for report, confined in ((trusted, False), (environment, True), (directory, True)):
        assert [call["confined"] for call in calls_of(report).values()] == [confined, confined]
        assert same_fit(report, trusted)
    assert calls_of(trusted)["clerk"]["inserted"] == 1
