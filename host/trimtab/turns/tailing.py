"""Reading along a turn that runs in another process, out of the store they share."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trimtab.store.protocol import StoredEvent, StoredTurn
from trimtab.turns.ending_dead import end_if_dead
from trimtab.turns.machinery import LOG
from trimtab.turns.ring import PAGE, Ring
from trimtab_sdk.errors import NotFoundError, StoreUnavailableError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery


class Tail:
    """The end of a turn's events, read once for all who wait for more of them in this process.

    The store is only asked while somebody waits: what nobody is ready to take stays where it is. `turn` is the
    turn once it has ended and nothing more comes, `missing` the error when it was deleted.
    """

    def __init__(self, machinery: Machinery, turn_id: str, *, owner: str, after: int) -> None:
        self.turn_id = turn_id
        self.ring = Ring(next=after + 1)
        self.readers = 0
        self.turn: StoredTurn | None = None
        self.missing: NotFoundError | None = None
        self._machinery = machinery
        self._owner = owner
        self._wanted = asyncio.Event()
        self._poked = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def want(self) -> None:
        """Say that somebody waits for more."""
        self._wanted.set()
        if self._task is None and not self.ring.is_closed:
            self._task = asyncio.create_task(self._run(), name=f"trimtab-tail-{self.turn_id}")

    def poke(self) -> None:
        """Say that there may be more."""
        self._poked.set()

    def stop(self) -> None:
        """Let everybody go who waits."""
        self.ring.close()

    async def close(self) -> None:
        """End the reading."""
        self.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            while not self.ring.is_closed:
                await self._wanted.wait()
                self._wanted.clear()
                while not await self._look_safely():
                    await self._rest()
        except Exception as error:
            LOG.error("turn %s cannot be read along", self.turn_id, exc_info=error)
            self.ring.close()

    async def _rest(self) -> None:
        try:
            async with asyncio.timeout(self._machinery.live.poll_seconds):
                await self._poked.wait()
        except TimeoutError:
            return

    async def _look_safely(self) -> bool:
        self._poked.clear()
        try:
            return await self._look()
        except NotFoundError as error:
            self.missing = error
        except StoreUnavailableError as error:
            LOG.warning("the events of turn %s cannot be read now: %s", self.turn_id, error)
            await asyncio.sleep(1)
            return False
        self.ring.close()
        return True

    async def _look(self) -> bool:
        """Read what is new; tell whether there was something, or the end."""
        if self._take(await self._events()):
            return True
        store = self._machinery.store
        turn = await store.get_turn(self.turn_id, owner=self._owner)
        if await end_if_dead(self._machinery, turn):
            self._poked.set()
        if turn.state in ("running", "paused"):
            return False
        # It may have ended between the two questions, with events before its end.
        if not self._take(await self._events()):
            self.turn = turn
            self.ring.close()
        return True

    async def _events(self) -> list[StoredEvent]:
        after = self.ring.next - 1
        return await self._machinery.store.events(self.turn_id, owner=self._owner, after=after, limit=PAGE)

    def _take(self, events: list[StoredEvent]) -> bool:
        for event in events:
            self.ring.push(event)
        if events:
            self.ring.note_stored(events[-1].sequence)
        return bool(events)
