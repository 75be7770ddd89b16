"""A turn as somebody sees it who comes in the middle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.store.protocol import StoredEvent, StoredMessage, StoredTurn
from trimtab.turns.ending_dead import end_if_dead
from trimtab.turns.events import PendingCall
from trimtab_sdk.messages import plain_text

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery

_PAGE = 1000
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSoFar:
    """A turn and what it has said.

    - `text` is all text of the model so far, that of several steps with an empty line between them; `last_event`
      is the number of the last event in it, so that `follow` with it gives exactly the rest.
    - `message_ids` are the messages that it has stored, in order, its input first.
    - `pending` are the calls that a paused turn waits for.
    """

    turn: StoredTurn
    text: str
    last_event: int
    message_ids: tuple[str, ...]
    pending: tuple[PendingCall, ...] = ()


async def turn_so_far(machinery: Machinery, turn_id: str, *, owner: str) -> TurnSoFar:
    """Look at a turn. Raises NotFoundError and StoreUnavailableError."""
    await end_if_dead(machinery, await machinery.store.get_turn(turn_id, owner=owner))
    events = await _events(machinery, turn_id, owner=owner)
    turn = await machinery.store.get_turn(turn_id, owner=owner)
    stored = await machinery.store.turn_messages(turn_id, owner=owner)
    is_live = turn.state in ("running", "paused")
    return TurnSoFar(
        turn=turn,
        text=_told(events) if is_live else _stored(stored, turn),
        last_event=events[-1].sequence if events else 0,
        message_ids=tuple(one.message.id for one in stored),
        pending=_pending(turn),
    )


async def _events(machinery: Machinery, turn_id: str, *, owner: str) -> list[StoredEvent]:
    events: list[StoredEvent] = []
    while page := await machinery.store.events(
        turn_id, owner=owner, after=events[-1].sequence if events else 0, limit=_PAGE
    ):
        events += page
        if len(page) < _PAGE:
            break
    runner = machinery.running.get(turn_id)
    if runner is not None:
        while later := runner.ring.after(events[-1].sequence if events else 0):
            events += later
    return events


def _told(events: Iterable[StoredEvent]) -> str:
    """Give the text in events, that of each step apart."""
    steps = [""]
    for one in events:
        kind = one.event.get("kind")
        if kind == "text_delta":
            steps[-1] += str(one.event.get("text", ""))
        elif kind == "context_ready":
            steps.append("")
    return _BETWEEN.join(step for step in steps if step)


def _stored(messages: Iterable[StoredMessage], turn: StoredTurn) -> str:
    answers = [plain_text(one.message) for one in messages if one.message.role == "assistant"]
    return _BETWEEN.join(text for text in (*answers, turn.partial) if text)


def _pending(turn: StoredTurn) -> tuple[PendingCall, ...]:
    waiting = turn.loop_state.get("pending") if turn.state == "paused" and turn.loop_state is not None else None
    if not isinstance(waiting, list):
        return ()
    return tuple(_pending_call(one) for one in waiting if isinstance(one, Mapping))


def _pending_call(told: Mapping[str, object]) -> PendingCall:
    return PendingCall(
        call_id=str(told.get("callId", "")),
        name=str(told.get("name", "")),
        arguments=str(told.get("arguments", "")),
    )
