"""What the codec remembers of an input, and the places that messages have on this wire."""

from __future__ import annotations

from dataclasses import dataclass

from trimtab_plugins.codecs.anthropic_messages_input import read_input
from trimtab_plugins.codecs.message_kinds import has_call
from trimtab_plugins.codecs.originals import Kept
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Compaction,
    Message,
    Notice,
    Originals,
    Part,
    Reasoning,
    ToolResult,
)

CODEC = "anthropic-messages"
COMPACTED_BY = "anthropic"

_WEAK_SOURCES = frozenset({"summary", "plugin", "memory", "lorebook"})


@dataclass(frozen=True, slots=True)
class AnthropicKept(Kept):
    """The input of one `decode`; `head` is the id of the message that was read from the field `system`.

    The entry of the head has the value of that field as its `content`.
    """

    head: str | None = None


def kept_of(originals: Originals) -> AnthropicKept:
    """Give the originals when this codec made them; anything else counts as none."""
    return originals if isinstance(originals, AnthropicKept) else AnthropicKept(CODEC, {})


def is_system(message: Message) -> bool:
    """Tell whether a message is text of the app, for which the list of messages has no ordinary place."""
    return message.role in ("system", "developer")


def is_listed_system(message: Message, kept: AnthropicKept) -> bool:
    """Tell whether a system message was read from the list of messages, where it stays."""
    return is_system(message) and message.id in kept.entries and message.id != kept.head


def is_head(message: Message, kept: AnthropicKept) -> bool:
    """Tell whether a message goes into the field `system`."""
    if not is_system(message) or is_listed_system(message, kept):
        return False
    return message.source not in _WEAK_SOURCES or (message.source == "lorebook" and message.required)


def is_aside_text(message: Message, kept: AnthropicKept) -> bool:
    """Tell whether a system message goes in front of a user message, as a block of its own."""
    return is_system(message) and not is_listed_system(message, kept) and not is_head(message, kept)


def compaction_block(part: Compaction) -> JsonObject | None:
    """Give the block that a compaction was read from, None for one of another provider."""
    block = read_input(part.opaque) if part.provider == COMPACTED_BY else None
    return block if block is not None and block.get("type") == "compaction" else None


def is_written(part: Part) -> bool:
    """Tell whether a part has a place on this wire."""
    if isinstance(part, Compaction):
        return compaction_block(part) is not None
    return not isinstance(part, ApprovalRequest | ApprovalResponse | Notice)


def holds_only_results(message: Message) -> bool:
    """Tell whether tool results are all that a message says."""
    written = [part for part in message.parts if is_written(part)]
    return bool(written) and all(isinstance(part, ToolResult) for part in written)


def holds_calls(message: Message) -> bool:
    """Tell whether a message is an assistant's with a tool call."""
    return message.role == "assistant" and has_call(message)


def only_thinks(message: Message) -> bool:
    """Tell whether a message is an assistant's and holds nothing but thinking."""
    if message.role != "assistant":
        return False
    written = [part for part in message.parts if is_written(part)]
    return bool(written) and all(isinstance(part, Reasoning) for part in written)
