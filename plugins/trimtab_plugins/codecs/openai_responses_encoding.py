"""Writing of a whole Responses conversation: the items, and the body they stand in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import takewhile

from trimtab_plugins.codecs.openai_responses_originals import KeptItems
from trimtab_plugins.codecs.openai_responses_writing import patch_item, without_id, write_items
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Encoded, Message, Text, plain_text

_LATE = frozenset({"summary", "plugin"})


def encode_conversation(messages: Sequence[Message], kept: KeptItems) -> Encoded:
    """Write messages: the very items that were read, patched copies of them, or new ones.

    System text at the head that no item holds goes into `instructions` when the body had some or when nothing was
    read, an empty list included; summaries and texts of plugins stand where they are, so that the prefix does not
    move.
    """
    head = _head(messages, kept)
    bare = _without_their_reasoning(messages, kept)
    items: list[object] = []
    for message in messages[len(head) :]:
        items += _written(message, kept, bare)
    if kept.body is not None:
        return Encoded(items, _filled(kept.body, head, items, kept))
    if kept.read and not (kept.begun and messages):
        return Encoded(items)
    request: JsonObject = {"instructions": _joined(head)} if head else {}
    return Encoded(items, {**request, "input": items})


def _head(messages: Sequence[Message], kept: KeptItems) -> Sequence[Message]:
    if kept.read and kept.instructions is None and not kept.begun:
        return ()
    return list(takewhile(lambda message: _goes_into_instructions(message, kept), messages))


def _goes_into_instructions(message: Message, kept: KeptItems) -> bool:
    if kept.is_instructions(message.id):
        return True
    return (
        message.id not in kept.entries
        and message.role in ("system", "developer")
        and message.source not in _LATE
        and bool(message.parts)
        and all(isinstance(part, Text) for part in message.parts)
    )


def _joined(head: Sequence[Message]) -> str:
    return "\n\n".join(plain_text(message) for message in head)


def _filled(body: JsonObject, head: Sequence[Message], items: list[object], kept: KeptItems) -> JsonObject:
    filled = {**body, "input": _plain_input(items, kept)}
    if head:
        filled["instructions"] = _joined(head)
    elif kept.instructions is not None:
        del filled["instructions"]
    return filled


def _plain_input(items: list[object], kept: KeptItems) -> object:
    """Give a text when the input was one and is one message still, else the items."""
    if not kept.plain or len(items) != 1:
        return items
    item = items[0]
    content = item.get("content") if isinstance(item, dict) and item.get("role") == "user" else None
    return content if isinstance(content, str) else items


def _written(message: Message, kept: KeptItems, bare: Collection[str]) -> list[object]:
    entry = kept.entries.get(message.id)
    if entry is None or kept.is_instructions(message.id):
        return write_items(message)
    wire = entry.wire
    if entry.message is not message and not _reads_alike(entry.message, message):
        wire = patch_item(wire, entry.message, message)
    return list(without_id(wire)) if message.id in bare else [wire]


def _reads_alike(one: Message, other: Message) -> bool:
    return one.parts == other.parts and one.role == other.role


def _without_their_reasoning(messages: Sequence[Message], kept: KeptItems) -> frozenset[str]:
    """Give the items of answers whose reasoning was read right before them and is gone.

    A server that stored an answer knows its items by id and refuses one that comes without its reasoning.
    """
    present = {message.id for message in messages}
    if all(name in present for name in kept.entries if kept.kind(name) == "reasoning"):
        return frozenset()
    bare: set[str] = set()
    led, gone = False, False
    for name, entry in kept.entries.items():
        if kept.kind(name) == "reasoning":
            gone = name not in present or (led and gone)
            led = True
        elif entry.message.role != "assistant":
            led = gone = False
        elif gone:
            bare.add(name)
    return frozenset(bare)
