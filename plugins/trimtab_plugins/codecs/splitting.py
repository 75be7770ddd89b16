"""Messages taken apart for wires on which a tool result has a message of its own.

Some wires hold the results of a step in one user message, with texts beside them, or a call and its result in
one answer. The pieces stand in the order of the parts.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.message_kinds import has_call, has_result, is_blank_text
from trimtab_sdk import ContentPart, Message, Part, Role, Text, ToolCall, ToolResult


def apart(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Give messages that hold either one tool result or none, with calls in assistant messages only.

    A message that is so already is the same object. Of one that is not, the first piece keeps the id, and the
    others get the id with a number that nobody has. Blank texts beside a result are dropped.
    """
    if all(_stands_alone(message) for message in messages):
        return tuple(messages)
    taken = {message.id for message in messages}
    out: list[Message] = []
    for message in messages:
        if _stands_alone(message):
            out.append(message)
        else:
            out.extend(_named_anew(_pieces(message), taken))
    return tuple(out)


def any_foreign_structure(messages: Sequence[Message], known: Container[str]) -> bool:
    """Tell whether a message whose id is not `known` holds more than a text; any other is written as it is."""
    return any(not _is_text(message) for message in messages if message.id not in known)


def is_mixed(message: Message) -> bool:
    """Tell whether a message says something beside the tool results it holds."""
    return has_result(message) and any(
        isinstance(part, ContentPart) and not is_blank_text(part) for part in message.parts
    )


def _stands_alone(message: Message) -> bool:
    parts = message.parts
    if _is_text(message):
        return True
    results = sum(isinstance(part, ToolResult) for part in parts)
    calls = has_call(message)
    if message.role != "tool":
        return not results and (message.role == "assistant" or not calls)
    return results < 2 and not calls and not any(isinstance(part, ContentPart) for part in parts)


def _is_text(message: Message) -> bool:
    parts = message.parts
    return len(parts) == 1 and type(parts[0]) is Text and message.role != "tool"


def _pieces(message: Message) -> list[Message]:
    pieces: list[Message] = []
    role: Role = "user" if message.role == "tool" else message.role
    held: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            _put_down(message, role, held, pieces)
            pieces.append(replace(message, role="tool", parts=(part,), name=None))
        elif isinstance(part, ToolCall) and role != "assistant":
            _put_down(message, role, held, pieces)
            pieces.append(replace(message, role="assistant", parts=(part,), name=None))
        else:
            held.append(part)
    _put_down(message, role, held, pieces)
    return pieces


def _put_down(message: Message, role: Role, held: list[Part], pieces: list[Message]) -> None:
    if not all(is_blank_text(part) for part in held):
        pieces.append(replace(message, role=role, parts=tuple(held)))
    held.clear()


def _named_anew(pieces: Sequence[Message], taken: set[str]) -> list[Message]:
    named = list(pieces[:1])
    number = 2
    for piece in pieces[1:]:
        while f"{piece.id}.{number}" in taken:
            number += 1
        named.append(replace(piece, id=f"{piece.id}.{number}"))
        taken.add(named[-1].id)
    return named
