"""Reading of Anthropic messages and of the system text in front of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from trimtab_plugins.codecs.anthropic_messages_kept import CODEC, AnthropicKept
from trimtab_plugins.codecs.anthropic_messages_mending import mend_message
from trimtab_plugins.codecs.anthropic_messages_parts import read_content_part, read_part
from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.conversation import Conversation
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.raw_messages import free_id, message_ids, only_text
from trimtab_plugins.codecs.reading import JsonObject, read_object, role_in, wrong
from trimtab_sdk import EMPTY_META, Message, Part, Role, Source, Text, ToolResult, plain_message

_KEYS = frozenset({"role", "content", "id", "meta"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_HEAD = "system"


@dataclass(slots=True)
class AnthropicConversation(Conversation):
    """The messages read so far; `head` is the id of the one that the system text became."""

    head: str | None = None

    def kept(self, body: JsonObject | None) -> AnthropicKept:
        """Give what `encode` needs of it."""
        return AnthropicKept(CODEC, self.entries, body, self.repairs, self.head)


def read_conversation(items: Sequence[object], system: object) -> AnthropicConversation:
    """Read the messages of a request; `system`, unless None, becomes the first of them.

    Raises InvalidRequestError with the path of what is wrong.
    """
    conversation = AnthropicConversation()
    ids = message_ids(items)
    if system is not None:
        _add_head(conversation, system, ids)
    for position, raw in enumerate(items):
        if not isinstance(raw, dict):
            raise wrong(f"messages[{position}]", "an object", raw)
        message = _read_plain(raw, ids[position])
        if message is None:
            message = _read_full(raw, f"messages[{position}]", ids[position], conversation)
        else:
            conversation.entries[message.id] = Entry(message, raw)
        conversation.messages.append(message)
    _mark_input(conversation)
    return conversation


def _add_head(conversation: AnthropicConversation, system: object, ids: Sequence[str]) -> None:
    if not isinstance(system, str | list):
        raise wrong("system", "a text or a list of text blocks", system)
    head = free_id(_HEAD, frozenset(ids))
    wire, sentences = mend_message({"content": system})
    parts = read_content(wire["content"], "system", read_content_part)
    message = Message(head, "system", parts, source="system")
    conversation.head = head
    conversation.remember(message, wire, sentences)
    conversation.messages.append(message)


def _read_plain(raw: JsonObject, message_id: str) -> Message | None:
    """The short way for what most histories hold: a role and a text, nothing else."""
    content, role = only_text(raw), raw.get("role")
    if content is None or (role != "user" and role != "assistant"):
        return None
    return plain_message(message_id, role, (Text(content),), "history")


def _read_full(raw: JsonObject, path: str, message_id: str, conversation: AnthropicConversation) -> Message:
    wire, sentences = mend_message(raw)
    wire_role = role_in(wire, path, _ROLES)
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
    conversation.remember(message, wire, sentences)
    conversation.uncounted.update(wire.keys() - _KEYS)
    return message


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


def _mark_input(conversation: AnthropicConversation) -> None:
    """Give the user messages that the conversation ends in the source `input`."""
    messages = conversation.messages
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role != "user":
            break
        messages[at] = replace(message, source="input")
        conversation.entries[message.id] = Entry(messages[at], conversation.entries[message.id].wire)
