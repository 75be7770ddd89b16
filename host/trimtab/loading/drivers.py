"""Loading what runs in this process: trusted plugins, and drivers (codecs, tokenizers, providers, embedders).

Drivers are loaded with stevedore, from vetted entries only. A third party's module is imported from the file that
was vetted, or not at all.
"""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

from trimtab.loading.discovery import Candidate, Installed
from trimtab_sdk.errors import Origin, PluginLoadError, TrimtabError

if TYPE_CHECKING:
    from stevedore import DriverManager


def load_object(row: Installed) -> object:
    """Import what a vetted entry names and give it as it is.

    Raises PluginLoadError with the author's exception as its cause.
    """
    try:
        _import_module(row.candidate)
        return _entry(row.candidate).load()
    except (Exception, SystemExit) as error:
        raise _load_error(row, error) from error


def load_driver(row: Installed) -> object:
    """Give an instance of the driver a vetted entry names; an instance in the entry is taken as it is.

    Errors of the sdk that the driver raises while it is made, such as TokenizerUnavailableError, pass
    through; anything else becomes a PluginLoadError.
    """
    try:
        _import_module(row.candidate)
        driver = _manager(row.candidate).driver
        return driver() if isinstance(driver, type) else driver
    except TrimtabError:
        raise
    except (Exception, SystemExit) as error:
        raise _load_error(row, error) from error


def _import_module(candidate: Candidate) -> None:
    if not candidate.own:
        from trimtab.loading.vetted_import import import_vetted

        import_vetted(candidate)


def _entry(candidate: Candidate) -> importlib.metadata.EntryPoint:
    return importlib.metadata.EntryPoint(candidate.name, candidate.value, candidate.group)


def _manager(candidate: Candidate) -> DriverManager[object]:
    from stevedore import DriverManager

    vetted = _entry(candidate)

    class VettedDriver(DriverManager[object]):
        """Loads the entry that was vetted, not what stevedore's on-disk cache says is installed."""

        def list_entry_points(self) -> list[importlib.metadata.EntryPoint]:
            """Give the vetted entry alone."""
            return [vetted]

    def reraise(manager: object, entry: object, error: BaseException) -> None:
        raise error

    return VettedDriver(candidate.group, candidate.name, on_load_failure_callback=reraise)


def _load_error(row: Installed, error: BaseException) -> PluginLoadError:
    from trimtab.fitting.cleaning import class_name

    origin = Origin(row.name, row.distribution, row.version)
    return PluginLoadError(
        f"could not be loaded from {row.candidate.value!r}: {class_name(error)}: {_words(error)}", origin=origin
    )


def _words(error: BaseException) -> str:
    from trimtab.fitting.cleaning import clean_note

    try:
        return clean_note(str(error))
    except Exception:
        return "(no text)"
