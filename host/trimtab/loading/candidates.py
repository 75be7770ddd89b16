"""From metadata folders to candidates: find, read, compare with all RECORDs, say what is wrong.

The configuration plays no part yet. Nothing is imported, and one broken distribution stops no other.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from trimtab.loading.api_gate import api_fault
from trimtab.loading.discovery import OWN_DISTRIBUTION, Candidate, Home, normalized
from trimtab.loading.metadata import (
    Entry,
    Identity,
    is_distribution,
    presumed_identity,
    read_entries,
    read_identity,
)
from trimtab.loading.provenance import (
    files_on_the_way,
    find_file,
    import_roots,
    module_files,
    own_distribution,
    own_places,
    source_tree,
)
from trimtab.loading.reading import UnreadableError, shown
from trimtab.loading.records import Claims, Question, listed_paths, read_claims
from trimtab.loading.scanning import (
    Folder,
    Scan,
    find_named,
    path_entries,
    scan_environment,
    scan_plugin_directory,
)

_OLD = "it is installed the old way (egg-info), which does not say what came with it; install it again with pip"
_OWN_MODULES = ("trimtab_strategies.", "trimtab_plugins.")


@dataclass(frozen=True, slots=True)
class Published:
    """A distribution that publishes something, or cannot be read; `roots` are where its modules are imported from.

    Without `entries` it is listed as a whole, with its `fault`.
    """

    folder: Folder
    identity: Identity
    entries: tuple[Entry, ...] = ()
    fault: str = ""
    home: Home = "environment"
    roots: tuple[str, ...] = ()


def own_candidates(path: Iterable[object]) -> tuple[Candidate, ...]:
    """Give what this very distribution publishes, without looking at any other."""
    own = own_distribution(find_named(path_entries(path), f"{OWN_DISTRIBUTION}-"))
    return () if own is None else _own_candidates(own)


def all_candidates(path: Iterable[object], plugin_directory: str | None) -> tuple[Candidate, ...]:
    """Give what every distribution of an import path and of a plugin directory publishes.

    Raises ConfigError when the plugin directory cannot be read.
    """
    scan = scan_environment(path_entries(path))
    directory = Scan(()) if plugin_directory is None else scan_plugin_directory(plugin_directory)
    own = own_distribution(info for info in scan.infos if _said_name(info) == OWN_DISTRIBUTION)
    infos = (*scan.infos, *directory.infos)
    published = [one for info in infos if info != own for one in _published(info)]
    checked = _compared(published, infos, own)
    eggs = _egg_candidates((*scan.eggs, *directory.eggs), {_said_name(info) for info in infos})
    faults = (_fault_candidate(name, fault) for name, fault in (*scan.faults, *directory.faults))
    return (*(() if own is None else _own_candidates(own)), *checked, *eggs, *faults)


def _own_candidates(own: Folder) -> tuple[Candidate, ...]:
    identity = presumed_identity(own)
    try:
        return tuple(_own_candidate(entry, identity.version) for entry in read_entries(own))
    except UnreadableError as error:
        return (replace(_whole(Published(own, identity, fault=f"{error}; install Trimtab again")), own=True),)


def _own_candidate(entry: Entry, version: str) -> Candidate:
    fault = entry.fault
    if not fault and not entry.module.startswith(_OWN_MODULES):
        fault = "it is no part of Trimtab, though Trimtab's metadata name it; install Trimtab again"
    return Candidate(entry.group, entry.name, entry.value, OWN_DISTRIBUTION, version, own=True, fault=fault)


def _published(info: Folder) -> Iterator[Published]:
    """Read one distribution; whatever is wrong with it is its own fault alone."""
    try:
        entries = read_entries(info)
        if entries or _is_leftover(info):
            yield _described(info, entries)
    except Exception as error:
        yield Published(info, presumed_identity(info), fault=_words(error), home=info.home)


def _is_leftover(info: Folder) -> bool:
    return OWN_DISTRIBUTION in _said_name(info) and not os.path.lexists(os.path.join(info.path, "METADATA"))


def _described(info: Folder, entries: tuple[Entry, ...]) -> Published:
    presumed = presumed_identity(info)
    whole = Published(info, presumed, home=info.home)
    if not is_distribution(info.stem.partition("-")[0]):
        return replace(whole, fault=f"its metadata folder {shown(info.name)} has no name of a distribution")
    if presumed.name == OWN_DISTRIBUTION:
        return replace(whole, fault=_impostor_fault(info))
    if not entries:
        return replace(whole, fault="it has neither entry points nor METADATA; remove what is left of it")
    try:
        identity = read_identity(info)
        return _placed(replace(whole, identity=identity, entries=entries))
    except UnreadableError as error:
        return replace(whole, entries=entries, fault=str(error))


def _impostor_fault(info: Folder) -> str:
    if info.home == "directory":
        return f"a copy of Trimtab that came along into {shown(info.site)}; it is never used, and may be removed"
    return (
        f"it calls itself {OWN_DISTRIBUTION}, but its code is not what runs here; remove {shown(info.path, 200)}"
    )


def _placed(one: Published) -> Published:
    if one.folder.misplaced:
        name, site = one.identity.name, one.folder.site
        return replace(
            one,
            fault="it stands in the plugin directory itself; give it a folder of its own there: "
            f"python -m pip install --only-binary :all: --target {shown(site, 200)}/{name} {name}",
        )
    if not one.identity.editable or one.folder.home == "directory":
        return replace(one, roots=(one.folder.site,))
    tree = source_tree(one.identity.editable)
    return replace(one, home="editable", roots=import_roots(one.folder, one.identity.name, tree))


def _compared(published: Sequence[Published], infos: Sequence[Folder], own: Folder | None) -> Iterator[Candidate]:
    """Hold every distribution against all others, and give its candidates."""
    if not any(one.entries for one in published):
        yield from (_whole(one) for one in published)
        return
    claims = read_claims(infos, _question(published, own))
    doubles = _doubles(infos)
    version = "" if own is None else presumed_identity(own).version
    for one in published:
        fault = one.fault or _distribution_fault(one, doubles, claims, own, version)
        yield from _candidates(replace(one, fault=fault), claims)
    yield from _bystanders({own, *(one.folder for one in published)}, claims)


def _question(published: Iterable[Published], own: Folder | None) -> Question:
    files: defaultdict[str, set[str]] = defaultdict(set)
    for one in published:
        modules = {entry.module for entry in one.entries if not entry.fault}
        for root in one.roots:
            files[root].update(path for module in modules for path in files_on_the_way(module))
    asked = frozenset(one.folder for one in published if one.entries)
    if own is None:
        return Question(files, asked, own_places())
    return Question(files, asked | {own}, own_places(), _own_commands(own))


def _own_commands(own: Folder) -> frozenset[str]:
    """The files of Trimtab that stand outside of the folder of its packages."""
    try:
        outside = [path for path in listed_paths(own) if path.startswith("..")]
    except UnreadableError:
        return frozenset()
    places = (os.path.split(os.path.normpath(os.path.join(own.site, path))) for path in outside)
    return frozenset(os.path.join(os.path.realpath(folder), name) for folder, name in places)


def _doubles(infos: Iterable[Folder]) -> Mapping[str, Sequence[Folder]]:
    named: defaultdict[str, list[Folder]] = defaultdict(list)
    for info in infos:
        named[_said_name(info)].append(info)
    return named


def _distribution_fault(
    one: Published,
    doubles: Mapping[str, Sequence[Folder]],
    claims: Claims,
    own: Folder | None,
    version: str,
) -> str:
    fault = _double_fault(one.folder, doubles[one.identity.name]) or _claim_fault(one.folder, claims, own)
    if fault or own is not None:
        return fault or api_fault(one.identity.requires, version)
    return "which Trimtab this is cannot be told, as its own metadata were not found; install Trimtab again"


def _double_fault(folder: Folder, named: Sequence[Folder]) -> str:
    """Say which others have the name. What stands in a plugin directory takes nothing from the environment."""
    rivals = named if folder.home == "directory" else [one for one in named if one.home == "environment"]
    others = [one for one in rivals if one != folder]
    if not others:
        return ""
    places = ", ".join(shown(one.path, 120) for one in others[:3])
    return f"more than one distribution has its name, this is {shown(folder.path, 120)}; remove it or {places}"


def _claim_fault(folder: Folder, claims: Claims, own: Folder | None) -> str:
    if folder in claims.intruders or (own is not None and folder in claims.folders.get(own, ())):
        if folder.home == "directory":
            return "it brings files for Trimtab's own packages; remove its folder"
        return "it puts files into Trimtab's own packages or commands; uninstall it, and install Trimtab again"
    planters = claims.folders.get(folder)
    if planters:
        return f"its metadata folder is listed in the RECORD of {_names(planters)}; uninstall that"
    planted = [claimed for claimed, others in claims.folders.items() if folder in others]
    if planted:
        return f"its RECORD lists the metadata folder of {_names(planted)}; uninstall it"
    return claims.unread.get(folder, "")


def _candidates(one: Published, claims: Claims) -> Iterator[Candidate]:
    if not one.entries:
        yield _whole(one)
    for entry in one.entries:
        root, file, fault = ("", "", one.fault) if one.fault or entry.fault else _module(one, entry, claims)
        yield Candidate(
            entry.group,
            entry.name,
            entry.value,
            one.identity.name,
            one.identity.version,
            home=one.home,
            paths=_import_paths(one, root) if root else (),
            file=file,
            fault=entry.fault or fault,
            note=_note(one, claims),
        )


def _import_paths(one: Published, root: str) -> tuple[str, ...]:
    """An editable plugin stands in its source tree, and what it depends on in the environment."""
    return tuple(dict.fromkeys((root, one.folder.site))) if one.home == "editable" else (root,)


def _module(one: Published, entry: Entry, claims: Claims) -> tuple[str, str, str]:
    """Give import root, file and fault of an entry's module."""
    found = find_file(one.roots, entry.module) if one.home == "editable" else _listed_file(one, entry, claims)
    if found is None:
        return "", "", _no_module(one, entry, claims)
    root, file = found
    every = (f"{root}/{path}" for path in files_on_the_way(entry.module))
    others = {owner for path in every for owner in claims.files.get(path, ())} - {one.folder}
    if others:
        return "", "", f"the RECORD of {_names(others)} lists files of {entry.module} too; uninstall one of them"
    return root, file, ""


def _listed_file(one: Published, entry: Entry, claims: Claims) -> tuple[str, str] | None:
    for root in one.roots:
        for path in module_files(entry.module):
            place = f"{root}/{path}"
            if one.folder in claims.files.get(place, ()) and os.path.isfile(place):
                return root, place
    return None


def _no_module(one: Published, entry: Entry, claims: Claims) -> str:
    if one.home == "editable":
        return f"its module {entry.module} is not in its source tree"
    if one.folder in claims.missing:
        return "it has no RECORD, so nobody can tell which files are its own; install it again with pip"
    return f"its module {entry.module} is not among the files that its RECORD lists; install it again"


def _note(one: Published, claims: Claims) -> str:
    starter = claims.starters.get(one.folder)
    if starter is None or one.home != "environment":
        return ""
    return f"it brings {shown(starter)}, which runs in every start of this Python"


def _bystanders(known: set[Folder | None], claims: Claims) -> Iterator[Candidate]:
    """Give a row for what publishes nothing, but changes Trimtab or hides what it changes."""
    faults = {
        folder: f"{fault}, so nobody can tell which files came with it" for folder, fault in claims.unread.items()
    }
    faults |= {folder: _claim_fault(folder, claims, None) for folder in claims.intruders}
    for folder in sorted(faults.keys() - known, key=lambda one: one.path):
        yield _whole(Published(folder, presumed_identity(folder), fault=faults[folder], home=folder.home))


def _whole(one: Published) -> Candidate:
    name, version = one.identity.name, one.identity.version
    return Candidate("", name, "", name, version, home=one.home, fault=one.fault)


def _fault_candidate(name: str, fault: str) -> Candidate:
    return Candidate("", shown(name), "", "", "", fault=fault)


def _egg_candidates(eggs: Iterable[Folder], known: set[str]) -> Iterator[Candidate]:
    """Give what is only there in the old form, as refused. A folder that a build left beside its source is not."""
    for egg in eggs:
        if _said_name(egg) in known or not os.path.isdir(egg.path):
            continue
        whole = Published(egg, presumed_identity(egg), home=egg.home, fault=_OLD)
        try:
            entries = read_entries(egg)
        except Exception as error:
            yield _whole(replace(whole, fault=_words(error)))
            continue
        if entries:
            yield from _candidates(replace(whole, entries=entries), Claims())


def _said_name(folder: Folder) -> str:
    return normalized(folder.stem.partition("-")[0])


def _names(folders: Iterable[Folder]) -> str:
    names = sorted({presumed_identity(folder).name for folder in folders})
    return ", ".join(names[:3])


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, UnreadableError) else f"it cannot be read ({type(error).__name__})"
