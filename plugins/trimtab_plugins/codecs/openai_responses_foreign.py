"""Parts of messages from other formats that the Responses wire has no place for.

An answer holds texts alone, and a sound has no place anywhere. What has none becomes a text that says so;
reasoning, compactions and approvals leave without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from trimtab_plugins.codecs.message_kinds import has_call, is_blank_text
from trimtab_plugins.codecs.misplaced import COMPACTION, REASONING, Cleared, stand_in, stand_in_sentence
from trimtab_plugins.codecs.openai_responses_items import PROVIDER
from trimtab_plugins.codecs.openai_responses_kinds import KINDS
from trimtab_plugins.codecs.openai_responses_parts import read_part
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

_BLANK = "took out a blank text beside calls, which would be an empty message of its own"
_APPROVALS = "left out the approvals, which openai-responses knows for tools of its own alone"
_ERROR_MARK = "left out the mark that the result is an error, for which openai-responses has no key"
_NAME = "left out the name, for which openai-responses has no key"
_HELD = frozenset({"input_image", "input_file"})


def clear_foreign(message: Message) -> Cleared:
    """Take what has no place out of a message that another codec read; without any it is the same object."""
    sentences: dict[str, None] = {}
    if message.name is not None:
        sentences[_NAME] = None
    parts = tuple(_cleared_parts(message, sentences))
    if not sentences:
        return Cleared(message)
    return Cleared(replace(message, parts=parts, name=None), tuple(sentences))


def in_place(part: ContentPart, role: str) -> ContentPart:
    """Give a part that a message of this role, or the output of a tool, can hold; else a text in its place."""
    if isinstance(part, Text) or is_item(part):
        return part
    if isinstance(part, Unknown):
        return _known_in_place(part, role)
    if isinstance(part, File) and part.text:
        return Text(part.text)
    return part if _has_place(part, role) else stand_in(part)


def result_in_place(result: ToolResult) -> ToolResult:
    """Give a tool result whose content this wire can hold."""
    if isinstance(result.content, str):
        return result
    content = tuple(in_place(part, "tool") for part in result.content)
    return result if content == result.content else replace(result, content=content)


def is_item(part: Part) -> bool:
    """Tell whether an unknown part is a whole item of this wire."""
    kind = part.raw.get("type") if isinstance(part, Unknown) and isinstance(part.raw, dict) else None
    return isinstance(kind, str) and kind in KINDS


def is_left_out(part: Part) -> bool:
    """Tell whether a part of another format is not written at all."""
    return _reason_to_leave(part) is not None


def _cleared_parts(message: Message, sentences: dict[str, None]) -> Iterator[Part]:
    calls = has_call(message)
    for part in message.parts:
        reason = _BLANK if calls and is_blank_text(part) else _reason_to_leave(part)
        if reason is not None:
            sentences.setdefault(reason)
        elif isinstance(part, ToolResult):
            yield _cleared_result(part, sentences)
        elif isinstance(part, ContentPart):
            placed = in_place(part, message.role)
            _tell(part, placed, message.role, sentences)
            yield placed
        else:
            yield part


def _reason_to_leave(part: Part) -> str | None:
    if isinstance(part, Reasoning):
        return REASONING
    if isinstance(part, Compaction):
        return None if part.provider == PROVIDER else COMPACTION
    return _APPROVALS if isinstance(part, ApprovalRequest | ApprovalResponse) else None


def _cleared_result(result: ToolResult, sentences: dict[str, None]) -> ToolResult:
    if result.is_error:
        sentences.setdefault(_ERROR_MARK)
        result = replace(result, is_error=False)
    placed = result_in_place(result)
    if not isinstance(result.content, str) and not isinstance(placed.content, str):
        for before, after in zip(result.content, placed.content, strict=True):
            _tell(before, after, "tool", sentences)
    return placed


def _tell(before: ContentPart, after: ContentPart, role: str, sentences: dict[str, None]) -> None:
    if after is not before:
        sentences.setdefault(stand_in_sentence(before, role))


def _known_in_place(part: Unknown, role: str) -> ContentPart:
    """Read an unknown part that this wire knows after all; a picture that it holds by a file id stays one."""
    raw = part.raw
    if not isinstance(raw, dict):
        return stand_in(part)
    if raw.get("type") in _HELD and role != "assistant":
        return part
    try:
        read = read_part(raw, "")
    except InvalidRequestError:
        read = part
    return stand_in(part) if isinstance(read, Unknown) else in_place(read, role)


def _has_place(part: Image | File | Audio, role: str) -> bool:
    if role == "assistant" or isinstance(part, Audio):
        return False
    return bool(part.url or part.data) or (isinstance(part, File) and bool(part.file_id))
