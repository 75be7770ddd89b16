"""What this process knows of turns that are read along: its own, and those of other processes on the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Final

from trimtab.store.protocol import StoredEvent
from trimtab.turns.firm import firmly
from trimtab.turns.holder import is_dead
from trimtab.turns.machinery import LOG
from trimtab.turns.ring import PAGE
from trimtab.turns.tailing import Tail
from trimtab_sdk.errors import StoreUnavailableError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.running import TurnRunner

NET_SECONDS: Final = 5.0
"""How often the store is asked for events although it would tell of them."""
POLL_SECONDS: Final = 0.25
"""How often a store is asked that does not tell of events."""
SWEEP_SECONDS: Final = 30.0
"""How often turns are looked for whose process is dead."""


class LiveTurns:
    """The turns that are read along in this process, and the way to hear of those that run elsewhere.

    `runners` are all turns that run in this process, also those that are just beginning; `readers` counts by turn
    who reads along here.
    """

    def __init__(self) -> None:
        self.is_stopping = False
        self._is_stopped = False
        self.runners: set[TurnRunner] = set()
        self.readers: Counter[str] = Counter()
        self._tails: dict[str, Tail] = {}
        self._pages: dict[tuple[str, int], asyncio.Task[list[StoredEvent]]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._is_told = False

    @property
    def poll_seconds(self) -> float:
        """How long to wait for word of an event before the store is asked."""
        return NET_SECONDS if self._is_told else POLL_SECONDS

    def watch(self, machinery: Machinery) -> None:
        """Hear of what other processes store from now on, and end the turns of those that die.

        Does nothing the second time.
        """
        if self._watching is None and not self.is_stopping:
            self._watching = asyncio.create_task(self._watch(machinery), name="trimtab-watch")
            self._sweeping = asyncio.create_task(_sweep(machinery), name="trimtab-sweep")
            for task in (self._watching, self._sweeping):
                task.add_done_callback(_tell_fault)

    def join(self, machinery: Machinery, turn_id: str, *, owner: str, after: int) -> Tail:
        """Read along a turn of another process; give the tail back with `leave`."""
        self.watch(machinery)
        tail = self._tails.get(turn_id)
        if tail is None:
            tail = self._tails[turn_id] = Tail(machinery, turn_id, owner=owner, after=after)
            if self._is_stopped:
                tail.stop()
        tail.readers += 1
        return tail

    async def leave(self, tail: Tail) -> None:
        """Read along no more; the last one who leaves ends the reading."""
        tail.readers -= 1
        if not tail.readers:
            if self._tails.get(tail.turn_id) is tail:
                del self._tails[tail.turn_id]
            await tail.close()

    async def page(self, machinery: Machinery, turn_id: str, *, owner: str, after: int) -> list[StoredEvent]:
        """Give stored events behind a number; who asks for the same ones meanwhile gets them from the same read.

        Raises NotFoundError and StoreUnavailableError.
        """
        key = (turn_id, after)
        reading = self._pages.get(key)
        if reading is None:
            reading = asyncio.ensure_future(machinery.store.events(turn_id, owner=owner, after=after, limit=PAGE))
            self._pages[key] = reading
            reading.add_done_callback(lambda done: self._forget_page(key, done))
        return await asyncio.shield(reading)

    def _forget_page(self, key: tuple[str, int], done: asyncio.Task[list[StoredEvent]]) -> None:
        self._pages.pop(key, None)
        if not done.cancelled():
            # Those who asked may all be gone by now.
            done.exception()

    def stop(self) -> None:
        """Take no new turns, and let everybody who reads along a turn of another process go."""
        self.is_stopping = self._is_stopped = True
        for tail in self._tails.values():
            tail.stop()

    async def close(self) -> None:
        """Let everything go."""
        self.stop()
        for tail in list(self._tails.values()):
            await tail.close()
        for task in (self._watching, self._sweeping):
            if task is not None:
                task.cancel()
                await firmly(_ended(task))
        self._watching = self._sweeping = None

    async def _watch(self, machinery: Machinery) -> None:
        def heard(turn_id: str, sequence: int) -> None:
            tail = self._tails.get(turn_id)
            if tail is not None:
                tail.poke()
            runner = machinery.running.get(turn_id)
            if runner is not None and sequence == 0:
                runner.poke()

        await machinery.store.watch(heard, self._note_connection)

    def _note_connection(self, is_told: bool) -> None:
        self._is_told = is_told
        for tail in self._tails.values():
            tail.poke()


async def _sweep(machinery: Machinery) -> None:
    """End the turns whose process is dead, again and again: nobody else may ask for them."""
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        try:
            await machinery.store.recover(now=machinery.clock(), is_dead=is_dead)
        except StoreUnavailableError as error:
            LOG.warning("turns of dead processes could not be ended yet: %s", error)


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait({task})


def _tell_fault(task: asyncio.Task[None]) -> None:
    """Log why a task of this process ended that nobody waits for."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        LOG.error("%s has ended for a fault", task.get_name(), exc_info=error)
