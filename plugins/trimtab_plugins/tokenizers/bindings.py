"""The counter inside the package `bpe-openai`.

The package's public functions refuse a million characters and take half a second to import; the compiled module
under them has neither fault. It is private, so exactly one version of the package is used.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import cast

VERSION = "0.1.4"
_PACKAGE = "bpe_openai"
_MODULE = f"{_PACKAGE}._bindings"
_loading = threading.Lock()


def counter(name: str) -> Callable[[str], int] | None:
    """Give what counts a text in the vocabulary `name`.

    None when the package is not installed, has another version, or cannot be loaded on this machine. The
    counter takes text that can be encoded in UTF-8.
    """
    if _installed_version() != VERSION:
        return None
    module = _load()
    make = getattr(module, "tokenizer_for_encoding", None)
    if make is None:
        return None
    return cast("Callable[[str], int] | None", getattr(make(name), "count", None))


def _installed_version() -> str | None:
    from importlib_metadata import PackageNotFoundError, version

    try:
        return version("bpe-openai")
    except PackageNotFoundError:
        return None


def _load() -> ModuleType | None:
    """Load the compiled module under its own name, so that the package shares it, but not the package."""
    with _loading:
        loaded = sys.modules.get(_MODULE)
        if loaded is not None:
            return loaded
        package = find_spec(_PACKAGE)
        spec = package and PathFinder.find_spec(_MODULE, package.submodule_search_locations)
        if spec is None or spec.loader is None:
            return None
        try:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
        except ImportError:
            return None
        sys.modules[_MODULE] = module
        return module
