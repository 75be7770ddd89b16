"""Calls and results without their partner: what becomes of them, and the words for it.

Where each result has a message of its own, that leaves as a whole. A message from another wire may hold several
results, or words of the user beside them, which are no reason to leave.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from trimtab_plugins.codecs.message_kinds import has_call
from trimtab_plugins.codecs.reading import shown_list
from trimtab_plugins.codecs.splitting import is_mixed
from trimtab_sdk import Message, Pairing, Repair, ToolResult, link_groups

ORPHAN = (
    "it is a tool result, and no message before it has the call it answers; add the assistant message with "
    "that call, or unpin or exclude the result"
)
"""Why a protected result without its call is refused."""

_STRAYS = "left out tool results whose call is not there, or stands with a call that has no result"


def open_calls_refusal(call_ids: Sequence[str]) -> str:
    """Say why a protected message is refused whose calls of these ids have no result."""
    return (
        f"it calls tools that have no result ({shown_list(call_ids)}); append a result for each (an error text "
        "will do), or unpin or exclude the message"
    )


class Strays(NamedTuple):
    """The messages without stray results, and which of them held some."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


def without_strays(messages: Sequence[Message], pairing: Pairing, known: Collection[str]) -> Strays:
    """Take stray results out of messages whose ids are not `known`, where something is left of the message."""
    out = list(messages)
    _drop_orphans(out, pairing, known)
    _drop_half_steps(out, known)
    touched = tuple(old.id for old, new in zip(messages, out, strict=True) if old is not new)
    return Strays(tuple(out), (Repair(touched, _STRAYS),) if touched else ())


def _drop_orphans(out: list[Message], pairing: Pairing, known: Collection[str]) -> None:
    strays: dict[int, set[int]] = {}
    for position, index in pairing.orphans:
        strays.setdefault(position, set()).add(index)
    for position, indexes in strays.items():
        message = out[position]
        results = sum(isinstance(part, ToolResult) for part in message.parts)
        if message.id not in known and (results > len(indexes) or _speaks_beside(message)):
            parts = tuple(part for index, part in enumerate(message.parts) if index not in indexes)
            out[position] = replace(message, parts=parts)


def _drop_half_steps(out: list[Message], known: Collection[str]) -> None:
    """Take the results of a step that cannot stay, since one of its calls has none, out of mixed messages."""
    for group in link_groups(out):
        if not group.open_calls:
            continue
        for position in group.positions:
            message = out[position]
            if message.id not in known and _speaks_beside(message):
                parts = tuple(part for part in message.parts if not isinstance(part, ToolResult))
                out[position] = replace(message, parts=parts)


def _speaks_beside(message: Message) -> bool:
    return is_mixed(message) and not has_call(message)
