"""How this Trimtab was installed, and so which command adds a plugin to it. The commands are told, never run."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

from trimtab.loading.discovery import OWN_DISTRIBUTION, normalized
from trimtab.loading.reading import UnreadableError, read_bounded

Manager: TypeAlias = Literal["uv-tool", "pipx", "conda", "virtual-environment", "externally-managed", "system"]

NAME = "NAME"
_RECEIPT = "uv-receipt.toml"
_LONGEST = 1 << 20
# Addresses are left out: they may hold credentials, and the command is shown.
_KNOWN_KEYS = frozenset({"name", "extras", "specifier", "marker", "path", "directory", "editable"})
_BY_HAND = (
    "this Python belongs to the system, whose own tools manage it: install Trimtab into a virtual environment, "
    "or with uv tool or pipx, and add plugins there"
)


@dataclass(frozen=True, slots=True)
class Environment:
    """The facts that tell how a distribution was installed.

    - `prefix` is the environment's folder, `python` its interpreter, `stdlib` the folder of the standard library.
    - `virtual`: whether it is a virtual environment. `has_pip`: whether pip can be imported there.
    """

    prefix: Path
    python: Path
    stdlib: Path
    virtual: bool
    has_pip: bool


@dataclass(frozen=True, slots=True)
class Installation:
    """How Trimtab was installed.

    - `add` adds a plugin to the host's environment, where it can be trusted; empty where no command does.
    - `add_confined` puts one into the plugin directory, from where it only ever runs confined; empty when there is
      no such directory. `NAME` stands for the plugin's distribution in both.
    - `notes` say what the commands leave out.
    """

    manager: Manager
    add: str
    add_confined: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Give JSON values with camelCase keys."""
        return {
            "manager": self.manager,
            "add": self.add or None,
            "addConfined": self.add_confined or None,
            "notes": list(self.notes),
        }


def this_environment() -> Environment:
    """Give the environment of this process."""
    return Environment(
        prefix=Path(sys.prefix),
        python=Path(sys.executable),
        stdlib=Path(sysconfig.get_path("stdlib")),
        virtual=sys.prefix != sys.base_prefix,
        has_pip=find_spec("pip") is not None,
    )


def installation(environment: Environment, plugin_directory: Path | None) -> Installation:
    """Tell how Trimtab came into an environment, and what adds plugins to it and to the plugin directory."""
    manager = _manager(environment)
    add, notes = _adding(manager, environment)
    if plugin_directory is None:
        return Installation(manager, add, "", notes)
    if note := _note_on(plugin_directory):
        notes = (*notes, note)
    return Installation(manager, add, _shell(_into_folder(environment, plugin_directory)), notes)


def _manager(environment: Environment) -> Manager:
    prefix = environment.prefix
    if (prefix / _RECEIPT).is_file():
        return "uv-tool"
    if (prefix / "pipx_metadata.json").is_file():
        return "pipx"
    if environment.virtual:
        return "virtual-environment"
    if (prefix / "conda-meta").is_dir():
        return "conda"
    if (environment.stdlib / "EXTERNALLY-MANAGED").is_file():
        return "externally-managed"
    return "system"


def _adding(manager: Manager, environment: Environment) -> tuple[str, tuple[str, ...]]:
    """Give the command that adds a plugin to the host's environment, and notes."""
    if manager == "uv-tool":
        return _uv_tool_install(environment.prefix)
    if manager == "pipx":
        return _shell(["pipx", "inject", environment.prefix.name, NAME]), ()
    if manager == "externally-managed":
        return "", (_BY_HAND,)
    return _shell([*_pip_install(environment), NAME]), ()


def _into_folder(environment: Environment, folder: Path) -> list[str]:
    # Building a source distribution would run code of its author, unconfined.
    return [*_pip_install(environment), "--only-binary", ":all:", "--target", str(folder / NAME), NAME]


def _pip_install(environment: Environment) -> list[str]:
    if not environment.has_pip and _made_by_uv(environment.prefix):
        return ["uv", "pip", "install", "--python", str(environment.python)]
    return [str(environment.python), "-m", "pip", "install"]


def _made_by_uv(prefix: Path) -> bool:
    try:
        data = read_bounded(str(prefix / "pyvenv.cfg"), _LONGEST) or b""
    except UnreadableError:
        return False
    return any(line.partition(b"=")[0].strip() == b"uv" for line in data.splitlines())


def _uv_tool_install(prefix: Path) -> tuple[str, tuple[str, ...]]:
    """Repeat what the receipt says was asked for: uv takes out what is not named again."""
    requirements, python = _receipt(prefix / _RECEIPT)
    tool = normalized(prefix.name)
    words = ["uv", "tool", "install"]
    main = [one for one in requirements if normalized(str(one.get("name"))) == tool]
    words += _asked_for(main[0], "--editable") if main else [prefix.name or OWN_DISTRIBUTION]
    for requirement in requirements:
        if requirement not in main[:1]:
            words += _asked_for(requirement, "--with-editable", with_="--with")
    words += ["--python", python] if python else []
    strange = [str(one.get("name")) for one in requirements if not _KNOWN_KEYS.issuperset(one)]
    notes = ["the receipt of uv cannot be read; repeat every --with of before"] if not requirements else []
    notes += [f"{prefix / _RECEIPT} says where {', '.join(strange)} came from; repeat it"] if strange else []
    return _shell([*words, "--with", NAME]), tuple(notes)


def _receipt(file: Path) -> tuple[list[Mapping[str, object]], str]:
    """Give the requirements of a uv receipt and the Python it asks for; nothing where it cannot be read."""
    try:
        data = read_bounded(str(file), _LONGEST) or b""
        tool = tomllib.loads(data.decode()).get("tool")
    except (UnreadableError, ValueError, RecursionError):
        return [], ""
    found: object = tool.get("requirements") if isinstance(tool, dict) else None
    python: object = tool.get("python") if isinstance(tool, dict) else None
    rows: list[Mapping[str, object]] = (
        [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    )
    return rows, python if isinstance(python, str) else ""


def _asked_for(requirement: Mapping[str, object], editable: str, *, with_: str = "") -> list[str]:
    """Give the words of the command that ask for one requirement of a receipt."""
    given = {key: value for key, value in requirement.items() if isinstance(value, str)}
    if "editable" in given:
        return [editable, given["editable"]]
    before = [with_] if with_ else []
    return [*before, _requirement_line(given, requirement.get("extras"))]


def _requirement_line(given: Mapping[str, str], extras: object) -> str:
    named = given.get("name", "")
    if isinstance(extras, list) and extras:
        named += f"[{','.join(map(str, extras))}]"
    folder = given.get("path") or given.get("directory")
    line = (
        f"{named} @ {Path(folder).as_uri()}"
        if folder and os.path.isabs(folder)
        else named + given.get("specifier", "")
    )
    return f"{line} ; {given['marker']}" if "marker" in given else line


def _note_on(folder: Path) -> str:
    """Say that others may write to the plugin directory, or nothing."""
    try:
        mode = os.stat(folder).st_mode
    except OSError:
        return ""
    if sys.platform == "win32" or not mode & (stat.S_IWGRP | stat.S_IWOTH):
        return ""
    return f"others may write to {folder}: what stands there runs confined, but they choose what it is"


def _shell(words: Sequence[str]) -> str:
    """Write a command as its platform's shell takes it."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
