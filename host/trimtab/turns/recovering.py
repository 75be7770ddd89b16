"""What a turn does when the provider refuses a call that can be made otherwise: once without its cursor, once
without reasoning that is stale, once with nothing kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trimtab.turns.context import ChatContext, open_context
from trimtab.turns.continuing import Standing, after_refused_cursor
from trimtab.turns.generation import Generation, ready_call
from trimtab.turns.recipe import with_stale, without_keeping
from trimtab.turns.telling import note_degradation, tell_context
from trimtab_sdk.errors import CursorLostError, ProviderError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery
    from trimtab.turns.recorder import Recorder
    from trimtab.turns.work import TurnWork


async def recover_call(machinery: Machinery, work: TurnWork, writer: Recorder, error: ProviderError) -> None:
    """Make another call ready in place of the refused one.

    Raises the error itself where nothing else can be tried, and CursorLostError when the turn has to end.
    """
    standing = _other_standing(work, error)
    if standing is None:
        raise error
    generation = Generation(
        generation_id=work.turn.generation_id,
        chat_id=work.turn.chat_id,
        turn_id=work.turn.id,
        now=machinery.clock(),
        step=work.step,
        previous=work.audit,
    )
    context = work.the_context
    # What came of an answer before it paused is not held by anybody else now.
    context.extend([one for one in work.messages if one.message.id not in context.stored], running=work.turn.id)
    if error.fault.unkept:
        machinery.note_unkept(work.chat.id, context.recipe.target.name)
        context.recipe = without_keeping(context.recipe)
    if error.fault.stale_reasoning:
        context = await machinery.in_pool(_without_stale, machinery, work, context)
        work.context = context
    ready = await machinery.in_pool(ready_call, context, standing, generation)
    work.standing, work.ready, work.audit, work.text = standing, ready, ready.audit, ""
    notice, noted = note_degradation(ready.course.decision, work.settings, noted=work.notices)
    work.notices |= noted
    await writer.keep(notice, audit=ready.audit)
    await tell_context(work, writer, ready)


def _other_standing(work: TurnWork, error: ProviderError) -> Standing | None:
    fault, standing = error.fault, work.standing
    used_cursor = work.the_ready.call.cursor is not None
    if used_cursor and fault.code == "PROVIDER_CONTEXT_LENGTH":
        work.cursor_spent = True
    if used_cursor and fault.cursor is not None:
        return _without_cursor(work, error)
    if fault.unkept and work.the_ready.call.keep:
        return _unkept(work)
    if fault.stale_reasoning and not work.the_context.recipe.reader.stale_until:
        return standing
    return None


def _unkept(work: TurnWork) -> Standing:
    """Tell how a turn goes on with nothing kept; a cursor that was there is of no use then."""
    if work.the_ready.call.cursor is None:
        return Standing(is_fallback=work.standing.is_fallback)
    work.cursor_spent = True
    return replace(work.standing, loop=None, refused="cursor_invalid")


def _without_stale(machinery: Machinery, work: TurnWork, context: ChatContext) -> ChatContext:
    """Read the chat again, all answers so far as if somebody else had written them; so do the turns after this."""
    stored = [*context.stored.values()]
    until = stored[-1].message.id if stored else ""
    machinery.note_stale(work.chat.id, context.recipe.target.name, until)
    recipe = with_stale(context.recipe, until)
    return open_context(recipe, work.chat, stored, running=work.turn.id)


def _without_cursor(work: TurnWork, error: ProviderError) -> Standing:
    fault = error.fault.cursor
    assert fault is not None
    work.cursor_spent = True
    try:
        decision = after_refused_cursor(
            work.the_ready.course,
            fault,
            replayed=work.standing.refused is not None,
            chat_id=work.turn.chat_id,
            turn_id=work.turn.id,
        )
    except CursorLostError as lost:
        raise lost from error
    assert decision.reason in ("cursor_expired", "cursor_invalid")
    return replace(work.standing, loop=None, refused=fault)
