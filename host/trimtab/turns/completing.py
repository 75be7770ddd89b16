"""What a turn that ended well leaves in the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from trimtab.continuation import (
    EMPTY_CHAIN,
    HistoryChain,
    KeepState,
    StateWrite,
    StoreEnvelope,
    TurnEnd,
    chain_history,
    decide_turn_persistence,
    log_lines,
)
from trimtab.store.protocol import KEEP, Keep, NewMessage, TurnFinish
from trimtab.turns.compacting import may_stand
from trimtab.turns.continuing import history_after
from trimtab.turns.events import TurnCompleted
from trimtab.turns.machinery import LOG
from trimtab.turns.messages import as_stored
from trimtab.turns.telling import recovered
from trimtab.usage import sum_usage
from trimtab_sdk.provider import Answer

if TYPE_CHECKING:
    from trimtab.turns.work import TurnWork


def completed(
    work: TurnWork, answer: Answer, new: tuple[NewMessage, ...], *, now: float
) -> tuple[TurnFinish, TurnCompleted]:
    """Give what to store for a turn whose answer is complete, and the event that tells it."""
    snapshot = work.the_ready.snapshot.reported(answer.usage)
    context, usage = work.the_context, sum_usage(work.usages)
    course = work.the_ready.course
    write = decide_turn_persistence(
        TurnEnd(
            turn=course.facts,
            outcome="completed",
            cursor=answer.cursor,
            history=_history_left(work, new) if answer.cursor else EMPTY_CHAIN,
        )
    )
    if work.chat.last_provider_state is not None:
        for line in log_lines(write):
            LOG.info("%s", line)
    event = TurnCompleted(
        turn_id=work.turn.id,
        finish=answer.finish,
        message_ids=(*work.message_ids, *(one.message.id for one in new)),
        snapshot=snapshot,
        steps=work.step,
    )
    finish = TurnFinish(
        turn_id=work.turn.id,
        fence=work.turn.fence,
        now=now,
        state="completed",
        messages=new,
        provider_state=_state_of(write),
        context_state=snapshot.to_dict(),
        carried=_carried(work.chat.carried, context.carried_as_stored(as_of=work.revision)),
        audit_body=work.audit,
        finish=answer.finish,
        usage=usage.to_dict() if usage is not None else None,
        edits=recovered(work.notices),
        counts=context.counted(),
    )
    return finish, event


def _history_left(work: TurnWork, new: tuple[NewMessage, ...]) -> HistoryChain:
    """Give the chain of what the cursor stands for: from a compaction on, where one stands for the rest."""
    course, context = work.the_ready.course, work.the_context
    whole = history_after(course, [one.message for one in new])
    known = context.stored | {
        one.message.id: one for one in as_stored(new, turn_id=work.turn.id, revision=work.revision + 1)
    }
    provider = context.recipe.reader.provider
    for at in range(len(whole.messages) - 1, -1, -1):
        stored = known.get(whole.messages[at].id)
        if stored is not None and may_stand(stored, known, provider):
            return chain_history(whole.messages[at:], known=whole)
    return whole


def _state_of(write: StateWrite) -> str | Keep | None:
    if isinstance(write, StoreEnvelope):
        return write.stored
    return KEEP if isinstance(write, KeepState) else None


def _carried(
    before: Mapping[str, object] | None, now: Mapping[str, object] | None
) -> Mapping[str, object] | Keep | None:
    """Give the edit to store; one that says the same as the stored one is left alone, for it holds on."""
    if before is None or now is None:
        return KEEP if before is now else now
    same = {**before, "asOf": None} == {**now, "asOf": None}
    return KEEP if same else now
