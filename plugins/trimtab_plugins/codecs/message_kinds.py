"""What a message holds, as the rules of several wires ask."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.reading import is_blank
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Compaction,
    Message,
    Notice,
    Part,
    Text,
    ToolCall,
    ToolResult,
)

UNWRITTEN = ApprovalRequest | ApprovalResponse | Compaction | Notice
"""Parts that have no place on wires that hold neither approvals nor compactions, and mean nothing to the model."""


def is_plain(message: Message) -> bool:
    """Tell whether a message is a text and nothing else, as most are: no rule about its parts touches it."""
    parts = message.parts
    if len(parts) != 1 or message.role == "tool":
        return False
    part = parts[0]
    return isinstance(part, Text) and not is_blank(part.text)


def is_blank_text(part: Part) -> bool:
    """Tell whether a part is a text of nothing but blanks."""
    return isinstance(part, Text) and is_blank(part.text)


def has_result(message: Message) -> bool:
    """Tell whether a message holds a tool result."""
    return any(isinstance(part, ToolResult) for part in message.parts)


def has_call(message: Message) -> bool:
    """Tell whether a message holds a tool call."""
    return any(isinstance(part, ToolCall) for part in message.parts)


def has_step(messages: Sequence[Message]) -> bool:
    """Tell whether any of the messages holds a tool call or a tool result."""
    return any(isinstance(part, ToolCall | ToolResult) for message in messages for part in message.parts)


def calls_one_of(message: Message, call_ids: Collection[str]) -> bool:
    """Tell whether a message holds a tool call with one of the ids."""
    return any(isinstance(part, ToolCall) and part.call_id in call_ids for part in message.parts)
