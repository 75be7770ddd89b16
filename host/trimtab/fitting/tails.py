"""How a conversation ends, seen from the part of it that is still in play."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_sdk.messages import Message
from trimtab_sdk.protection import Tail, tail_of


def tail_in_play(whole: Sequence[Message], active: Sequence[Message]) -> Tail:
    """Give the tail of a whole conversation, as positions in `active`, which is the whole with some left out."""
    tail = tail_of(whole)
    wanted = {whole[at].id for at in (*tail.inputs, *tail.results, *tail.unanswered)}
    positions = _positions(active, wanted)

    def of(places: Sequence[int]) -> tuple[int, ...]:
        return tuple(positions[whole[at].id] for at in places if whole[at].id in positions)

    return Tail(of(tail.inputs), of(tail.results), of(tail.unanswered))


def _positions(messages: Sequence[Message], wanted: set[str]) -> dict[str, int]:
    """Find messages, looking from the end."""
    positions: dict[str, int] = {}
    for at in range(len(messages) - 1, -1, -1):
        if len(positions) == len(wanted):
            break
        if messages[at].id in wanted:
            positions[messages[at].id] = at
    return positions
