"""Parts of messages from other formats that the Responses wire has no place for.

An answer holds texts alone, and a sound has no place anywhere. What has none becomes a text that says so;
reasoning, compactions and approvals leave without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from trimtab_plugins.codecs.openai_responses_items import PROVIDER
from trimtab_plugins.codecs.openai_responses_kinds import KINDS
from trimtab_plugins.codecs.openai_responses_parts import read_part
from trimtab_plugins.codecs.reading import is_blank, shown
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
    ToolCall,
    ToolResult,
    Unknown,
)

_BLANK = "took out a blank text beside calls, which would be an empty message of its own"
_REASONING = "left out the reasoning, which only the wire it came from can take back"
_COMPACTION = "left out what a provider compacted, which only that provider can read"
_APPROVALS = "left out the approvals, which openai-responses knows for tools of its own alone"
_ERROR_MARK = "left out the mark that the result is an error, for which openai-responses has no key"
_NAME = "left out the name, for which openai-responses has no key"
_HELD = frozenset({"input_image", "input_file"})


class Cleared(NamedTuple):
    """A message that this wire can hold, and a sentence for each kind of thing that was taken out."""

    message: Message
    sentences: tuple[str, ...]


def clear_foreign(message: Message) -> Cleared:
    """Take what has no place out of a message that another codec read; without any it is the same object."""
    sentences: dict[str, None] = {}
    if message.name is not None:
        sentences[_NAME] = None
    parts = tuple(_cleared_parts(message, sentences))
    if not sentences:
        return Cleared(message, ())
    return Cleared(replace(message, parts=parts, name=None), tuple(sentences))


def in_place(part: ContentPart, role: str) -> ContentPart:
    """Give a part that a message of this role, or the output of a tool, can hold; else a text in its place."""
    if isinstance(part, Text) or is_item(part):
        return part
    if isinstance(part, Unknown):
        return _known_in_place(part, role)
    if isinstance(part, File) and part.text:
        return Text(part.text)
    return part if _has_place(part, role) else Text(f"[{_words_for(part)} left out]")


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
    calls = any(isinstance(part, ToolCall) for part in message.parts)
    for part in message.parts:
        reason = _BLANK if calls and _is_blank_text(part) else _reason_to_leave(part)
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


def _is_blank_text(part: Part) -> bool:
    return isinstance(part, Text) and is_blank(part.text)


def _reason_to_leave(part: Part) -> str | None:
    if isinstance(part, Reasoning):
        return _REASONING
    if isinstance(part, Compaction):
        return None if part.provider == PROVIDER else _COMPACTION
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
        article = "an" if role == "assistant" else "a"
        sentences.setdefault(
            f"put a text in place of {_kind_of(before)}, for which {article} {role} message has no place"
        )


def _known_in_place(part: Unknown, role: str) -> ContentPart:
    """Read an unknown part that this wire knows after all; a picture that it holds by a file id stays one."""
    raw = part.raw
    if not isinstance(raw, dict):
        return Text(f"[{_kind_of(part)} left out]")
    if raw.get("type") in _HELD and role != "assistant":
        return part
    try:
        read = read_part(raw, "")
    except InvalidRequestError:
        read = part
    return Text(f"[{_kind_of(part)} left out]") if isinstance(read, Unknown) else in_place(read, role)


def _has_place(part: Image | File | Audio, role: str) -> bool:
    if role == "assistant" or isinstance(part, Audio):
        return False
    return bool(part.url or part.data) or (isinstance(part, File) and bool(part.file_id))


def _words_for(part: ContentPart) -> str:
    if isinstance(part, File) and part.name:
        return f"file {shown(part.name)}"
    return _kind_of(part)


def _kind_of(part: ContentPart) -> str:
    if isinstance(part, Unknown):
        kind = part.raw.get("type") if isinstance(part.raw, dict) else None
        return shown(kind) if isinstance(kind, str) and kind else "part"
    return type(part).__name__.lower()
