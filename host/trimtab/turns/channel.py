"""The way of a turn's events from the task that runs it to whoever listens."""

from __future__ import annotations

import asyncio

from trimtab.turns.events import TurnEvent

_ROOM = 256


class Channel:
    """Events in order, with an end. A slow listener slows the turn down; nothing piles up.

    Once nobody listens any more, events go nowhere and nobody waits.
    """

    def __init__(self) -> None:
        self._queue: asyncio.Queue[TurnEvent | BaseException | None] = asyncio.Queue(_ROOM)
        self._deserted = asyncio.Event()

    async def put(self, event: TurnEvent) -> None:
        """Hand over an event, once there is room."""
        await self._put(event)

    async def end(self, error: BaseException | None = None) -> None:
        """Hand over the end; `error` is raised at the listener's."""
        await self._put(error)

    def desert(self) -> None:
        """Say that nobody listens any more; a listener that still waits gets the end."""
        self._deserted.set()
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def get(self) -> TurnEvent | None:
        """Give the next event, None at the end. Raises the error that ended the turn before it began."""
        item = await self._queue.get()
        if isinstance(item, BaseException):
            raise item
        return item

    async def _put(self, item: TurnEvent | BaseException | None) -> None:
        if self._deserted.is_set():
            return
        try:
            self._queue.put_nowait(item)
        except asyncio.QueueFull:
            await self._put_slowly(item)

    async def _put_slowly(self, item: TurnEvent | BaseException | None) -> None:
        putting = asyncio.ensure_future(self._queue.put(item))
        leaving = asyncio.ensure_future(self._deserted.wait())
        try:
            await asyncio.wait({putting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()
            leaving.cancel()
