"""What a distribution says of itself, read through importlib_metadata from bounded, regular files."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

from importlib_metadata import Distribution, EntryPoint

from trimtab.loading.discovery import GROUPS, is_name, normalized
from trimtab.loading.reading import UnreadableError, decoded, read_bounded, shown
from trimtab.loading.scanning import Folder

ENTRY_POINTS = "entry_points.txt"
MAX_ENTRIES = 512
MAX_VALUE = 200
KIB = 1024
LIMITS = {ENTRY_POINTS: 256 * KIB, "METADATA": 1024 * KIB, "PKG-INFO": 1024 * KIB, "RECORD": 32 * 1024 * KIB}
OTHER_LIMIT = 64 * KIB

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
_PLAIN_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}")
_OURS = "trimtab."
_Answer = TypeVar("_Answer")


class BoundedDistribution(Distribution):
    """A distribution whose every file is read bounded. Of METADATA only the headers are kept.

    `known` are contents of files that were read already.
    """

    def __init__(self, folder: str, known: Mapping[str, bytes] | None = None) -> None:
        self._folder = folder
        self._known = known or {}

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        """Give a metadata file's text, None when there is none. Raises UnreadableError."""
        name = os.fspath(filename)
        data = self._known.get(name)
        if data is None and name:
            data = read_bounded(os.path.join(self._folder, name), LIMITS.get(name, OTHER_LIMIT))
        if data is None:
            return None
        if name in {"METADATA", "PKG-INFO"}:
            data = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0]
        return decoded(name, data)

    def locate_file(self, path: str | os.PathLike[str]) -> NoReturn:
        """Say that files are not found this way."""
        raise NotImplementedError("files are located by RECORD")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry point of a group of ours. `fault` says what is wrong with it by itself."""

    group: str
    name: str
    module: str
    attribute: str
    fault: str = ""

    @property
    def value(self) -> str:
        """The object it names, as `module` or `module:attribute`."""
        return f"{self.module}:{self.attribute}" if self.attribute else self.module


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a distribution is: its name, normalized where it is one, its version, what it requires.

    `editable` is the URL of its source tree, when it says that it was installed as editable.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()
    editable: str = ""


def read_entries(folder: Folder) -> tuple[Entry, ...]:
    """Give the entry points of our groups. Raises UnreadableError when the file cannot be used as it stands."""
    data = read_bounded(os.path.join(folder.path, ENTRY_POINTS), LIMITS[ENTRY_POINTS])
    if data is None or _OURS.encode() not in data.replace(b"\0", b"").lower():
        return ()
    dist = BoundedDistribution(folder.path, {ENTRY_POINTS: data})
    entries = _read(f"{ENTRY_POINTS} is malformed", lambda: tuple(dist.entry_points))
    if len(entries) > MAX_ENTRIES:
        raise UnreadableError(f"{ENTRY_POINTS} names {len(entries)} entry points, more than {MAX_ENTRIES}")
    return _without_doubles([_entry(one) for one in entries if _is_ours(one.group)])


def read_identity(folder: Folder) -> Identity:
    """Give what METADATA and direct_url.json say.

    Raises UnreadableError, also when the folder's name says otherwise.
    """
    dist = BoundedDistribution(folder.path)
    headers = _read("METADATA cannot be read", lambda: dist.metadata)
    name = _only("Name", headers.get_all("Name"))
    version = _only("Version", headers.get_all("Version"))
    if not is_distribution(name):
        raise UnreadableError(f"METADATA names it {shown(name)}, which is no name of a distribution")
    _check_folder(folder, name, version)
    requires = tuple(str(line) for line in headers.get_all("Requires-Dist") or ())
    return Identity(normalized(name), version, requires, read_editable(folder))


def presumed_identity(folder: Folder) -> Identity:
    """Give what the folder's name says, for a distribution that cannot be read."""
    name, _, version = folder.stem.partition("-")
    return Identity(normalized(name) if is_distribution(name) else shown(name), shown(version))


def is_distribution(name: str) -> bool:
    """Tell whether this is the name of a distribution as PEP 508 has it, in ASCII, at most 128 characters."""
    return _DISTRIBUTION.fullmatch(name) is not None


def _read(what: str, read: Callable[[], _Answer]) -> _Answer:
    try:
        return read()
    except UnreadableError:
        raise
    except Exception as error:
        raise UnreadableError(f"{what} ({type(error).__name__})") from error


def _only(field: str, values: list[str] | None) -> str:
    if not values or len(values) != 1:
        raise UnreadableError(f"METADATA has {len(values or ())} lines {field}:, not one")
    return str(values[0]).strip()


def _check_folder(folder: Folder, name: str, version: str) -> None:
    said_name, _, said_version = folder.stem.partition("-")
    same = _is_same_version(version, said_version)
    if not version.isascii() or not same or normalized(name) != normalized(said_name):
        raise UnreadableError(f"METADATA says {shown(name)} {shown(version)}, its folder {shown(folder.name)}")


def _is_same_version(version: str, said: str) -> bool:
    # Most are spelled alike, and packaging takes its time to be imported.
    if version == said and _PLAIN_VERSION.fullmatch(version):
        return True
    from packaging.version import InvalidVersion, Version

    try:
        return Version(version) == Version(said.replace("_", "-"))
    except InvalidVersion as error:
        raise UnreadableError(f"{shown(version)} or {shown(said)} is no version (PEP 440)") from error


def read_editable(folder: Folder) -> str:
    """Give the URL of the source tree of an editable install, else nothing. Raises UnreadableError."""
    dist = BoundedDistribution(folder.path)
    origin: object = _read("direct_url.json is malformed", lambda: dist.origin)
    if getattr(getattr(origin, "dir_info", None), "editable", None) is not True:
        return ""
    url: object = getattr(origin, "url", None)
    if not isinstance(url, str):
        raise UnreadableError("direct_url.json has no url")
    return url


def _is_ours(group: str) -> bool:
    return group.strip().casefold().startswith(_OURS)


def _entry(one: EntryPoint) -> Entry:
    try:
        module, attribute = one.module, one.attr or ""
        parts = [*module.split("."), *(attribute.split(".") if attribute else ())]
    except ValueError:
        module, attribute, parts = "", "", []
    if (
        not parts
        or len(one.value) > MAX_VALUE
        or not all(part.isascii() and part.isidentifier() for part in parts)
    ):
        return _faulty(one, f"its value {shown(one.value)} is no module or module:attribute")
    if one.group not in GROUPS:
        return _faulty(one, f"there is no group {shown(one.group)}; there are {', '.join(GROUPS)}")
    if not is_name(one.name):
        return _faulty(one, "its name is not made of a to z, 0 to 9, dot, dash and underscore")
    return Entry(one.group, one.name, module, attribute)


def _faulty(one: EntryPoint, fault: str) -> Entry:
    group = one.group if one.group in GROUPS else ""
    return Entry(group, one.name if is_name(one.name) else shown(one.name), shown(one.value), "", fault)


def _without_doubles(entries: list[Entry]) -> tuple[Entry, ...]:
    """Leave out what is said twice; of one name with two objects, neither is right."""
    single = tuple(dict.fromkeys(entries))
    owners = Counter((one.group, one.name) for one in single)
    fault = f"{ENTRY_POINTS} gives this name to more than one object"
    return tuple(
        one if one.fault or owners[one.group, one.name] == 1 else replace(one, fault=fault) for one in single
    )
