"""Plugin projects, installed without a build tool: as a wheel, or as editable the way pip leaves one behind."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TypedDict

from install.fresh_environment import Ended, FreshEnvironment, run
from install.wheels import ROOT, wheel

EXAMPLES = ROOT / "examples" / "plugins"
_GROUP = "trimtab."
# Pytest must not look for settings in the folders above, nor load what the environment happens to have.
_ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Project(TypedDict):
    """What is read of the table `project` of a pyproject.toml."""

    name: str
    version: str
    dependencies: list[str]
    entries: dict[str, dict[str, str]]


def project_of(folder: Path) -> Project:
    """Read a project's pyproject.toml."""
    said = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return Project(
        name=said["name"],
        version=said["version"],
        dependencies=said["dependencies"],
        entries={group.removeprefix(_GROUP): dict(names) for group, names in said["entry-points"].items()},
    )


def module_of(project: Project) -> str:
    """Give the name of a project's only module."""
    return project["name"].replace("-", "_").replace(".", "_")


def project_wheel(folder: Path, place: Path) -> Path:
    """Write the wheel of the project at `place` into `folder`: its one module, and nothing else of it."""
    project = project_of(place)
    module = f"{module_of(project)}.py"
    return wheel(
        folder,
        project["name"],
        {module: (place / module).read_text(encoding="utf-8")},
        entries=project["entries"],
        requires=project["dependencies"],
        version=project["version"],
    )


def install_editable(environment: FreshEnvironment, scratch: Path, place: Path) -> None:
    """Install the project at `place` as editable: a .pth in place of its module, and the origin that pip notes."""
    project = project_of(place)
    built = wheel(
        scratch,
        project["name"],
        {f"_{module_of(project)}.pth": f"{place}\n"},
        entries=project["entries"],
        requires=project["dependencies"],
        version=project["version"],
    )
    environment.install(built)
    (info,) = environment.site.glob(f"{built.stem.split('-')[0]}-*.dist-info")
    origin = {"url": place.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")


def own_tests(environment: FreshEnvironment, place: Path, *options: str) -> Ended:
    """Run a project's own tests with the environment's Python, from its own folder."""
    command = (environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", place)
    env = {**_ALONE, "HYPOTHESIS_STORAGE_DIRECTORY": str(place / ".hypothesis")}
    return run(*command, "-c", place / "pyproject.toml", *options, place / "tests", env=env)
