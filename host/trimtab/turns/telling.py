"""What a turn tells of its context before a call, and what it notes of a cursor that is not used."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, cast

from trimtab.continuation import (
    SENTENCES,
    ContinuationDegraded,
    ContinuationTransition,
    DegradeToReplay,
    FallbackNotice,
    log_lines,
)
from trimtab.store.protocol import EditParts, NewMessage
from trimtab.turns.events import ContextReady
from trimtab.turns.inputs import new_id
from trimtab.turns.machinery import LOG
from trimtab_sdk.messages import Message, Notice

if TYPE_CHECKING:
    from trimtab.continuation import Continuation, DegradeReason
    from trimtab.store.protocol import StoredMessage
    from trimtab.turns.generation import Ready
    from trimtab.turns.recorder import Recorder
    from trimtab.turns.settings import ChatSettings
    from trimtab.turns.work import TurnWork

Notices = dict[str, ContinuationTransition]
"""The notices of a turn by the id of their message."""


def note_degradation(
    decision: Continuation, settings: ChatSettings, *, noted: Notices | None = None
) -> tuple[tuple[NewMessage, ...], Notices]:
    """Give the message to store for the people who read the chat later, when a cursor is not used.

    A reason that is `noted` in this turn is not noted again.
    """
    if not isinstance(decision, DegradeToReplay):
        return (), {}
    if noted and decision.reason in {notice.event.reason for notice in noted.values()}:
        return (), {}
    transition = ContinuationTransition(_degraded(decision, settings))
    message = Message(new_id(), "system", (transition.as_part(),))
    return (NewMessage(message=message),), {message.id: transition}


def read_notices(stored: Sequence[StoredMessage], ids: Collection[str]) -> Notices:
    """Give the notices of a turn that goes on, from the messages that hold them."""
    wanted = (one.message for one in stored if one.message.id in ids)
    found = {message.id: _transition_of(message) for message in wanted}
    return {name: transition for name, transition in found.items() if transition is not None}


def _transition_of(message: Message) -> ContinuationTransition | None:
    part = message.parts[0] if message.parts else None
    if not isinstance(part, Notice) or part.data.get("reason") not in SENTENCES:
        return None
    reason = cast("DegradeReason", part.data["reason"])
    provider, model = str(part.data.get("provider")), str(part.data.get("modelName"))
    return ContinuationTransition(ContinuationDegraded(reason, provider, model))


def recovered(notices: Notices) -> tuple[EditParts, ...]:
    """Give what becomes of the notices of a turn that was completed after all."""
    return tuple(EditParts(name, (notice.recover().as_part(),)) for name, notice in notices.items())


async def tell_context(work: TurnWork, writer: Recorder, ready: Ready) -> None:
    """Tell how the next call carries on, and what its context is. Why a cursor is not used is told once a turn."""
    decision = ready.course.decision
    is_new = not isinstance(decision, DegradeToReplay) or decision.reason not in work.told
    for line in log_lines(decision) if is_new else ():
        LOG.info("%s", line)
    if isinstance(decision, DegradeToReplay) and is_new:
        work.told.add(decision.reason)
        degraded = _degraded(decision, work.settings)
        await writer.tell(degraded)
        await writer.tell(FallbackNotice(degraded))
    fit = ready.fit
    await writer.tell(
        ContextReady(
            step=work.step,
            snapshot=ready.snapshot,
            kept=len(fit.messages) - len(fit.inserted) - len(fit.cuts),
            excluded=len(fit.left),
            truncated=len(fit.cuts),
            inserted=len(fit.inserted),
            diagnostics=tuple(one.to_dict() for one in fit.fit.diagnostics),
        )
    )


def _degraded(decision: DegradeToReplay, settings: ChatSettings) -> ContinuationDegraded:
    return ContinuationDegraded(decision.reason, settings.provider, settings.model)
