"""Dropping the events of turns that ended long ago."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trimtab.turns.machinery import LOG
from trimtab_sdk.errors import StoreUnavailableError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery

EVENT_SECONDS: Final = 600.0
"""For how long the events of a turn can be read after its end, at least."""


async def prune_events(machinery: Machinery) -> None:
    """Drop the events that are too old. Raises StoreUnavailableError."""
    now = machinery.clock()
    machinery.prune_at = now + EVENT_SECONDS
    await machinery.store.prune_events(ended_before=now - EVENT_SECONDS)


async def prune_if_due(machinery: Machinery) -> None:
    """Drop the events that are too old, unless that was done within the last ten minutes."""
    if machinery.clock() < machinery.prune_at:
        return
    try:
        await prune_events(machinery)
    except StoreUnavailableError as error:
        LOG.warning("old events could not be dropped yet: %s", error)
