"""Who takes down what a call to a provider brings: a turn's writer stores it, a generation hands it on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from trimtab.store.protocol import JsonObject, NewMessage
from trimtab.turns.events import TurnEvent


class Recorder(Protocol):
    """Takes down events and messages."""

    async def tell(self, event: TurnEvent) -> None:
        """Hand an event to those who listen."""
        ...

    async def keep(self, new: Sequence[NewMessage], *, audit: JsonObject | None = None) -> None:
        """Take in messages of the running answer, firmly."""
        ...
