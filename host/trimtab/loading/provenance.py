"""Where the code behind an entry point stands, and which distribution is this very host."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from urllib.parse import unquote, urlsplit

from trimtab.loading.discovery import normalized
from trimtab.loading.metadata import KIB, read_editable
from trimtab.loading.reading import UnreadableError, decoded, read_bounded, shown
from trimtab.loading.records import OWN_PACKAGES, listed_paths
from trimtab.loading.scanning import Folder

PROJECT_LIMIT = 1024 * KIB
PTH_LIMIT = 64 * KIB

_SUFFIXES = (*EXTENSION_SUFFIXES, ".py")
_CACHED = (".pyc", ".opt-1.pyc", ".opt-2.pyc")
_THIS_FILE = "trimtab/loading/provenance.py"


def module_files(module: str) -> tuple[str, ...]:
    """Give the files that a module may come from, below its import root, in the order Python looks."""
    base = module.replace(".", "/")
    return tuple(f"{start}{suffix}" for start in (f"{base}/__init__", base) for suffix in _SUFFIXES)


def files_on_the_way(module: str) -> tuple[str, ...]:
    """Give every file that Python may run to import a module: its own, its packages', and their caches."""
    parts = module.split(".")
    names = [".".join(parts[: at + 1]) for at in range(len(parts))]
    files = [file for name in names for file in module_files(name)]
    return (*files, *(cached for file in files if file.endswith(".py") for cached in _caches(file)))


def _caches(file: str) -> Iterator[str]:
    folder, name = os.path.split(file[: -len(".py")])
    for ending in _CACHED:
        yield f"{os.path.join(folder, '__pycache__', name)}.{sys.implementation.cache_tag}{ending}"
    yield f"{file}c"


def own_distribution(folders: Iterable[Folder], this_file: str = __file__) -> Folder | None:
    """Give the distribution whose code this very running host is, None when there is none.

    Its RECORD lists the file of this module at the place it was imported from, or it is editable and the file
    stands in its source tree.
    """
    real = os.path.realpath(this_file)
    return next((folder for folder in folders if _is_own(folder, real)), None)


def _is_own(folder: Folder, real: str) -> bool:
    try:
        here = os.path.realpath(os.path.join(folder.site, _THIS_FILE)) == real
        if here and _THIS_FILE in listed_paths(folder):
            return True
        url = read_editable(folder)
        return bool(url) and _is_below(real, source_tree(url))
    except UnreadableError:
        return False


def own_places() -> tuple[str, ...]:
    """Give the folders of Trimtab's own packages; nothing is imported for it."""
    from importlib.util import find_spec

    specs = [find_spec(name) for name in OWN_PACKAGES]
    return tuple(
        os.path.realpath(place) for spec in specs if spec for place in spec.submodule_search_locations or ()
    )


def source_tree(url: str) -> str:
    """Give the folder that the URL of an editable install names, as a real path. Raises UnreadableError."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UnreadableError(f"direct_url.json has a broken url ({error})") from error
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"} or not path or "\0" in path:
        raise UnreadableError(f"it is editable, but from {shown(url)}, which is no folder here")
    return os.path.realpath(path.lstrip("/") if os.name == "nt" else path)


def import_roots(folder: Folder, name: str, tree: str) -> tuple[str, ...]:
    """Give the folders that an editable distribution is imported from, all in its source tree.

    They are the plain lines of the .pth files in its RECORD, else `src`, else the tree itself. The tree must say
    in its pyproject.toml that it is this project: otherwise a wheel could name any folder as its source.

    Raises UnreadableError.
    """
    _check_project(name, tree)
    lines = [line for path in listed_paths(folder) if _is_path_file(path) for line in _pth_lines(folder, path)]
    roots = [os.path.realpath(os.path.join(folder.site, line)) for line in lines]
    return tuple(root for root in [*roots, os.path.join(tree, "src"), tree] if _is_below(root, tree))


def find_file(roots: Sequence[str], module: str) -> tuple[str, str] | None:
    """Give the import root and the file of a module, the first that exists."""
    for root in roots:
        for path in module_files(module):
            if os.path.isfile(f"{root}/{path}"):
                return root, f"{root}/{path}"
    return None


def _check_project(name: str, tree: str) -> None:
    import tomllib

    data = read_bounded(os.path.join(tree, "pyproject.toml"), PROJECT_LIMIT)
    try:
        project = tomllib.loads(decoded("pyproject.toml", data or b"")).get("project")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UnreadableError(f"{shown(tree)}/pyproject.toml is malformed") from error
    said = project.get("name") if isinstance(project, dict) else None
    if not isinstance(said, str) or normalized(said) != name:
        raise UnreadableError(
            f"it says that it is editable from {shown(tree)}, but no pyproject.toml there has this project.name"
        )


def _is_path_file(path: str) -> bool:
    return path.endswith(".pth") and "/" not in path


def _pth_lines(folder: Folder, path: str) -> list[str]:
    data = read_bounded(os.path.join(folder.site, path), PTH_LIMIT)
    lines = decoded(path, data or b"").splitlines()
    return [line.rstrip() for line in lines if line.strip() and "\0" not in line and not _is_code(line)]


def _is_code(line: str) -> bool:
    return line.startswith(("#", "import ", "import\t"))


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
