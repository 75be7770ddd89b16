"""Loading drivers (codecs, tokenizers, providers, embedders) with stevedore, from vetted entries only."""

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
    candidate = row.candidate
    entry = importlib.metadata.EntryPoint(candidate.name, candidate.value, candidate.group)
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise _load_error(row, error) from error


def load_driver(row: Installed) -> object:
    """Give an instance of the driver a vetted entry names; an instance in the entry is taken as it is.

    Errors of the sdk that the driver raises while it is made, such as TokenizerUnavailableError, pass
    through; anything else becomes a PluginLoadError.
    """
    try:
        driver = _manager(row.candidate).driver
        return driver() if isinstance(driver, type) else driver
    except TrimtabError:
        raise
    except (Exception, SystemExit) as error:
        raise _load_error(row, error) from error


def _manager(candidate: Candidate) -> DriverManager[object]:
    from stevedore import DriverManager

    vetted = importlib.metadata.EntryPoint(candidate.name, candidate.value, candidate.group)

    class VettedDriver(DriverManager[object]):
        """Loads the entry that was vetted, not what stevedore's on-disk cache says is installed."""

        def list_entry_points(self) -> list[importlib.metadata.EntryPoint]:
            """Give the vetted entry alone."""
            return [vetted]

    def reraise(manager: object, entry: object, error: BaseException) -> None:
        raise error

    return VettedDriver(candidate.group, candidate.name, on_load_failure_callback=reraise)


def _load_error(row: Installed, error: BaseException) -> PluginLoadError:
    origin = Origin(row.name, row.distribution, row.version)
    return PluginLoadError(
        f"could not be loaded from {row.candidate.value!r}: {type(error).__name__}: {error}", origin=origin
    )
