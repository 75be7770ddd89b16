"""What a running turn writes: events for those who listen, messages and its end for the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trimtab.store.protocol import Audit, JsonObject, NewMessage, StoredEvent, TurnFinish, TurnStep
from trimtab.turns.channel import Channel
from trimtab.turns.codes import normalize_error
from trimtab.turns.event_log import EventLog
from trimtab.turns.events import TurnEvent, TurnFailed
from trimtab.turns.firm import firmly
from trimtab.turns.holding import hold_after
from trimtab.turns.machinery import LOG
from trimtab.turns.messages import as_stored
from trimtab.turns.ring import Ring
from trimtab.turns.work import TurnWork
from trimtab_sdk.errors import StoreUnavailableError, TurnLostError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery

WINDOW_SECONDS = 0.04
"""For how long pieces of an answer wait for each other."""
FLUSH_SECONDS = 0.5
_FINISH_PAUSES = (0.2, 1.0)
_MOST_UNWRITTEN = 2048


class TurnWriter:
    """Writes for one turn. What is stored of `work` is changed here and nowhere else.

    `channel` gets every event as it comes; `ring` gets them numbered, pieces of an answer joined for 40 ms. The
    store gets what is numbered with whatever is written next, or half a second later. `on_lost` is called when
    the turn is found to belong to somebody else, `on_cancel` when somebody wants it to end.
    """

    def __init__(
        self,
        machinery: Machinery,
        channel: Channel,
        ring: Ring,
        work: TurnWork,
        *,
        on_lost: Callable[[TurnLostError], None],
        on_cancel: Callable[[], None],
    ) -> None:
        self._machinery = machinery
        self._channel = channel
        self._ring = ring
        self._work = work
        self._on_lost = on_lost
        self._on_cancel = on_cancel
        self._log = EventLog(first=work.first_event)
        self._has_ended = False
        self._writing = asyncio.Lock()
        self._window: asyncio.TimerHandle | None = None
        self._flush: asyncio.Task[None] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the turn is over or waits, and that is stored: nothing more is to be written."""
        return self._has_ended

    @property
    def next_event(self) -> int:
        """The number that the next stored event gets."""
        return self._log.next

    async def tell(self, event: TurnEvent) -> None:
        """Hand an event to those who listen. It is stored with what is written next, or half a second later."""
        self._publish(self._log.add(event))
        if self._window is None:
            # The first piece is told at once; those that follow it closely wait for each other.
            self._close_window()
        await self._channel.put(event)
        if self._log.unwritten > _MOST_UNWRITTEN:
            await self._write_events()

    async def keep(
        self,
        new: Sequence[NewMessage],
        *,
        audit: JsonObject | None = None,
        loop_state: JsonObject | None = None,
        told: TurnEvent | None = None,
    ) -> None:
        """Store messages of the running turn, firmly; with a `loop_state` the turn is paused.

        `told` is an event that is stored in the same transaction and handed out once that is done.
        """
        if new or audit is not None or loop_state is not None:
            await _finished(self._keep(new, audit, loop_state, told))

    async def _keep(
        self,
        new: Sequence[NewMessage],
        audit: JsonObject | None,
        loop_state: JsonObject | None,
        told: TurnEvent | None,
    ) -> None:
        work = self._work
        async with self._writing:
            last = self._number_last(told)
            now = self._machinery.clock()
            events = self._log.take()
            step = TurnStep(
                turn_id=work.turn.id,
                fence=work.turn.fence,
                now=now,
                messages=tuple(new),
                audit=Audit(generation_id=work.turn.generation_id, body=audit) if audit is not None else None,
                loop_state=loop_state,
                lease_until=now + self._machinery.lease_seconds,
                events=events,
            )
            try:
                seqs = await self._machinery.store.step_turn(step)
            except BaseException:
                self._give_up(events, last)
                raise
            self._has_ended = loop_state is not None
            self._note_stored(events, last)
        work.revision += bool(new)
        work.messages += as_stored(new, seqs=seqs, turn_id=work.turn.id, revision=work.revision, now=now)
        if told is not None:
            await self._channel.put(told)

    async def end(self, finish: TurnFinish, event: TurnEvent) -> None:
        """Store the end of the turn, firmly, then tell it. An end that cannot be stored is told as a failure."""
        await firmly(self._end(finish, event))

    async def close(self) -> None:
        """Stop writing by the clock."""
        if self._window is not None:
            self._window.cancel()
        if self._flush is not None:
            self._flush.cancel()
            await asyncio.gather(self._flush, return_exceptions=True)

    async def _end(self, finish: TurnFinish, event: TurnEvent) -> None:
        work = self._work
        async with self._writing:
            last = self._number_last(event)
            events = self._log.take()
            try:
                seqs = await self._finish(replace(finish, events=events))
            except (TurnLostError, StoreUnavailableError) as error:
                LOG.warning("the end of turn %s could not be stored: %s", work.turn.id, error)
                self._machinery.chats.forget(work.chat.id)
                self._give_up(events, last)
                failed = failed_event(work.turn.id, error)
                self._publish(self._log.add(failed))
                await self._channel.put(failed)
                return
            self._has_ended = True
            self._note_stored(events, last)
        work.revision += 1
        work.messages += as_stored(
            finish.messages, seqs=seqs, turn_id=work.turn.id, revision=work.revision, now=finish.now
        )
        hold_after(self._machinery.chats, work, completed=finish.state == "completed")
        await self._channel.put(event)

    async def _finish(self, finish: TurnFinish) -> tuple[int, ...]:
        for pause in _FINISH_PAUSES:
            try:
                return await self._machinery.store.finish_turn(finish)
            except StoreUnavailableError as error:
                LOG.warning("the end of turn %s could not be stored yet: %s", finish.turn_id, error)
                await self._machinery.sleep(pause)
        return await self._machinery.store.finish_turn(finish)

    def _publish(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            self._ring.push(event)
        if events and self._flush is None:
            self._flush = asyncio.create_task(self._flush_later(), name="trimtab-turn-events")

    def _number_last(self, event: TurnEvent | None) -> StoredEvent | None:
        """Number an event that is told only once it is stored; what waits before it is told now."""
        if event is None:
            self._publish(self._log.cut())
            return None
        *before, last = self._log.add(event)
        self._publish(before)
        return last

    def _note_stored(self, events: Sequence[StoredEvent], last: StoredEvent | None) -> None:
        if last is not None:
            self._ring.push(last)
        if events:
            self._ring.note_stored(events[-1].sequence)

    def _give_up(self, events: Sequence[StoredEvent], last: StoredEvent | None) -> None:
        """Take back events that could not be stored; the last one has not happened."""
        self._log.put_back([event for event in events if event is not last])
        if last is not None:
            self._log.take_back(last)

    def _open_window(self) -> None:
        self._window = asyncio.get_running_loop().call_later(WINDOW_SECONDS, self._close_window)

    def _close_window(self) -> None:
        self._window = None
        cut = self._log.cut()
        if cut:
            self._publish(cut)
            self._open_window()

    async def _flush_later(self) -> None:
        try:
            while self._log.unwritten:
                await asyncio.sleep(FLUSH_SECONDS)
                await self._write_events()
        except Exception as error:
            # The next event begins another flush; they are put back, and written with the next step at the latest.
            LOG.error("events of turn %s could not be stored yet: %s", self._work.turn.id, error, exc_info=error)
        finally:
            self._flush = None

    async def _write_events(self) -> None:
        turn = self._work.turn
        async with self._writing:
            events = self._log.take()
            if not events or self._has_ended:
                return
            try:
                wants_end = await self._machinery.store.add_events(turn.id, events, fence=turn.fence)
            except TurnLostError as error:
                self._on_lost(error)
                return
            except BaseException as error:
                self._log.put_back(events)
                if not isinstance(error, StoreUnavailableError):
                    raise
                LOG.warning("events of turn %s could not be stored yet: %s", turn.id, error)
                return
            self._ring.note_stored(events[-1].sequence)
        if wants_end:
            self._on_cancel()


def failed_event(turn_id: str, error: BaseException) -> TurnFailed:
    """Give the event for a turn that ends with an error."""
    told = normalize_error(error)
    return TurnFailed(
        turn_id=turn_id,
        code=told.code,
        message=told.message,
        details=told.details,
        retryable=told.retryable,
    )


async def _finished(work: Coroutine[object, object, None]) -> None:
    """Await some work to its end, and then end with it when this task was to be cancelled meanwhile."""
    _, cancelled = await firmly(work)
    if cancelled:
        raise asyncio.CancelledError
