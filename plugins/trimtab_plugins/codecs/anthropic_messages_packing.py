"""From messages to a request: system text, one message for the results of a step, asides in user messages.

The results of a step go into one user message, together with the user message that holds some of them; so do
the assistant messages of one answer when a call or thinking would otherwise not stand where the wire wants it.
Everything else is one to one.
"""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.anthropic_messages_kept import (
    AnthropicKept,
    holds_calls,
    holds_only_results,
    is_head,
    is_listed_system,
    is_system,
    only_thinks,
)
from trimtab_plugins.codecs.anthropic_messages_writing import (
    joined_blocks,
    patch_message,
    write_message,
    write_texts,
)
from trimtab_plugins.codecs.message_kinds import has_result
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Encoded, Message


def encode_conversation(messages: Sequence[Message], kept: AnthropicKept) -> Encoded:
    """Write adapted messages: the very object that was read, a patched copy of it, or a new one."""
    heads: list[Message] = []
    asides: list[object] = []
    packs: list[_Pack] = []
    for message in messages:
        if is_system(message) and not is_listed_system(message, kept):
            if is_head(message, kept):
                heads.append(message)
            else:
                asides += write_texts(message)
            continue
        if not message.parts and message.role == "assistant" and message.id not in kept.entries:
            # Nothing is left of reasoning of another provider.
            continue
        if not (packs and packs[-1].takes(message)):
            packs.append(_Pack())
        packs[-1].add(message, _wire_of(message, kept.entries.get(message.id)))
        if asides:
            asides = packs[-1].take_asides(asides)
    _put_last(asides, packs)
    out: list[object] = [pack.wire() for pack in packs]
    return Encoded(out, _request(kept, _system(heads, kept), out))


def _put_last(asides: list[object], packs: list[_Pack]) -> None:
    """Asides that no user message follows stand in the last one, or in one of their own."""
    if not asides:
        return
    for pack in reversed(packs):
        if not pack.take_asides(asides):
            return
    packs.append(_Pack({"role": "user", "content": asides}))


class _Pack:
    """A message of the wire: those that go into it, and the asides in front of what its user says."""

    __slots__ = ("_asides", "_calls", "_last", "_wires")

    def __init__(self, *wires: JsonObject) -> None:
        self._wires = list(wires)
        self._asides: list[object] = []
        self._last: Message | None = None
        self._calls = False

    def takes(self, message: Message) -> bool:
        """Tell whether the wire wants `message` in this very message, behind what is there."""
        last = self._last
        if last is None or (last.role == "assistant") != (message.role == "assistant"):
            return False
        if message.role == "assistant":
            return holds_calls(last) or self._calls or only_thinks(last) or only_thinks(message)
        return has_result(message) and holds_only_results(last)

    def add(self, message: Message, wire: JsonObject) -> None:
        """Take a message in."""
        self._wires.append(wire)
        self._calls = self._calls or (self._last is not None and holds_calls(self._last))
        self._last = message

    def take_asides(self, asides: list[object]) -> list[object]:
        """Take asides when this is a user message, and give those that are left."""
        if not asides or self._wires[0].get("role") != "user":
            return asides
        self._asides = [*self._asides, *asides]
        return []

    def wire(self) -> JsonObject:
        """Give the message: the given object when it is alone."""
        if len(self._wires) == 1 and not self._asides:
            return self._wires[0]
        blocks = joined_blocks(wire.get("content") for wire in self._wires)
        behind = next((at for at, block in enumerate(blocks) if not _is_result(block)), len(blocks))
        return {**self._wires[0], "content": [*blocks[:behind], *self._asides, *blocks[behind:]]}


def _is_result(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _wire_of(message: Message, entry: Entry | None) -> JsonObject:
    if entry is None:
        return write_message(message)
    if entry.message is message or _reads_alike(entry.message, message):
        return entry.wire
    return patch_message(entry.wire, entry.message, message)


def _reads_alike(one: Message, other: Message) -> bool:
    return one.parts == other.parts


def _system(heads: Sequence[Message], kept: AnthropicKept) -> object:
    """Give the value of the field `system`: as it was read, one text, or text blocks; None for no text."""
    if len(heads) == 1 and heads[0].id == kept.head:
        entry = kept.entries[heads[0].id]
        wire = _wire_of(heads[0], entry)
        return wire["content"] if wire is entry.wire else wire["content"] or None
    contents = [
        _wire_of(head, kept.entries[head.id])["content"] if head.id == kept.head else write_texts(head)
        for head in heads
    ]
    blocks = joined_blocks(contents)
    if len(blocks) == 1 and isinstance(blocks[0], dict) and blocks[0].keys() == {"type", "text"}:
        return blocks[0]["text"]
    return blocks or None


def _request(kept: AnthropicKept, system: object, messages: list[object]) -> dict[str, object] | None:
    if kept.body is None:
        return None if system is None else {"system": system, "messages": messages}
    request: dict[str, object] = {}
    for key, value in kept.body.items():
        if key == "messages":
            if system is not None and "system" not in kept.body:
                request["system"] = system
            request["messages"] = messages
        elif key != "system" or (system is None and kept.head is None):
            request[key] = value
        elif system is not None:
            request["system"] = system
    return request
