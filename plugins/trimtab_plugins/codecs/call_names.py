"""Ids of calls that stand twice in a conversation, for a wire on which each may stand once.

Servers that number their calls give the same ids again in the next answer, and two providers may give the same.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.reading import shown
from trimtab_sdk import Message, Part, Place, Repair, ToolCall, ToolResult, pair_calls

_LONGEST = 56


def tell_calls_apart(
    messages: Sequence[Message], known: Container[str]
) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
    """Rename calls of other formats, each with its result, whose id another call has; `known` ones keep theirs."""
    calls = list(_calls(messages))
    if len({call.call_id for _, call in calls}) == len(calls):
        return tuple(messages), ()
    taken = {call.call_id for (at, _), call in calls if messages[at].id in known}
    result_of = {call: result for result, call in pair_calls(messages).call_of.items()}
    changes: dict[Place, str] = {}
    repairs: list[Repair] = []
    for place, call in calls:
        places = [one for one in (place, result_of.get(place)) if one is not None]
        if any(messages[at].id in known for at, _ in places):
            continue
        if call.call_id in taken:
            new = _new_name(call.call_id, taken)
            changes |= dict.fromkeys(places, new)
            text = f"renamed the call {shown(call.call_id)} and its result to {new}, for each id may stand once"
            repairs.append(Repair(tuple(dict.fromkeys(messages[at].id for at, _ in places)), text))
        taken.add(changes.get(place, call.call_id))
    return _renamed(messages, changes), tuple(repairs)


def _calls(messages: Sequence[Message]) -> Iterator[tuple[Place, ToolCall]]:
    for at, message in enumerate(messages):
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                yield (at, index), part


def _new_name(name: str, taken: Collection[str]) -> str:
    number = 2
    while (new := f"{name[:_LONGEST]}_{number}") in taken:
        number += 1
    return new


def _renamed(messages: Sequence[Message], changes: Mapping[Place, str]) -> tuple[Message, ...]:
    out = list(messages)
    for at in {at for at, _ in changes}:
        parts = (_with_name(part, changes.get((at, index))) for index, part in enumerate(out[at].parts))
        out[at] = replace(out[at], parts=tuple(parts))
    return tuple(out)


def _with_name(part: Part, new: str | None) -> Part:
    return replace(part, call_id=new) if new and isinstance(part, ToolCall | ToolResult) else part
