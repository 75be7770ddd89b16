"""Importing a module so that what was vetted is what runs."""

from __future__ import annotations

import importlib
import os
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

from trimtab.loading.discovery import Candidate


class WrongPlaceError(ImportError):
    """Python would import, or has imported, another file than the one that was vetted."""


def import_vetted(candidate: Candidate) -> None:
    """Import the module of a third party's entry, and before it each of its packages, only from the vetted place.

    Every step is looked at before its code runs, also when a module of that name is loaded already.

    Raises WrongPlaceError, and whatever the module itself raises.
    """
    if not candidate.file or not candidate.paths:
        raise WrongPlaceError("nothing was vetted: the file of its module is not known")
    parts = candidate.value.partition(":")[0].split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        _check_package(find_spec(package), os.path.join(candidate.paths[0], *parts[:depth]), package)
        importlib.import_module(package)
    module = ".".join(parts)
    _check_file(find_spec(module), candidate.file, module)
    importlib.import_module(module)
    _check_file(getattr(sys.modules.get(module), "__spec__", None), candidate.file, module)


def _check_package(spec: ModuleSpec | None, folder: str, name: str) -> None:
    places = [os.path.realpath(place) for place in (spec and spec.submodule_search_locations) or ()]
    if spec is not None and spec.has_location and places[:1] == [os.path.realpath(folder)]:
        return
    if spec is not None and not spec.has_location and os.path.realpath(folder) in places:
        return
    raise _wrong(name, folder, ", ".join(places) or _origin(spec))


def _check_file(spec: ModuleSpec | None, file: str, name: str) -> None:
    origin = _origin(spec)
    if spec is None or not spec.has_location or os.path.realpath(origin) != os.path.realpath(file):
        raise _wrong(name, file, origin)


def _origin(spec: ModuleSpec | None) -> str:
    return (spec.origin if spec is not None else "") or "nowhere"


def _wrong(name: str, vetted: str, found: str) -> WrongPlaceError:
    return WrongPlaceError(
        f"a module {name} comes first on the path: Python takes it from {found}, but {vetted} was vetted; "
        "take the other one away"
    )
