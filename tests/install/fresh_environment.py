"""A fresh virtual environment with Trimtab from a wheel, and pip that installs into it without a network."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeAlias, cast

import pluggy
import pydantic_core

from install.wheels import ROOT

CHAT = ROOT / "examples" / "small-chat.json"
Json: TypeAlias = "dict[str, object]"
_OURS = ("trimtab", "_trimtab", "__editable__")
# Settings of whoever runs the tests take no part: neither of pip, nor of Python, nor of Trimtab.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
_QUIET = {"PIP_ROOT_USER_ACTION": "ignore"}
_OF_THE_CALL = {"confined", "milliseconds", "asked", "output"}
_ALONE = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME"), "/nonexistent")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Json:
        """The JSON it printed, where it ended well."""
        assert self.code == 0, self.out + self.err
        value: Json = json.loads(self.out)
        return value


@dataclass(frozen=True, slots=True)
class FreshEnvironment:
    """A virtual environment of its own. `site` is where pip puts distributions."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Its site-packages."""
        return next((self.folder / "lib").glob("python*/site-packages"))

    def install(self, *wheels: Path | str, options: tuple[str | Path, ...] = ("--no-deps",)) -> None:
        """Let pip install wheels, from files alone."""
        self.pip("install", "--no-index", *options, *wheels)

    def into_folder(self, folder: Path, *wheels: Path) -> None:
        """Let pip install wheels into a folder of a plugin directory."""
        self.install(*wheels, options=("--no-deps", "--only-binary", ":all:", "--target", folder))

    def uninstall(self, *names: str) -> None:
        """Let pip uninstall distributions."""
        self.pip("uninstall", "--yes", *names)

    def pip(self, *args: str | Path) -> None:
        """Run pip there, without any settings of the caller's."""
        ended = run(self.python, "-m", "pip", "--isolated", "--disable-pip-version-check", *args, env=_QUIET)
        assert ended.code == 0, ended.out + ended.err

    def trimtab(self, *args: str | Path, env: Mapping[str, str] | None = None) -> Ended:
        """Run the command that was installed there."""
        return run(self.folder / "bin" / "trimtab", *args, env=env)

    def fit(self, *args: str | Path) -> Json:
        """Fit the small example, which is over its limit then, and give the report."""
        return self.trimtab("fit", CHAT, "--model", "gpt-4o", "--limit", "500", "--json", *args).json

    def rows(self, *args: str | Path) -> dict[str, dict[str, str]]:
        """List what others published: name → row."""
        listing = cast("list[dict[str, str]]", self.trimtab("plugins", "--json", *args).json["plugins"])
        return {row["name"]: row for row in listing if row["origin"] != "own"}

    def host(self, source: str, *args: str | Path) -> Json:
        """Run a host app there, and give the JSON it prints."""
        return run(self.python, "-c", source, *args).json


def fresh_environment(folder: Path, *wheels: Path) -> FreshEnvironment:
    """Make an environment with these wheels; what Trimtab needs is borrowed from the running environment."""
    venv.create(folder, with_pip=False, symlinks=True)
    made = FreshEnvironment(folder)
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for place in _installed_here():
        (borrowed / place.name).symlink_to(place)
    (made.site / "borrowed.pth").write_text(f"{borrowed}\n")
    made.install(*wheels)
    return made


def _installed_here() -> Iterator[Path]:
    """Give what stands beside the packages that Trimtab needs, Trimtab itself left out."""
    sites = {Path(str(module.__file__)).parent.parent for module in (pluggy, pydantic_core)}
    for place in chain.from_iterable(site.iterdir() for site in sites):
        if not place.name.startswith(_OURS) and place.suffix != ".pth" and place.name != "__pycache__":
            yield place


def run(*command: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    """Run a command with nothing of the caller's environment but where programs are found."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    ended = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
        cwd="/",
        env={**kept, **_ALONE, **(env or {})},
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def settings(folder: Path, text: str) -> Path:
    """Write a configuration file that only its owner may write to; each text gets a file of its own."""
    file = folder / f"settings-{len(list(folder.glob('settings-*')))}.toml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def calls_of(report: Json) -> dict[str, Json]:
    """Give the calls of others' plugins: name → what the report says of the call."""
    calls = cast("list[Json]", report["calls"])
    return {str(call["plugin"]): call for call in calls if not call["builtIn"]}


def diagnosed(report: Json) -> list[tuple[str, str]]:
    """Give code and message of each diagnostic."""
    found = cast("list[dict[str, str]]", report["diagnostics"])
    return [(one["code"], one["message"]) for one in found]


def same_fit(one: Json, other: Json) -> bool:
    """Whether two reports tell the same, but for where the plugins ran, how long, and how often they asked."""
    return _judged(one) == _judged(other)


def _judged(report: Json) -> Json:
    calls = [{key: call[key] for key in call.keys() - _OF_THE_CALL} for call in calls_of(report).values()]
    return {**report, "calls": calls}
