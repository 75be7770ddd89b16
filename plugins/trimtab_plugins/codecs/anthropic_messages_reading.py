"""Reading of Anthropic messages and of the system text in front of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from trimtab_plugins.codecs.anthropic_messages_kept import CODEC, AnthropicKept
from trimtab_plugins.codecs.anthropic_messages_mending import mend_message
from trimtab_plugins.codecs.anthropic_messages_parts import read_content_part, read_part
from trimtab_plugins.codecs.chat_completions_reading import message_ids
from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import MISSING, JsonObject, read_object, wrong
from trimtab_sdk import EMPTY_META, Message, Part, Repair, Role, Source, Text, ToolResult

_KEYS = frozenset({"role", "content", "id", "meta"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_HEAD = "system"


class Conversation:
    """The messages read so far: `messages`, `entries` and `repairs` by id, the `uncounted` keys, the `head`."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.entries: dict[str, Entry] = {}
        self.repairs: dict[str, tuple[Repair, ...]] = {}
        self.uncounted: set[str] = set()
        self.head: str | None = None

    def kept(self, body: JsonObject | None) -> AnthropicKept:
        """Give what `encode` needs of it."""
        return AnthropicKept(CODEC, self.entries, body, self.repairs, self.head)


def read_conversation(items: Sequence[object], system: object) -> Conversation:
    """Read the messages of a request; `system`, unless None, becomes the first of them.

    Raises InvalidRequestError with the path of what is wrong.
    """
    conversation = Conversation()
    ids = list(message_ids(items))
    if system is not None:
        _add_head(conversation, system, ids)
    for position, (message_id, raw) in enumerate(zip(ids, items, strict=True)):
        message = _read_plain(raw, message_id)
        if message is not None and isinstance(raw, dict):
            conversation.entries[message_id] = Entry(message, raw)
        else:
            message = _read_full(raw, f"messages[{position}]", message_id, conversation)
        conversation.messages.append(message)
    _mark_input(conversation)
    return conversation


def _add_head(conversation: Conversation, system: object, ids: Sequence[str]) -> None:
    if not isinstance(system, str | list):
        raise wrong("system", "a text or a list of text blocks", system)
    head = _free_name(_HEAD, frozenset(ids))
    wire, sentences = mend_message({"content": system})
    parts = read_content(wire["content"], "system", read_content_part)
    message = Message(head, "system", parts, source="system")
    conversation.head = head
    conversation.entries[head] = Entry(message, wire)
    if sentences:
        conversation.repairs[head] = tuple(Repair((head,), sentence) for sentence in sentences)
    conversation.messages.append(message)


def _free_name(wanted: str, taken: frozenset[str]) -> str:
    candidate, number = wanted, 2
    while candidate in taken:
        candidate = f"{wanted}-{number}"
        number += 1
    return candidate


def _read_plain(raw: object, message_id: str) -> Message | None:
    """The short way for what most histories hold: a role and a text, nothing else."""
    if not isinstance(raw, dict) or len(raw) != 2:
        return None
    content, role = raw.get("content"), raw.get("role")
    if not isinstance(content, str) or (role != "user" and role != "assistant"):
        return None
    return Message(message_id, role, (Text(content),), None, "history", False, False, False, None, EMPTY_META)


def _read_full(raw: object, path: str, message_id: str, conversation: Conversation) -> Message:
    wire, sentences = mend_message(read_object(raw, path))
    wire_role = _read_role(wire, path)
    parts = tuple(_read_blocks(wire, path, wire_role))
    meta = wire.get("meta")
    source: Source = "system" if wire_role == "system" else "history"
    message = Message(
        id=message_id,
        role=_role_of(wire_role, parts),
        parts=parts,
        source=source,
        meta=meta if isinstance(meta, dict) else EMPTY_META,
    )
    conversation.entries[message_id] = Entry(message, wire)
    conversation.uncounted.update(wire.keys() - _KEYS)
    if sentences:
        conversation.repairs[message_id] = tuple(Repair((message_id,), sentence) for sentence in sentences)
    return message


def _read_role(wire: JsonObject, path: str) -> Role:
    value = wire.get("role", MISSING)
    role = _ROLES.get(value) if isinstance(value, str) else None
    if role is None:
        raise wrong(f"{path}.role", "one of user, assistant, system", value)
    return role


def _read_blocks(wire: JsonObject, path: str, role: str) -> Iterator[Part]:
    content, inner = wire.get("content"), f"{path}.content"
    if not isinstance(content, list):
        yield from read_content(content, inner, read_content_part)
        return
    read = partial(read_part, role=role)
    for index, block in enumerate(content):
        yield read(read_object(block, f"{inner}[{index}]"), f"{inner}[{index}]")


def _role_of(wire_role: Role, parts: Sequence[Part]) -> Role:
    """A user message of nothing but results is no turn of the user."""
    if wire_role == "user" and parts and all(isinstance(part, ToolResult) for part in parts):
        return "tool"
    return wire_role


def _mark_input(conversation: Conversation) -> None:
    """Give the user messages that the conversation ends in the source `input`."""
    messages = conversation.messages
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role != "user":
            break
        messages[at] = replace(message, source="input")
        conversation.entries[message.id] = Entry(messages[at], conversation.entries[message.id].wire)
