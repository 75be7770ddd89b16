"""Where a plugin's text goes, and how it is labelled.

A text of a plugin never speaks as user or assistant, never stands inside a group, and never looks like the
label of another plugin.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from trimtab.fitting.context import Context
from trimtab.fitting.disarming import disarmed
from trimtab_sdk.groups import Group
from trimtab_sdk.labels import labelled
from trimtab_sdk.messages import Message, Text
from trimtab_sdk.protection import current_input

_HEAD = frozenset({"system", "developer", "character", "persona", "required"})


def insert_text(text: str, *, plugin: str, summary: bool) -> Text:
    """Give a plugin's text as the model reads it: between labels, with nothing inside that looks like one."""
    return Text(labelled(disarmed(text), plugin=plugin, summary=summary))


def insert_message(
    text: str, *, plugin: str, summary: bool, taken: Collection[str], ephemeral: bool = False
) -> Message:
    """Make the message of an insert: role system, an id of its own, the text labelled.

    What an interceptor inserts is made anew each turn, so it is `ephemeral`.
    """
    number = 1
    while f"{plugin}:{number}" in taken:
        number += 1
    return Message(
        id=f"{plugin}:{number}",
        role="system",
        parts=(insert_text(text, plugin=plugin, summary=summary),),
        source="summary" if summary else "plugin",
        ephemeral=ephemeral,
    )


def find_edge(context: Context, *, kind: str, target: str, dropped: Collection[str]) -> int:
    """Give the position in `context` in front of which an insert goes.

    `kind` is an anchor: at_gap (in front of the first of `dropped`, else before the input), before_input, or
    before, with the id `target`. The place moves to the nearest earlier edge that no group spans and that
    lies behind the protected head, else to the next later one.
    """
    wanted = _wanted(context, kind=kind, target=target, dropped=dropped)
    head = _head_end(context.messages, context.protected)
    spanned = _spanned_edges(context.groups, len(context.messages))
    at = max(wanted, head)
    while at > head and spanned[at]:
        at -= 1
    while spanned[at]:
        at += 1
    return at


def _wanted(context: Context, *, kind: str, target: str, dropped: Collection[str]) -> int:
    if kind == "before":
        return _position_of(context, target)
    if kind == "at_gap":
        for position, message in enumerate(context.messages):
            if message.id in dropped:
                return position
    inputs = current_input(context.messages)
    return inputs[0] if inputs else len(context.messages)


def _position_of(context: Context, target: str) -> int:
    """Where a message stands, or where it stood: in front of the next one that is still there."""
    for position, message in enumerate(context.messages):
        if message.id == target:
            return position
    stood = context.places[target]
    for position, message in enumerate(context.messages):
        if context.places.get(message.id, stood) > stood:
            return position
    return len(context.messages)


def _head_end(messages: Sequence[Message], protected: Mapping[str, str]) -> int:
    for position, message in enumerate(messages):
        if protected.get(message.id) not in _HEAD:
            return position
    return len(messages)


def _spanned_edges(groups: Sequence[Group], size: int) -> list[bool]:
    """For each edge (in front of position i, or at the end) whether a group has members on both sides."""
    changes = [0] * (size + 2)
    for group in groups:
        changes[group.positions[0] + 1] += 1
        changes[group.positions[-1] + 1] -= 1
    spanned: list[bool] = []
    depth = 0
    for change in changes[: size + 1]:
        depth += change
        spanned.append(depth > 0)
    return spanned
