"""What is wrong with what a codec gives: rules over values, without pytest."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

from trimtab_sdk.codec import Adapted, Decoded, Encoded
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import (
    Compaction,
    File,
    Message,
    Part,
    Reasoning,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
)

REASONS = frozenset({"unpaired", "empty", "wire-rule"})
_ROLES = frozenset(get_args(Role))
_SOURCES = frozenset(get_args(Source))
_PARTS = get_args(Part)


class Said(NamedTuple):
    """A piece of a conversation as a reader understands it: what kind of thing it is, and its words."""

    kind: str
    words: str


def shape_of_decoded(decoded: object) -> Iterator[str]:
    """Tell what is wrong with a conversation that was read."""
    if type(decoded) is not Decoded:
        yield f"decode gave a {type(decoded).__name__}, not a trimtab_sdk.Decoded"
        return
    yield from shape_of_messages(decoded.messages)
    if type(decoded.leading) is not int or not 0 <= decoded.leading <= len(decoded.messages):
        yield f"leading is {decoded.leading!r:.40}; it is how many messages have no index in the list"
    if decoded.tools is not None and type(decoded.tools) is not tuple:
        yield f"tools is a {type(decoded.tools).__name__}, not a tuple or None"
    if decoded.response_format is not None and not isinstance(decoded.response_format, Mapping):
        yield f"response_format is a {type(decoded.response_format).__name__}, not a dict or None"
    if decoded.max_output_tokens is not None and type(decoded.max_output_tokens) is not int:
        yield f"max_output_tokens is a {type(decoded.max_output_tokens).__name__}, not an int or None"
    if decoded.model is not None and type(decoded.model) is not str:
        yield f"model is a {type(decoded.model).__name__}, not a text or None"
    if type(decoded.uncounted) is not tuple or any(type(key) is not str for key in decoded.uncounted):
        yield "uncounted is no tuple of keys"


def shape_of_messages(messages: object) -> Iterator[str]:
    """Tell what is wrong with messages: ids, roles, sources and parts."""
    if type(messages) is not tuple:
        yield f"the messages are a {type(messages).__name__}, not a tuple"
        return
    seen: set[str] = set()
    for message in messages:
        if type(message) is not Message:
            yield f"a message is a {type(message).__name__}, not a trimtab_sdk.Message"
            continue
        if type(message.id) is not str or not message.id:
            yield f"a message has the id {message.id!r:.40}; it must be a text that is not empty"
            continue
        if message.id in seen:
            yield f"two messages have the id {message.id!r}"
        seen.add(message.id)
        yield from (f"{message.id!r} {fault}" for fault in _message_faults(message))


def _message_faults(message: Message) -> Iterator[str]:
    if message.role not in _ROLES:
        yield f"has the role {message.role!r:.40}; there are {', '.join(sorted(_ROLES))}"
    if message.source not in _SOURCES:
        yield f"has the source {message.source!r:.40}; there are {', '.join(sorted(_SOURCES))}"
    if type(message.parts) is not tuple:
        yield f"has parts in a {type(message.parts).__name__}, not a tuple"
        return
    for part in message.parts:
        if type(part) not in _PARTS:
            yield f"has a {type(part).__name__} among its parts, which is none"
        elif isinstance(part, Text) and type(part.text) is not str:
            yield f"has a text that is a {type(part.text).__name__}"
        elif isinstance(part, ToolCall) and type(part.arguments) is not str:
            yield "has a call whose arguments are no text; give the JSON as the model wrote it"
        elif isinstance(part, ToolResult) and type(part.content) not in (str, tuple):
            yield f"has a result whose content is a {type(part.content).__name__}, not a text or a tuple of parts"


def refusal_faults(error: BaseException | None, *, path_needed: bool) -> Iterator[str]:
    """Tell what is wrong with how an input was refused."""
    if error is None:
        return
    if not isinstance(error, InvalidRequestError):
        yield f"raised {type(error).__name__}: {error!s:.200}"
    elif type(error.path) is not str or (path_needed and not error.path):
        yield f"was refused without the path of what is wrong ({error!s:.200})"


def adapted_faults(before: Sequence[Message], adapted: object, protected: Collection[str]) -> Iterator[str]:
    """Tell what is wrong with the books of a repair: every message kept, left out or refused, none of it twice."""
    if type(adapted) is not Adapted:
        yield f"adapt gave a {type(adapted).__name__}, not a trimtab_sdk.Adapted"
        return
    yield from shape_of_messages(adapted.messages)
    known = {message.id for message in before}
    kept = {message.id for message in adapted.messages}
    left = set(adapted.left_out)
    for name in sorted((kept | left | set(adapted.refused)) - known):
        yield f"{name!r} is no message of the conversation"
    for name in sorted(known - kept - left - set(adapted.refused)):
        yield f"{name!r} is gone, and not in left_out"
    for name in sorted(kept & left):
        yield f"{name!r} is left out and kept"
    for name, reason in adapted.left_out.items():
        if reason not in REASONS:
            yield f"{name!r} is left out for {reason!r:.40}; reasons are {', '.join(sorted(REASONS))}"
    for name in sorted(left & set(protected)):
        yield f"{name!r} must stay and is left out; what the wire cannot carry of it belongs into refused"
    for name in sorted(set(adapted.refused) - set(protected)):
        yield f"{name!r} is refused, though it may leave: leave it out"


def unnamed_faults(before: Sequence[Message], adapted: Adapted) -> Iterator[str]:
    """Tell which messages were changed or moved without a repair that names them."""
    named = {name for repair in adapted.repairs for name in repair.ids}
    given = {message.id: message for message in before}
    for message in adapted.messages:
        if message.id not in named and _on_the_wire(message) != _on_the_wire(given[message.id]):
            yield f"{message.id!r} was changed, and no repair names it"
    kept = [message.id for message in adapted.messages]
    order = [name for name in given if name in set(kept)]
    moved = [one for one, other in zip(kept, order, strict=True) if one != other]
    if moved and not named.intersection(moved):
        yield f"{moved[0]!r} was moved, and no repair names it"
    for repair in adapted.repairs:
        if type(repair.text) is not str or not repair.text.strip():
            yield "a repair has no text, so nobody learns what it was"


def _on_the_wire(message: Message) -> object:
    return message.role, message.name, message.parts


def more_to_mend(adapted: Adapted, messages: Sequence[Message], *, notes: bool = True) -> Iterator[str]:
    """Tell what an adapt of messages that need none still does; `notes` says that it must not speak either."""
    for name, why in adapted.refused.items():
        yield f"{name!r} is refused: {why}"
    for name, why in adapted.left_out.items():
        yield f"{name!r} is left out ({why})"
    given = {message.id: message for message in messages}
    for message in adapted.messages:
        if message != given.get(message.id):
            yield f"{message.id!r} is changed"
    if [message.id for message in adapted.messages] != list(given) and not adapted.left_out:
        yield "the order is changed"
    if notes:
        yield from (f"a repair is named again: {repair.text}" for repair in adapted.repairs)


def lost_words(before: Sequence[Message], adapted: Adapted, protected: Collection[str]) -> Iterator[str]:
    """Tell which texts of protected messages that stay are not in them any more."""
    after = {message.id: message for message in adapted.messages}
    for message in before:
        if message.id in protected and message.id in after:
            words = {piece.words for piece in said_in(after[message.id].parts)}
            for piece in said_in(message.parts):
                if piece.kind == "text" and piece.words not in words:
                    yield f"{message.id!r} must stay, and lost the words {piece.words[:60]!r}"


def said_in(parts: Sequence[object]) -> Iterator[Said]:
    """Give what parts say: texts, calls with their arguments as values, and the texts of results."""
    for part in parts:
        if isinstance(part, Text) and part.text.strip():
            yield Said("text", part.text)
        elif isinstance(part, ToolCall):
            yield Said("call", f"{part.name} {_arguments(part.arguments)}")
        elif isinstance(part, ToolResult):
            content = (Text(part.content),) if isinstance(part.content, str) else part.content
            yield from (Said("result", piece.words) for piece in said_in(content))


def _arguments(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def said_by(messages: Sequence[Message]) -> list[Said]:
    """Give what messages say, in order."""
    return [piece for message in messages for piece in said_in(message.parts)]


def is_system(message: Message) -> bool:
    """Tell whether a message is text of the app, which some wires carry in a field of its own."""
    return message.role in ("system", "developer")


def misread(told: Sequence[Message], read: Sequence[Message], *, system_anywhere: bool) -> Iterator[str]:
    """Tell what of a conversation is missing, out of order or added when what was written of it is read.

    A wire may join texts, and where it has a field for system text that text may stand elsewhere.
    """
    got = said_by(read)
    at = 0
    for message in told:
        wherever = is_system(message) and not system_anywhere
        for piece in said_in(message.parts):
            found = _find(piece, got, 0 if wherever else at)
            if found is None:
                yield f"{message.id!r}: {piece.kind} {piece.words[:60]!r} is not where it was, or not there at all"
            elif not wherever:
                at = found
    files = {part.text for message in told for part in _files_in(message.parts)}
    yield from _added({*(piece.words for piece in said_by(told)), *files} - {""}, got)


def _files_in(parts: Sequence[Part]) -> Iterator[File]:
    for part in parts:
        if isinstance(part, File):
            yield part
        elif isinstance(part, ToolResult) and not isinstance(part.content, str):
            yield from _files_in(part.content)


def _find(piece: Said, among: Sequence[Said], start: int) -> int | None:
    places = range(start, len(among))
    same = (at for at in places if among[at].kind == piece.kind and piece.words in among[at].words)
    return next(same, None)


def _added(told: Collection[str], got: Sequence[Said]) -> Iterator[str]:
    words = sorted(told, key=len, reverse=True)
    for piece in got:
        rest = piece.words
        for known in words:
            rest = rest.replace(known, "")
        if rest.strip():
            yield f"{piece.kind} {piece.words[:60]!r} was added"


def opaque_in(messages: Sequence[Message]) -> list[str]:
    """Give the opaque values of messages, in order."""
    parts = [part for message in messages for part in message.parts]
    return [part.opaque for part in parts if isinstance(part, Reasoning | Compaction) and part.opaque]


def as_json(value: object) -> str:
    """Give a value as JSON text: two values with the same text are the same, also in type and order of keys."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def encoded_faults(encoded: object) -> Iterator[str]:
    """Tell what is wrong with what was written, before anybody reads it."""
    if type(encoded) is not Encoded:
        yield f"encode gave a {type(encoded).__name__}, not a trimtab_sdk.Encoded"
        return
    if type(encoded.messages) is not list:
        yield f"encode gave messages in a {type(encoded.messages).__name__}, not a list"
    if encoded.request is not None and type(encoded.request) is not dict:
        yield f"encode gave a body that is a {type(encoded.request).__name__}, not a dict"
    try:
        as_json([encoded.messages, encoded.request])
    except (TypeError, ValueError, RecursionError) as error:
        yield f"encode gave values that are no JSON: {error}"


def read_alike(one: Decoded, other: Decoded, *, sources: bool = True) -> Iterator[str]:
    """Tell how two readings of the same list differ, whatever ids were made up for messages and calls."""
    if len(one.messages) != len(other.messages):
        yield f"{len(one.messages)} messages, not {len(other.messages)}"
        return
    for at, pair in enumerate(zip(without_made_ids(one.messages), without_made_ids(other.messages), strict=True)):
        first, second = pair if sources else (replace(message, source="history") for message in pair)
        if first.source != second.source:
            yield f"message {at} has the source {first.source}, not {second.source}"
        elif first != second:
            yield f"message {at} is {first!r:.200} and not {second!r:.200}"


def without_made_ids(messages: Sequence[Message]) -> list[Message]:
    """Give messages with ids, also those of calls, replaced by their order of appearance."""
    names: dict[str, str] = {}
    return [
        replace(message, id=str(at), parts=tuple(_renamed(part, names) for part in message.parts))
        for at, message in enumerate(messages)
    ]


def _renamed(part: Part, names: dict[str, str]) -> Part:
    if isinstance(part, ToolCall | ToolResult):
        return replace(part, call_id=names.setdefault(part.call_id, str(len(names))))
    return part
