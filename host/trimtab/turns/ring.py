"""The latest events of a turn, in memory, for everybody in this process who reads along."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from trimtab.store.protocol import StoredEvent

MOST_EVENTS = 512
MOST_CHARACTERS = 1_000_000
PAGE = 128
"""The most events that are handed out at once."""


class Ring:
    """The latest events, in order, and a way to wait for more.

    It holds at most 512 events, and about a million characters of them, but for those that are not in the store
    yet: what leaves it can be read there. Readers have no room here of their own, so a slow one costs nothing.
    `next` is the number of the next event.
    """

    def __init__(self, *, next: int) -> None:
        self.next = next
        self.is_closed = False
        self._events: deque[StoredEvent] = deque()
        self._characters = 0
        self._stored = next - 1
        self._waiting: set[asyncio.Event] = set()

    @property
    def first(self) -> int:
        """The number of the oldest event that it still holds; that of the next one when it holds none."""
        return self.next - len(self._events)

    def push(self, event: StoredEvent) -> None:
        """Take in the next event, and wake who waits."""
        if event.sequence != self.next:
            self._events.clear()
            self._characters = 0
        self._events.append(event)
        self._characters += _size(event)
        self.next = event.sequence + 1
        self._shrink()
        self.wake()

    def note_stored(self, sequence: int) -> None:
        """Say that the store has all events up to a number."""
        self._stored = max(self._stored, sequence)
        self._shrink()

    def close(self) -> None:
        """Say that nothing more comes from here."""
        self.is_closed = True
        self.wake()

    def wake(self) -> None:
        """Let everybody who waits look again."""
        for one in self._waiting:
            one.set()

    def after(self, sequence: int) -> list[StoredEvent] | None:
        """Give events behind a number, none when there are none yet; None when they have left already."""
        skipped = sequence + 1 - self.first
        if skipped < 0:
            return None
        return list(islice(self._events, skipped, skipped + PAGE))

    @contextmanager
    def waiter(self) -> Iterator[asyncio.Event]:
        """Give what is set whenever something comes, as long as the block runs."""
        one = asyncio.Event()
        self._waiting.add(one)
        try:
            yield one
        finally:
            self._waiting.discard(one)

    def _shrink(self) -> None:
        while (len(self._events) > MOST_EVENTS or self._characters > MOST_CHARACTERS) and (
            self._events[0].sequence <= self._stored
        ):
            self._characters -= _size(self._events.popleft())


def _size(event: StoredEvent) -> int:
    """Give about how many characters an event has."""
    return 200 + sum(len(value) for value in event.event.values() if isinstance(value, str))
