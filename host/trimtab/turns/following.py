"""Reading along a turn from any of its events on, wherever it runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from trimtab.store.protocol import StoredEvent
from trimtab.turns.events import ENDS, TurnPaused
from trimtab.turns.last_event import deleted, last_event
from trimtab.turns.machinery import LOG
from trimtab.turns.ring import Ring
from trimtab_sdk.errors import InvalidRequestError, NotFoundError, StoreUnavailableError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.tailing import Tail

_STORE_PAUSE = 1.0


class Following:
    """The events of a turn behind a number, each with its own, once.

        async with host.follow(turn_id, owner="ann", after=7) as events:
            async for sequence, event in events:
                ...

    It ends with the last event of the turn, or with `turn_paused` when the turn waits then. The last event is
    given in any case: when the turn's process died with events that only it knew, one is made from what is stored,
    with a greater number. A turn that was paused before is waited for. When the host stops, it ends without one.

    A reader has no room of its own: one that is slow reads again what it missed, and holds nobody up.
    Raises NotFoundError with the first event.
    """

    def __init__(self, machinery: Machinery, turn_id: str, *, owner: str, after: int = 0) -> None:
        if isinstance(after, bool) or not isinstance(after, int) or after < 0:
            raise InvalidRequestError("`after` is the number of an event, or 0", path="after")
        self._machinery = machinery
        self._turn_id = turn_id
        self._owner = owner
        self._last = after
        self._own: Ring | None = None
        self._tail: Tail | None = None
        self._is_known = False
        self._is_counted = False
        self._is_over = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes."""
        return self._is_over

    def __aiter__(self) -> AsyncIterator[tuple[int, Mapping[str, object]]]:
        return self._iterate()

    async def __aenter__(self) -> Following:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Read along no more."""
        if self._is_counted:
            self._is_counted = False
            self._leave()
        self._is_over = True
        self._own = None
        tail, self._tail = self._tail, None
        if tail is not None:
            await self._machinery.live.leave(tail)

    def _join(self) -> None:
        """Count as a reader. Only who reads does: one that is checked and never read is never closed either."""
        if not self._is_counted:
            self._is_counted = True
            self._machinery.live.readers[self._turn_id] += 1

    def _leave(self) -> None:
        readers = self._machinery.live.readers
        readers[self._turn_id] -= 1
        if not readers[self._turn_id]:
            del readers[self._turn_id]

    async def batch(self, seconds: float | None = None) -> list[StoredEvent]:
        """Give the next events, at most 128; none when it is over, or was silent for so many seconds."""
        loop = asyncio.get_running_loop()
        until = None if seconds is None else loop.time() + seconds
        while not self._is_over:
            events = await self._next(until)
            if events or (until is not None and loop.time() >= until):
                return events
        return []

    async def check(self) -> None:
        """Raise NotFoundError unless the owner has such a turn."""
        if self._is_known:
            return
        runner = self._machinery.running.get(self._turn_id)
        if runner is None:
            await self._machinery.store.get_turn(self._turn_id, owner=self._owner)
        elif runner.owner != self._owner:
            raise NotFoundError("turn", self._turn_id)
        self._is_known = True

    async def _iterate(self) -> AsyncGenerator[tuple[int, Mapping[str, object]], None]:
        try:
            while events := await self.batch():
                for event in events:
                    yield event.sequence, event.event
        finally:
            await self.aclose()

    async def _next(self, until: float | None) -> list[StoredEvent]:
        """Give events, or wait until there may be some and give none."""
        await self.check()
        self._join()
        ring = await self._ring()
        with ring.waiter() as changed:
            events = ring.after(self._last)
            if events is None:
                events = await self._missed(ring)
                return await self._given(events) if events else []
            if events:
                return await self._given(events)
            if ring.is_closed:
                return await self._at_the_end()
            if self._tail is not None:
                self._tail.want()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await changed.wait()
        return []

    async def _ring(self) -> Ring:
        """Give where to read now: the turn's own ring while it runs here, else a tail of the store."""
        runner = self._machinery.running.get(self._turn_id)
        if runner is not None and self._own is not runner.ring:
            tail, self._tail = self._tail, None
            self._own = runner.ring
            if tail is not None:
                await self._machinery.live.leave(tail)
        if self._own is not None:
            return self._own
        if self._tail is None:
            live = self._machinery.live
            self._tail = live.join(self._machinery, self._turn_id, owner=self._owner, after=self._last)
        return self._tail.ring

    async def _missed(self, ring: Ring) -> list[StoredEvent]:
        """Read again what the ring does not hold any more."""
        live = self._machinery.live
        first = ring.first
        try:
            events = await live.page(self._machinery, self._turn_id, owner=self._owner, after=self._last)
        except StoreUnavailableError as error:
            LOG.warning("the events of turn %s cannot be read now: %s", self._turn_id, error)
            await asyncio.sleep(_STORE_PAUSE)
            return []
        except NotFoundError as error:
            return [deleted(self._turn_id, error, sequence=self._last + 1)]
        if not events:
            # They are gone for good: too old, or never stored. The rest is not to be missed for that.
            self._last = first - 1
        return events

    async def _given(self, events: Sequence[StoredEvent]) -> list[StoredEvent]:
        """Give events up to the last one of the turn."""
        end = _find(events, lambda kind: kind in ENDS)
        given = list(events if end is None else events[: end + 1])
        self._last = given[-1].sequence
        if end is not None or (given[-1].event.get("kind") == TurnPaused.kind and await self._waits()):
            await self.aclose()
        return given

    async def _waits(self) -> bool:
        """Tell whether the turn waits for results; one that was resumed meanwhile goes on."""
        store = self._machinery.store
        try:
            turn = await store.get_turn(self._turn_id, owner=self._owner)
            # It may have gone on since, and wait again: that is another pause than the one that was given.
            return turn.state == "paused" and not await store.events(
                self._turn_id, owner=self._owner, after=self._last, limit=1
            )
        except (NotFoundError, StoreUnavailableError):
            return True

    async def _at_the_end(self) -> list[StoredEvent]:
        """Give the last event to who has read everything and saw none."""
        tail = self._tail
        if tail is None:
            # It ran here and has ended, but its end is not in its ring: the store knows.
            self._own = None
            return []
        event: StoredEvent | None = None
        if tail.missing is not None:
            event = deleted(self._turn_id, tail.missing, sequence=self._last + 1)
        elif tail.turn is not None:
            try:
                event = await last_event(self._machinery.store, tail.turn, sequence=self._last + 1)
            except NotFoundError as error:
                event = deleted(self._turn_id, error, sequence=self._last + 1)
            except StoreUnavailableError as error:
                LOG.warning("the end of turn %s cannot be read now: %s", self._turn_id, error)
                await asyncio.sleep(_STORE_PAUSE)
                return []
        await self.aclose()
        return [] if event is None else [event]


def _find(events: Sequence[StoredEvent], wanted: Callable[[object], bool]) -> int | None:
    return next((at for at, one in enumerate(events) if wanted(one.event.get("kind"))), None)
