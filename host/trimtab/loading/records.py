"""What RECORD files say: which files came with which distribution.

One linear pass over the bytes of all of them answers who lists what we ask about. Lines spelled in an odd way
(absolute, with dots or quotes) are taken apart one by one, so that no spelling hides a file.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.loading.metadata import LIMITS
from trimtab.loading.reading import UnreadableError, read_bounded
from trimtab.loading.scanning import Folder

OWN_PACKAGES = ("trimtab", "trimtab_plugins", "trimtab_sdk", "trimtab_strategies", "trimtab_worker")
MAX_ODD_LINES = 20_000

_OWN = frozenset(name.encode() for name in OWN_PACKAGES)
_STARTS = re.compile(rb"\n([^/\n]*)")
_ODD_STARTS = (b"/", b".", b'"')
_ODD_INSIDE = (b"//", b"/./", b"/../")
_STARTERS = frozenset({b"sitecustomize.py", b"usercustomize.py"})


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of all RECORDs.

    - `files`: real root folder → paths below it whose owners are wanted.
    - `folders`: metadata folders for which the claims of others are wanted.
    - `own_places`: the folders of Trimtab's own packages; `own_commands`: its files outside of them.
    """

    files: Mapping[str, Iterable[str]]
    folders: frozenset[Folder]
    own_places: tuple[str, ...] = ()
    own_commands: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Claims:
    """What the RECORDs answered.

    - `files`: a file → the distributions that list it.
    - `folders`: a metadata folder → the other distributions that list something in it.
    - `intruders`: distributions that put files into Trimtab's own packages.
    - `starters`: distribution → its file that runs in every start of the interpreter.
    - `unread`: distribution → why its RECORD could not be used.
    - `missing`: distributions without RECORD.
    """

    files: dict[str, set[Folder]] = field(default_factory=dict)
    folders: dict[Folder, set[Folder]] = field(default_factory=dict)
    intruders: set[Folder] = field(default_factory=set)
    starters: dict[Folder, str] = field(default_factory=dict)
    unread: dict[Folder, str] = field(default_factory=dict)
    missing: set[Folder] = field(default_factory=set)


def read_claims(infos: Sequence[Folder], question: Question) -> Claims:
    """Read the RECORD of every distribution and answer the question."""
    claims = Claims()
    index = _Index(infos, question)
    for info in infos:
        try:
            _read_one(info, index, claims)
        except UnreadableError as error:
            claims.unread[info] = str(error)
    return claims


def listed_paths(info: Folder) -> tuple[str, ...]:
    """Give the paths a RECORD lists, as they are spelled there. Raises UnreadableError."""
    return tuple(_path(line) for line in (_data(info) or b"").split(b"\n"))


class _Index:
    """The question, put so that the lines of a RECORD can be looked up in it by their bytes."""

    def __init__(self, infos: Sequence[Folder], question: Question) -> None:
        self.sites = {info.site for info in infos}
        self.own_places = tuple(os.path.join(place, "") for place in question.own_places)
        self.own_commands = question.own_commands
        self.folders = {info.path: info for info in question.folders}
        self.files: set[str] = set()
        self.below: dict[str, dict[bytes, str]] = {site: {} for site in self.sites}
        for root, paths in question.files.items():
            self._add(root, paths)
        self.names: dict[str, dict[bytes, Folder]] = {site: {} for site in self.sites}
        for info in question.folders:
            self.names[info.site][os.fsencode(info.name)] = info
        self.firsts = {
            site: {_first(path) for path in self.below[site]} | set(self.names[site]) for site in self.sites
        }
        self.real: dict[str, str] = {}

    def _add(self, root: str, paths: Iterable[str]) -> None:
        ways = list(_ways(root, self.sites))
        for path in paths:
            place = f"{root}/{path}"
            self.files.add(place)
            for site, way in ways:
                self.below[site][os.fsencode(way + path)] = place

    def place(self, info: Folder, path: str) -> str:
        """Give where a path of a RECORD really is."""
        folder, name = os.path.split(os.path.normpath(os.path.join(info.site, path)))
        if folder not in self.real:
            self.real[folder] = os.path.realpath(folder)
        return os.path.join(self.real[folder], name)

    def folder_around(self, place: str) -> Folder | None:
        """Give the metadata folder that a file stands in, if it is one of those asked about."""
        while place not in self.folders:
            parent = os.path.dirname(place)
            if parent == place:
                return None
            place = parent
        return self.folders[place]


def _ways(root: str, sites: set[str]) -> Iterator[tuple[str, str]]:
    """Give each site that `root` is, or lies in, with the way from there to `root`."""
    site, way = root, ""
    while True:
        if site in sites:
            yield site, way
        parent, name = os.path.split(site)
        if parent == site:
            return
        site, way = parent, f"{name}/{way}"


def _read_one(info: Folder, index: _Index, claims: Claims) -> None:
    data = _data(info)
    if data is None:
        claims.missing.add(info)
        return
    firsts = {_first(start) for start in set(_STARTS.findall(b"\n" + data))}
    _look_at_firsts(info, firsts, claims)
    wanted = firsts & index.firsts[info.site]
    if wanted:
        _look_up(info, data, wanted, index, claims)
    for path in _odd_paths(data, firsts):
        _look_at_odd(info, index.place(info, path), index, claims)


def _look_at_firsts(info: Folder, firsts: set[bytes], claims: Claims) -> None:
    if any(first.partition(b".")[0] in _OWN for first in firsts):
        claims.intruders.add(info)
    for first in sorted(firsts):
        if _is_starter(first):
            claims.starters.setdefault(info, os.fsdecode(first))


def _look_up(info: Folder, data: bytes, wanted: set[bytes], index: _Index, claims: Claims) -> None:
    below = index.below[info.site]
    for path in below.keys() & (line.partition(b",")[0] for line in data.split(b"\n")):
        claims.files.setdefault(below[path], set()).add(info)
    for first in wanted & index.names[info.site].keys():
        _claim_folder(info, index.names[info.site][first], claims)


def _look_at_odd(info: Folder, place: str, index: _Index, claims: Claims) -> None:
    if place in index.files:
        claims.files.setdefault(place, set()).add(info)
    if place.startswith(index.own_places) or place in index.own_commands:
        claims.intruders.add(info)
    site, name = os.path.split(place)
    if site in index.sites and _is_starter(os.fsencode(name)):
        claims.starters.setdefault(info, name)
    _claim_folder(info, index.folder_around(place), claims)


def _claim_folder(info: Folder, claimed: Folder | None, claims: Claims) -> None:
    if claimed is not None and claimed != info:
        claims.folders.setdefault(claimed, set()).add(info)


def _data(info: Folder) -> bytes | None:
    data = read_bounded(os.path.join(info.path, "RECORD"), LIMITS["RECORD"])
    if data is None:
        return None
    if os.name == "nt":
        data = data.replace(b"\\", b"/")
    return data.replace(b"\r", b"\n").strip(b"\n")


def _odd_paths(data: bytes, firsts: set[bytes]) -> list[str]:
    """Give the paths of the lines that may stand for another place than they seem to. Raises UnreadableError."""
    odd: list[bytes] = []
    if b"" in firsts or any(first.startswith(_ODD_STARTS) for first in firsts):
        odd += [line for line in data.split(b"\n") if line.startswith(_ODD_STARTS)]
    marks = [mark for mark in _ODD_INSIDE if mark in data]
    if marks:
        odd += [line for line in data.split(b"\n") if any(mark in line for mark in marks)]
    if len(odd) > MAX_ODD_LINES:
        raise UnreadableError(f"RECORD lists more than {MAX_ODD_LINES} files outside its folder")
    return [_path(line) for line in odd]


def _path(line: bytes) -> str:
    text = os.fsdecode(line)
    if "\0" in text:
        raise UnreadableError("RECORD has a NUL in a path")
    if not text.startswith('"'):
        return text.partition(",")[0]
    try:
        return next(csv.reader([text]))[0]
    except csv.Error as error:
        raise UnreadableError("RECORD is malformed") from error


def _first(path: bytes) -> bytes:
    return path.partition(b"/")[0].partition(b",")[0]


def _is_starter(first: bytes) -> bool:
    return first.endswith(b".pth") or first in _STARTERS
