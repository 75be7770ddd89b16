"""Parts of messages from other wires that Chat Completions has no place for.

Pictures, files and sounds stand in user messages only, and the other roles hold texts. What has no place becomes
a text that says so; reasoning, compactions and approvals leave without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trimtab_plugins.codecs.chat_completions_parts import read_part
from trimtab_plugins.codecs.misplaced import COMPACTION, REASONING, Cleared, stand_in, stand_in_sentence
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    ContentPart,
    File,
    Image,
    InvalidRequestError,
    Message,
    Part,
    Reasoning,
    Text,
    ToolResult,
    Unknown,
)

_APPROVALS = "left out the approvals, which chat-completions does not know"
_ERROR_MARK = "left out the mark that the result is an error, for which chat-completions has no key"


def clear_foreign(message: Message) -> Cleared:
    """Take what has no place out of a message that another codec read; without any it is the same object."""
    sentences: dict[str, None] = {}
    parts = tuple(_cleared_parts(message, sentences))
    return Cleared(replace(message, parts=parts), tuple(sentences)) if sentences else Cleared(message)


def in_place(part: ContentPart, role: str) -> ContentPart:
    """Give a part that a message of this role can hold: the part itself, or a text in its place."""
    if isinstance(part, Text | Unknown) or _has_place(part, role):
        return part
    if isinstance(part, File) and part.text:
        return Text(part.text)
    return stand_in(part)


def result_in_place(result: ToolResult) -> ToolResult:
    """Give a tool result of texts alone."""
    if isinstance(result.content, str):
        return result
    return replace(result, content=tuple(in_place(part, "tool") for part in result.content))


def _cleared_parts(message: Message, sentences: dict[str, None]) -> Iterator[Part]:
    spoken = False
    for part in message.parts:
        reason = _reason_to_leave(part)
        if reason is not None:
            sentences.setdefault(reason)
        elif isinstance(part, ToolResult):
            yield _cleared_result(part, sentences)
        elif isinstance(part, Audio) and part.audio_id and message.role == "assistant" and not spoken:
            spoken = True
            yield part
        elif isinstance(part, ContentPart):
            yield _cleared_content(part, message.role, sentences)
        else:
            yield part


def _reason_to_leave(part: Part) -> str | None:
    if isinstance(part, Reasoning):
        return REASONING
    if isinstance(part, Compaction):
        return COMPACTION
    return _APPROVALS if isinstance(part, ApprovalRequest | ApprovalResponse) else None


def _cleared_result(result: ToolResult, sentences: dict[str, None]) -> ToolResult:
    if result.is_error:
        sentences.setdefault(_ERROR_MARK)
        result = replace(result, is_error=False)
    if isinstance(result.content, str):
        return result
    content = tuple(_cleared_content(part, "tool", sentences) for part in result.content)
    return result if content == result.content else replace(result, content=content)


def _cleared_content(part: ContentPart, role: str, sentences: dict[str, None]) -> ContentPart:
    known = _read_here(part) if isinstance(part, Unknown) else part
    placed = stand_in(known) if isinstance(known, Unknown) else in_place(known, role)
    if placed is not known:
        sentences.setdefault(stand_in_sentence(known, role))
    return placed


def _read_here(part: Unknown) -> ContentPart:
    if not isinstance(part.raw, dict):
        return part
    try:
        read = read_part(part.raw, "")
    except InvalidRequestError:
        return part
    return part if isinstance(read, Unknown) else read


def _has_place(part: Image | File | Audio, role: str) -> bool:
    if role != "user":
        return False
    if isinstance(part, Image):
        return bool(part.url or part.data)
    return bool(part.data) or (isinstance(part, File) and bool(part.file_id))
