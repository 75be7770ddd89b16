"""A turn from its first call to its end: calls to the provider, the tools in between, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from trimtab.continuation import ClearState, log_lines
from trimtab.store.protocol import KEEP, Keep, TurnFinish
from trimtab.turns.answering import answer_calls, call_provider, go_on, go_on_paused
from trimtab.turns.channel import Channel
from trimtab.turns.compacting import with_covers
from trimtab.turns.completing import completed
from trimtab.turns.continuing import Standing, loop_cursor
from trimtab.turns.events import TurnCancelled, TurnStarted
from trimtab.turns.firm import firmly
from trimtab.turns.heartbeat import Heartbeat
from trimtab.turns.holder import let_go
from trimtab.turns.machinery import LOG
from trimtab.turns.messages import calls_of, messages_of_answer, partial_answer, without_plain_wire
from trimtab.turns.pruning import prune_if_due
from trimtab.turns.ring import Ring
from trimtab.turns.telling import tell_context
from trimtab.turns.work import TurnWork
from trimtab.turns.writing import TurnWriter, failed_event
from trimtab_sdk.errors import HostStoppingError, TrimtabError, TurnLostError, TurnStepsExceededError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery


class TurnRunner:
    """Runs one turn in a task of its own. `start` begins it, in whatever way, and gives the turn in work.

    Whoever listens reads `channel`, whoever reads along `ring`. The turn ends in exactly one of completed, failed,
    cancelled and paused, and that is stored before it is told.
    """

    def __init__(self, machinery: Machinery, start: Callable[[], Awaitable[TurnWork]]) -> None:
        self.channel = Channel()
        self._machinery = machinery
        self._start = start
        self._work: TurnWork | None = None
        self._ring: Ring | None = None
        self._heartbeat: Heartbeat | None = None
        self._lost: TurnLostError | None = None
        self._task: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[str] | None = None
        self._is_cancelled = False

    @property
    def turn_id(self) -> str:
        """The id of the turn, empty before it has begun."""
        return self._work.turn.id if self._work is not None else ""

    @property
    def owner(self) -> str:
        """Whose turn it is, empty before it has begun."""
        return self._work.turn.owner if self._work is not None else ""

    @property
    def ring(self) -> Ring:
        """The latest events. Only asked once the turn has begun."""
        if self._ring is None:
            raise AssertionError("the turn has not begun")
        return self._ring

    def poke(self) -> None:
        """Let the turn look at once whether somebody wants it to end."""
        if self._heartbeat is not None:
            self._heartbeat.poke()

    async def begin(self) -> str:
        """Run with nobody listening, and give the id of the turn once it has begun.

        Raises what stands in the way of a turn. Who gives up waiting leaves the turn to itself.
        """
        self.channel.desert()
        self._begun = asyncio.get_running_loop().create_future()
        self._begun.add_done_callback(_look_at)
        self.launch()
        return await asyncio.shield(self._begun)

    def launch(self) -> None:
        """Start the task; does nothing when it was started."""
        if self._task is None:
            self._machinery.live.runners.add(self)
            self._task = asyncio.create_task(self._run(), name="trimtab-turn")
            self._machinery.tasks.add(self._task)
            self._task.add_done_callback(self._machinery.tasks.discard)

    def cancel(self) -> None:
        """Ask the turn to end as cancelled. It may have ended otherwise meanwhile.

        Asking again does nothing: what the first one made end, as a connection, ends undisturbed.
        """
        if self._task is not None and not self._is_cancelled:
            self._is_cancelled = True
            self._task.cancel()

    async def ended(self) -> None:
        """Wait until the turn has ended and that is stored."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        try:
            work, cancelled = await firmly(self._begin())
        except BaseException as error:
            self._machinery.live.runners.discard(self)
            self._tell_begun(error)
            await self.channel.end(error)
            return
        self._tell_begun()
        writer = TurnWriter(
            self._machinery, self.channel, self.ring, work, on_lost=self._lose, on_cancel=self.cancel
        )
        try:
            if cancelled:
                raise asyncio.CancelledError
            await self._run_begun(work, writer)
        except asyncio.CancelledError:
            await firmly(self._end_early(work, writer))
        except Exception as error:
            _log_failure(work.turn.id, error)
            await firmly(self._fail(work, writer, error))
        finally:
            await firmly(writer.close())
            self._machinery.running.pop(work.turn.id, None)
            self._machinery.live.runners.discard(self)
            let_go(work.turn.id)
            self.ring.close()
            await firmly(self.channel.end())
        await prune_if_due(self._machinery)

    def _tell_begun(self, error: BaseException | None = None) -> None:
        if self._begun is None:
            return
        if error is None:
            self._begun.set_result(self.turn_id)
        else:
            self._begun.set_exception(error)

    async def _begin(self) -> TurnWork:
        live = self._machinery.live
        if live.is_stopping:
            raise HostStoppingError("this host is about to stop and takes no new turns; ask another one, or later")
        live.watch(self._machinery)
        self._work = await self._start()
        self._ring = Ring(next=self._work.first_event)
        self._machinery.running[self._work.turn.id] = self
        return self._work

    async def _run_begun(self, work: TurnWork, writer: TurnWriter) -> None:
        await writer.tell(_started(work))
        if work.failure is not None:
            await writer.keep(work.arrived)
            raise work.failure
        machinery = self._machinery
        self._heartbeat = Heartbeat(
            machinery.store,
            work.turn.id,
            work.turn.fence,
            clock=machinery.clock,
            on_lost=self._lose,
            on_cancel=self.cancel,
            seconds=machinery.lease_seconds,
        )
        async with self._heartbeat:
            if work.arrived:
                await go_on(machinery, work, writer, work.arrived)
            while await self._step(work, writer):
                pass

    async def _step(self, work: TurnWork, writer: TurnWriter) -> bool:
        """Make one call and what follows it; tell whether another one comes."""
        await tell_context(work, writer, work.the_ready)
        answer = await call_provider(self._machinery, work, writer)
        reader = work.the_context.recipe.reader
        said = messages_of_answer(answer, reader)
        if (bound := work.the_context.bound) is not None:
            said = await self._machinery.in_pool(bound.with_prefixes, said, work.the_ready.call)
        told = without_plain_wire(said, reader.codec)
        new = with_covers(told, work.the_ready.course.facts.history.messages, work.the_context.stored)
        work.calls += calls_of(new)
        if not work.calls and answer.finish != "pause":
            finish, event = completed(work, answer, new, now=self._machinery.clock())
            await writer.end(finish, event)
            return False
        if work.step >= work.settings.max_steps:
            raise _too_many_steps(work)
        await writer.keep(new)
        work.text = ""
        work.standing = Standing(loop=loop_cursor(work.the_ready.course, answer, [one.message for one in new]))
        if answer.finish == "pause":
            await go_on_paused(self._machinery, work, writer, answer, new)
            return True
        calls, work.calls = tuple(work.calls), []
        return await answer_calls(self._machinery, work, writer, calls)

    async def _end_early(self, work: TurnWork, writer: TurnWriter) -> None:
        """End a turn whose task was cancelled: because somebody wanted that, or because its lease is gone.

        One that was stored as over or paused just before stays as it is.
        """
        if writer.has_ended:
            return
        if self._lost is not None:
            await self._fail(work, writer, self._lost)
            return
        new = partial_answer(work.text)
        ids = (*work.message_ids, *(one.message.id for one in new))
        finish = TurnFinish(
            turn_id=work.turn.id,
            fence=work.turn.fence,
            now=self._machinery.clock(),
            state="cancelled",
            messages=new,
            provider_state=_state_left(work),
            audit_body=work.audit,
        )
        await writer.end(finish, TurnCancelled(turn_id=work.turn.id, message_ids=ids))

    async def _fail(self, work: TurnWork, writer: TurnWriter, error: Exception) -> None:
        event = failed_event(work.turn.id, error)
        finish = TurnFinish(
            turn_id=work.turn.id,
            fence=work.turn.fence,
            now=self._machinery.clock(),
            state="failed",
            provider_state=_state_left(work),
            audit_body=work.audit,
            error={"code": event.code, "message": event.message, "details": dict(event.details)},
            partial=work.text,
        )
        await writer.end(finish, event)

    def _lose(self, error: TurnLostError) -> None:
        self._lost = error
        self.cancel()


def _look_at(begun: asyncio.Future[str]) -> None:
    """Take notice of an error that nobody waits for any more."""
    if not begun.cancelled():
        begun.exception()


def _state_left(work: TurnWork) -> Keep | None:
    """Give what a turn that did not end well writes as the chat's `lastProviderState`."""
    if not work.cursor_spent:
        return KEEP
    for line in log_lines(ClearState("cursor_spent")):
        LOG.info("%s", line)
    return None


def _started(work: TurnWork) -> TurnStarted:
    turn = work.turn
    return TurnStarted(
        turn_id=turn.id,
        chat_id=turn.chat_id,
        generation_id=turn.generation_id,
        provider=work.settings.provider,
        model=work.settings.model,
        input_ids=turn.input_ids,
    )


def _too_many_steps(work: TurnWork) -> TurnStepsExceededError:
    return TurnStepsExceededError(
        f"the model still called tools after {work.step} calls; raise max_steps, or see what it is after",
        chat_id=work.turn.chat_id,
        turn_id=work.turn.id,
    )


def _log_failure(turn_id: str, error: Exception) -> None:
    if isinstance(error, TrimtabError):
        LOG.info("turn %s failed: %s", turn_id, error.code)
    else:
        LOG.error("turn %s failed", turn_id, exc_info=error)
