"""A turn as its caller sees it: events to iterate over, and a way to end it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from types import TracebackType

from trimtab.turns.events import TurnEvent
from trimtab.turns.running import TurnRunner


class TurnStream:
    """The events of one turn, once.

        async for event in host.turn(chat_id, "And in Bern?", owner="ann"):
            ...

    The turn begins with the first event that is asked for. Whoever stops listening before the last one ends the
    turn: it is cancelled, its connection is closed, and what had come is stored. Errors from before the turn began
    (no such chat, another turn in the way) are raised by the first event; later ones come as `turn_failed`.

    As an async context manager it waits until that is done.
    """

    def __init__(self, runner: TurnRunner) -> None:
        self._runner = runner
        self._listening: AsyncGenerator[TurnEvent, None] | None = None

    @property
    def turn_id(self) -> str:
        """The id of the turn, empty before it has begun."""
        return self._runner.turn_id

    def cancel(self) -> None:
        """Ask the turn to end. Its last event tells how it ended: it may have been completed just now."""
        self._runner.cancel()

    async def aclose(self) -> None:
        """Stop listening, and wait until the turn has ended."""
        if self._listening is not None:
            await self._listening.aclose()
        self._leave()
        await self._runner.ended()

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        if self._listening is None:
            self._listening = self._listen()
        # The generator itself is given away, so that it ends when the caller lets go of it.
        listening, self._listening = self._listening, None
        return listening

    async def __aenter__(self) -> TurnStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _listen(self) -> AsyncGenerator[TurnEvent, None]:
        self._runner.launch()
        try:
            while (event := await self._runner.channel.get()) is not None:
                yield event
        finally:
            self._leave()

    def _leave(self) -> None:
        self._runner.channel.desert()
        self._runner.cancel()
