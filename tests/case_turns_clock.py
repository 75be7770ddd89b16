"""The clock that a case goes by: hosts and servers alike."""

from __future__ import annotations

from datetime import datetime

from fakes.interactions_store import HandClock

NOON = 1_800_000_000.0


class Clock(HandClock):
    """Stands still unless a case moves it, so that all that is stored is of the same time."""

    def __init__(self) -> None:
        super().__init__(NOON)

    def set(self, moment: str) -> None:
        """Set it to a time such as `2026-11-30T10:00:05.402Z`."""
        self.now = datetime.fromisoformat(moment).timestamp()
