"""One step of a turn: the call to the provider, and the tools that its answer calls."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from trimtab.audit import with_call, with_remarks
from trimtab.continuation import THREADS
from trimtab.store.protocol import NewMessage
from trimtab.turns.continuing import history_after
from trimtab.turns.events import PendingCall, ToolResultReady, TurnPaused
from trimtab.turns.falling_back import fall_back
from trimtab.turns.generation import Generation, Ready, ready_call
from trimtab.turns.granting import grant
from trimtab.turns.messages import as_stored, result_message
from trimtab.turns.recovering import recover_call
from trimtab.turns.requesting import prepare
from trimtab.turns.targets import Target
from trimtab.turns.telling import note_degradation
from trimtab.turns.tool_context import ToolContext
from trimtab.turns.tool_results import shares, shorten_result
from trimtab.turns.tool_running import run_calls
from trimtab.turns.work import TurnWork
from trimtab.turns.writing import TurnWriter
from trimtab_sdk.errors import ProviderError
from trimtab_sdk.messages import Message, ToolCall, ToolResult, plain_text
from trimtab_sdk.provider import Answer, TextDelta

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.recorder import Recorder

_TOLD_CHARACTERS = 20_000


async def call_provider(machinery: Machinery, work: TurnWork, writer: Recorder) -> Answer:
    """Make the call that is ready, tell what comes, and give the answer.

    A call that is refused for its cursor or for stale reasoning is made once more without it, one that meets an
    outage with the next model of the chat's list. The text so far
    stands in `work.text`, what the calls came to in `work.audit`. Raises ProviderError and CursorLostError.
    """
    while True:
        try:
            return await _call(machinery, work, writer)
        except ProviderError as error:
            if _asks_for_new_key(machinery, work, error) or await fall_back(machinery, work, writer, error):
                continue
            await recover_call(machinery, work, writer, error)


def _asks_for_new_key(machinery: Machinery, work: TurnWork, error: ProviderError) -> bool:
    """Tell whether the host app is to hand out a new key: once a turn, when the one it gave was refused."""
    own = work.the_context.recipe.target.name in machinery.credentials
    if not own or work.has_new_key or error.code != "PROVIDER_AUTHENTICATION":
        return False
    work.has_new_key = work.wants_new_key = True
    return True


async def _call(machinery: Machinery, work: TurnWork, writer: Recorder) -> Answer:
    ready = work.the_ready
    target, prepared = work.the_context.recipe.target, ready.prepared
    credentials = machinery.credentials.get(target.name)
    if credentials is not None and prepared is not None:
        refresh, work.wants_new_key = work.wants_new_key, False
        target, prepared = await grant(target, prepared, credentials, refresh=refresh)
    work.has_begun_answer = False
    was_spent, work.cursor_spent = work.cursor_spent, work.cursor_spent or _is_spent_by(ready, target)
    started = machinery.clock()
    answer: Answer | None = None
    error_code = ""
    try:
        async with aclosing(machinery.transport.stream(target, ready.call, prepared)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    # The stream ends by itself now, and its connection is free for the next call.
                    answer = event
                    continue
                work.has_begun_answer = True
                if isinstance(event, TextDelta):
                    work.text += event.text
                await writer.tell(event)
    except ProviderError as error:
        error_code = error.code
        if not work.has_begun_answer and error.status is not None and 400 <= error.status < 500:
            work.cursor_spent = was_spent
        raise
    finally:
        _note_call(machinery, work, ready, answer, error_code, seconds=machinery.clock() - started)
    if answer is None:
        raise AssertionError("a stream of the transport ends with an answer or an error")
    return answer


def _is_spent_by(ready: Ready, target: Target) -> bool:
    """Tell whether a call uses up its cursor, unless it is refused: that of a thread can be used once."""
    return target.mode == THREADS and ready.call.cursor is not None


def _note_call(
    machinery: Machinery, work: TurnWork, ready: Ready, answer: Answer | None, error_code: str, *, seconds: float
) -> None:
    usage = answer.usage if answer is not None else None
    estimated = ready.snapshot.estimated_input_tokens
    if usage is not None:
        work.usages.append(usage)
        machinery.ratios.count(work.settings.provider, usage)
        machinery.ratios.add(
            work.settings.provider, work.settings.model, reported=usage.input_tokens, estimated=estimated
        )
    work.audit = with_call(
        with_remarks(ready.audit, answer.remarks if answer is not None else ()),
        step=work.step,
        estimated=estimated,
        usage=usage,
        finish=answer.finish if answer is not None else None,
        milliseconds=round(seconds * 1000, 1),
        error_code=error_code,
    )


async def answer_calls(
    machinery: Machinery, work: TurnWork, writer: TurnWriter, calls: Sequence[ToolCall]
) -> bool:
    """Run the tools an answer calls and make the next call ready; tell whether it can be made.

    It cannot while the caller has to run some of them: the turn is paused then.
    """
    client = {tool.name for tool in work.client_tools}
    own = [call for call in calls if call.name not in client]
    pending = [call for call in calls if call.name in client]
    results = await _run_tools(machinery, work, writer, own) if own else ()
    new = await machinery.in_pool(results_to_keep, work, results)
    if not pending:
        await go_on(machinery, work, writer, new)
        return True
    await _pause(work, writer, new, pending)
    return False


async def go_on(machinery: Machinery, work: TurnWork, writer: Recorder, new: Sequence[NewMessage]) -> None:
    """Make the next call ready and store the results it answers with its audit.

    The results are stored also when the call cannot be made: their tools have run.
    """
    generation = Generation(
        generation_id=work.turn.generation_id,
        chat_id=work.turn.chat_id,
        turn_id=work.turn.id,
        now=machinery.clock(),
        step=work.step + 1,
        previous=work.audit,
    )
    ready: Ready | None = None
    notice: tuple[NewMessage, ...] = ()
    try:
        ready = await machinery.in_pool(_next_call, work, new, generation)
        notice, noted = note_degradation(ready.course.decision, work.settings, noted=work.notices)
    finally:
        await writer.keep((*new, *notice), audit=ready.audit if ready is not None else None)
    work.notices |= noted
    work.step += 1
    work.ready, work.audit = ready, ready.audit


async def go_on_paused(
    machinery: Machinery, work: TurnWork, writer: Recorder, answer: Answer, new: Sequence[NewMessage]
) -> None:
    """Go on with an answer that paused; its messages `new` are stored.

    With a token to go on, the same prompt is sent again; else the answer so far is sent back.
    """
    if answer.resume is None:
        await go_on(machinery, work, writer, ())
        return
    ready = work.the_ready
    call = replace(ready.call, resume=answer.resume, cursor=answer.cursor or ready.call.cursor)
    prepared = await machinery.in_pool(prepare, work.the_context.recipe.target, call)
    history = history_after(ready.course, [one.message for one in new])
    course = replace(ready.course, facts=replace(ready.course.facts, history=history))
    work.step += 1
    work.ready = replace(ready, call=call, prepared=prepared, course=course, audit=work.audit or ready.audit)


def _next_call(work: TurnWork, new: Sequence[NewMessage], generation: Generation) -> Ready:
    context = work.the_context
    fresh = [one for one in work.messages if one.message.id not in context.stored]
    context.extend((*fresh, *as_stored(new, turn_id=work.turn.id)), running=work.turn.id)
    return ready_call(context, work.standing, generation)


async def _run_tools(
    machinery: Machinery, work: TurnWork, writer: TurnWriter, calls: Sequence[ToolCall]
) -> tuple[ToolResult, ...]:
    context = ToolContext(chat_id=work.turn.chat_id, turn_id=work.turn.id, owner=work.turn.owner)
    results: dict[int, ToolResult] = {}
    # A model may name a tool that this chat must not use.
    allowed = work.settings.tools
    box = machinery.tools if allowed is None else machinery.tools.only(allowed)
    async with aclosing(run_calls(calls, box, context=context, limits=machinery.tool_limits)) as outcomes:
        async for at, outcome in outcomes:
            results[at] = outcome.result
            await writer.tell(
                ToolResultReady(
                    call_id=outcome.call.call_id,
                    name=outcome.call.name,
                    text=plain_text(Message("", "tool", (outcome.result,)))[:_TOLD_CHARACTERS],
                    is_error=outcome.result.is_error,
                    error_code=outcome.error_code,
                    seconds=outcome.seconds,
                )
            )
    return tuple(results[at] for at in range(len(calls)))


def results_to_keep(work: TurnWork, results: Sequence[ToolResult]) -> tuple[NewMessage, ...]:
    """Give the messages of results. Those over their share are shortened; the whole text is stored beside them."""
    setup = work.the_context.recipe.setup
    count = setup.counter.text
    allowed = shares(
        results,
        budget_tokens=setup.budget.available,
        share=work.settings.context_settings.tool_result_share,
        count=count,
    )
    kept = (
        shorten_result(result, share_tokens=tokens, count=count)
        for result, tokens in zip(results, allowed, strict=True)
    )
    return tuple(result_message(result, full=full) for result, full in kept)


async def _pause(
    work: TurnWork, writer: TurnWriter, new: Sequence[NewMessage], pending: Sequence[ToolCall]
) -> None:
    waiting = tuple(
        PendingCall(call_id=call.call_id, name=call.name, arguments=call.arguments) for call in pending
    )
    loop = work.standing.loop
    state = {
        "step": work.step,
        "pending": [call.to_dict() for call in waiting],
        "audit": work.audit,
        "nextEvent": writer.next_event + 1,
        "messageIds": [*work.message_ids, *(one.message.id for one in new)],
        "notices": sorted(work.notices),
        "loop": None if loop is None else {"cursor": loop.cursor, "historyHash": loop.history_hash},
    }
    await writer.keep(new, loop_state=state, told=TurnPaused(turn_id=work.turn.id, pending=waiting))
