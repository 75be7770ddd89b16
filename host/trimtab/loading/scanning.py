"""Which metadata folders there are. Only names are looked at here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trimtab.loading.discovery import Home
from trimtab.loading.reading import shown

MAX_DISTRIBUTIONS = 10_000
MAX_FOLDERS = 1_000
INFO = ".dist-info"
EGG = ".egg-info"


@dataclass(frozen=True, slots=True)
class Folder:
    """A metadata folder. `site` is the real path of the folder that it stands in, `name` its own name.

    `misplaced` says that it stands in the plugin directory itself, not in a folder of its distribution's own.
    """

    site: str
    name: str
    home: Home = "environment"
    misplaced: bool = False

    @property
    def path(self) -> str:
        """Where it stands."""
        return os.path.join(self.site, self.name)

    @property
    def stem(self) -> str:
        """Its name without the ending."""
        return os.path.splitext(self.name)[0]


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found, in the order of the path, then by name.

    - `infos` and `eggs`: metadata folders of today's form and of the old one.
    - `faults`: name → why something there was not looked into.
    """

    infos: tuple[Folder, ...]
    eggs: tuple[Folder, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


def path_entries(path: Iterable[object]) -> tuple[str, ...]:
    """Give the folders of an import path by their real paths, each once, in order."""
    real = (os.path.realpath(entry) for entry in path if isinstance(entry, str) and "\0" not in entry)
    return tuple(dict.fromkeys(real))


def scan_environment(sites: Sequence[str]) -> Scan:
    """Find the metadata folders of the folders of an import path; one reached twice counts once."""
    seen: set[str] = set()
    return _joined(_scan_site(site, "environment", seen) for site in sites)


def scan_plugin_directory(directory: str) -> Scan:
    """Find the metadata folders of a plugin directory: each folder in it is looked into like a path entry.

    Raises ConfigError when the directory itself cannot be read.
    """
    try:
        with os.scandir(directory) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir())
    except OSError as error:
        from trimtab_sdk.errors import ConfigError

        raise ConfigError(
            f"the plugin directory {shown(directory, 200)} cannot be read: {error.strerror}; "
            "make it, or take plugin_directory out of the configuration"
        ) from error
    seen: set[str] = set()
    root = os.path.realpath(directory)
    folders = [name for name in names if not name.lower().endswith((INFO, EGG))]
    sites = [os.path.realpath(os.path.join(root, name)) for name in folders[:MAX_FOLDERS]]
    top = Scan(
        tuple(Folder(root, name, "directory", misplaced=True) for name in names if name not in set(folders))
    )
    rest = len(folders) - MAX_FOLDERS
    over = Scan((), (), ((os.path.basename(root), f"{rest} more folders of {shown(root)} were not looked into"),))
    return _joined([top, *(_scan_site(site, "directory", seen) for site in sites), *([over] if rest > 0 else [])])


def find_named(sites: Sequence[str], prefix: str) -> tuple[Folder, ...]:
    """Find the metadata folders whose name starts so, whatever the case; quicker than a full scan."""
    found = []
    for site in sites:
        names = (name for name, _ in _children(site))
        found += [
            Folder(site, name) for name in names if name.lower().startswith(prefix) and name.lower().endswith(INFO)
        ]
    return tuple(found)


def _scan_site(site: str, home: Home, seen: set[str]) -> Scan:
    infos: list[Folder] = []
    eggs: list[Folder] = []
    for name, real in _children(site):
        if real in seen:
            continue
        seen.add(real)
        (infos if name.lower().endswith(INFO) else eggs).append(Folder(site, name, home))
    rest = len(infos) - MAX_DISTRIBUTIONS
    over = [(os.path.basename(site), f"{rest} more distributions in {shown(site)} were not looked at")]
    return Scan(tuple(infos[:MAX_DISTRIBUTIONS]), tuple(eggs[:MAX_DISTRIBUTIONS]), tuple(over) if rest > 0 else ())


def _children(site: str) -> list[tuple[str, str]]:
    """Give the metadata folders in a folder with their real paths, sorted; none where Python cannot look."""
    try:
        with os.scandir(site) as entries:
            return sorted((one.name, _real(one)) for one in entries if one.name.lower().endswith((INFO, EGG)))
    except OSError:
        return []


def _real(entry: os.DirEntry[str]) -> str:
    return os.path.realpath(entry.path) if entry.is_symlink() else entry.path


def _joined(scans: Iterable[Scan]) -> Scan:
    every = list(scans)
    return Scan(
        tuple(_each(scan.infos for scan in every)),
        tuple(_each(scan.eggs for scan in every)),
        tuple(fault for scan in every for fault in scan.faults),
    )


def _each(groups: Iterable[Iterable[Folder]]) -> Iterator[Folder]:
    for group in groups:
        yield from group
