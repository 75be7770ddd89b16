"""Ending a turn from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.store.protocol import StoredEvent, StoredTurn, TurnFinish
from trimtab.turns.event_log import EventLog
from trimtab.turns.events import TurnCancelled
from trimtab.turns.resuming import read_loop_state
from trimtab_sdk.errors import TurnLostError, TurnStateError

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery


async def cancel_turn(machinery: Machinery, turn_id: str, *, owner: str) -> StoredTurn:
    """End a turn: one of this process now, a paused one now, one of another process through the store.

    Raises NotFoundError.
    """
    turn = await machinery.store.request_cancel(turn_id, owner=owner)
    runner = machinery.running.get(turn_id)
    if runner is not None:
        runner.cancel()
        await runner.ended()
        turn = await machinery.store.get_turn(turn_id, owner=owner)
    if turn.state == "paused":
        await _end_paused(machinery, turn)
    return await machinery.store.get_turn(turn_id, owner=owner)


async def _end_paused(machinery: Machinery, turn: StoredTurn) -> None:
    now = machinery.clock()
    events = _last_event(turn)
    finish = TurnFinish(turn_id=turn.id, fence=turn.fence, now=now, state="cancelled", events=events)
    try:
        await machinery.store.finish_turn(finish)
    except TurnLostError:
        # Somebody resumed or ended it between our two transactions; the request to cancel stands in the store.
        return


def _last_event(turn: StoredTurn) -> tuple[StoredEvent, ...]:
    """Give the event of the end; none where nobody can tell its number any more."""
    try:
        loop = read_loop_state(turn)
    except TurnStateError:
        return ()
    log = EventLog(first=loop.next_event)
    log.add(TurnCancelled(turn_id=turn.id, message_ids=loop.message_ids))
    return log.take()
