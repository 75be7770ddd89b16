"""What a running turn writes: events for those who listen, messages and its end for the store."""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from trimtab.store.protocol import Audit, JsonObject, NewMessage, TurnFinish, TurnStep
from trimtab.turns.channel import Channel
from trimtab.turns.codes import normalize_error
from trimtab.turns.event_log import EventLog
from trimtab.turns.events import TurnEvent, TurnFailed
from trimtab.turns.firm import firmly
from trimtab.turns.holding import hold_after
from trimtab.turns.machinery import LOG
from trimtab.turns.messages import as_stored
from trimtab.turns.work import TurnWork
from trimtab_sdk.errors import StoreUnavailableError, TurnLostError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery

_FINISH_PAUSES = (0.2, 1.0)


class TurnWriter:
    """Writes for one turn. What is stored of `work` is changed here and nowhere else."""

    def __init__(self, machinery: Machinery, channel: Channel, work: TurnWork, *, first_event: int = 1) -> None:
        self._machinery = machinery
        self._channel = channel
        self._work = work
        self._log = EventLog(first=first_event)
        self._has_ended = False

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
        self._log.add(event, now=self._machinery.clock())
        await self._channel.put(event)
        if self._log.is_due(self._machinery.clock()):
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
        work, now = self._work, self._machinery.clock()
        if told is not None:
            self._log.add(told, now=now)
        step = TurnStep(
            turn_id=work.turn.id,
            fence=work.turn.fence,
            now=now,
            messages=tuple(new),
            audit=Audit(generation_id=work.turn.generation_id, body=audit) if audit is not None else None,
            loop_state=loop_state,
            lease_until=now + self._machinery.lease_seconds,
            events=self._log.take(),
        )
        seqs = await self._machinery.store.step_turn(step)
        self._has_ended = loop_state is not None
        work.revision += bool(new)
        work.messages += as_stored(new, seqs=seqs, turn_id=work.turn.id, revision=work.revision, now=now)
        if told is not None:
            await self._channel.put(told)

    async def end(self, finish: TurnFinish, event: TurnEvent) -> None:
        """Store the end of the turn, firmly, then tell it. An end that cannot be stored is told as a failure."""
        await firmly(self._end(finish, event))

    async def _end(self, finish: TurnFinish, event: TurnEvent) -> None:
        work = self._work
        self._log.add(event, now=finish.now)
        try:
            seqs = await self._finish(replace(finish, events=self._log.take()))
        except (TurnLostError, StoreUnavailableError) as error:
            LOG.warning("the end of turn %s could not be stored: %s", work.turn.id, error)
            self._machinery.chats.forget(work.chat.id)
            await self._channel.put(failed_event(work.turn.id, error))
            return
        self._has_ended = True
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

    async def _write_events(self) -> None:
        try:
            await self._machinery.store.add_events(self._work.turn.id, self._log.take())
        except StoreUnavailableError as error:
            LOG.warning("events of turn %s could not be stored: %s", self._work.turn.id, error)


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
        raise CancelledError
