"""What a turn does when the provider refuses its cursor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab.continuation.decision import DegradeToReplay
from trimtab.continuation.words import AbortCode, CursorFault
from trimtab_sdk.groups import pair_calls
from trimtab_sdk.messages import Message


@dataclass(frozen=True, slots=True)
class AbortTurn:
    """End the turn as failed. `code` is the error's, `fault` is what the provider said of the cursor."""

    code: AbortCode
    fault: CursorFault


def results_in_flight(delta: Sequence[Message]) -> bool:
    """Tell whether a request sent beside a cursor answers calls that only the provider's copy of the chat places.

    A result whose call is sent with it does not count.
    """
    return bool(pair_calls(delta).orphans)


def after_cursor_error(fault: CursorFault, *, in_flight: bool, replayed: bool) -> DegradeToReplay | AbortTurn:
    """Decide what follows when the provider refused the cursor of a call, before or after it began to answer.

    - `fault`: `cursor_expired` when the provider no longer knows the id, `cursor_invalid` when it cannot read it.
      A refusal for another reason (a call left unanswered, a window too small) is neither and does not come here.
    - `in_flight`: the refused request held tool results, as `results_in_flight` tells. Their tools have run, so
      the turn ends with `tool_result_cursor_loss` rather than run them again.
    - `replayed`: this turn has already sent the whole history again after a refused cursor. There is one such
      replay a turn; a second loss ends it with `cursor_lost_again`.

    Otherwise the whole history is fitted and sent once, without the cursor.
    """
    if in_flight:
        return AbortTurn("tool_result_cursor_loss", fault)
    if replayed:
        return AbortTurn("cursor_lost_again", fault)
    return DegradeToReplay(fault)
