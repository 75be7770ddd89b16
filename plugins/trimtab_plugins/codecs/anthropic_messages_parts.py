"""Reading of the content blocks of the Anthropic Messages wire. Every block gives exactly one part."""

from __future__ import annotations

from collections.abc import Callable

from trimtab_plugins.codecs.anthropic_messages_kept import COMPACTED_BY
from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.reading import (
    MISSING,
    JsonObject,
    flag_if_any,
    json_text,
    object_in,
    text_if_any,
    text_in,
    wrong,
)
from trimtab_sdk import (
    Compaction,
    ContentPart,
    File,
    Image,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

ANY_IMAGE = "image/*"
"""The media type of a picture that the provider holds under a file id."""


def read_part(block: JsonObject, path: str, role: str) -> Part:
    """Read one block of a message; of a kind that is not known here it becomes Unknown.

    Raises InvalidRequestError for a call outside an assistant message and a result outside a user message.
    """
    kind = block.get("type")
    if kind == "tool_use" and role != "assistant":
        raise wrong(f"{path}.type", "another kind, for only an assistant message calls tools", kind)
    if kind == "tool_result" and role != "user":
        raise wrong(f"{path}.type", "another kind, for only a user message holds tool results", kind)
    reader = _READERS_BY_ROLE.get((role, kind)) if isinstance(kind, str) else None
    return reader(block, path) if reader is not None else read_content_part(block, path)


def read_content_part(block: JsonObject, path: str) -> ContentPart:
    """Read one block of a kind that may also stand inside a tool result or a system text."""
    kind = block.get("type")
    if kind == "text":
        return Text(text_in(block, "text", path))
    if kind == "image":
        return _read_image(block, path)
    if kind == "document":
        return _read_document(block, path)
    return Unknown(block)


def _read_image(block: JsonObject, path: str) -> ContentPart:
    source = object_in(block, "source", path)
    inner = f"{path}.source"
    kind = source.get("type")
    if kind == "base64":
        return Image(data=text_in(source, "data", inner), media_type=text_if_any(source, "media_type", inner))
    if kind == "url":
        return Image(url=text_in(source, "url", inner))
    if kind == "file":
        return File(media_type=ANY_IMAGE, file_id=text_in(source, "file_id", inner))
    return Unknown(block)


def _read_document(block: JsonObject, path: str) -> ContentPart:
    """A document with a context, or one made of blocks, says more than a file can hold."""
    source = object_in(block, "source", path)
    inner = f"{path}.source"
    kind = source.get("type")
    if block.get("context"):
        return Unknown(block)
    name, media_type = text_if_any(block, "title", path), text_if_any(source, "media_type", inner)
    if kind == "base64":
        return File(name=name, media_type=media_type, data=text_in(source, "data", inner))
    if kind == "text":
        return File(name=name, media_type=media_type, text=text_in(source, "data", inner))
    if kind == "url":
        return File(name=name, media_type=media_type, url=text_in(source, "url", inner))
    if kind == "file":
        return File(name=name, media_type=media_type, file_id=text_in(source, "file_id", inner))
    return Unknown(block)


def _read_thinking(block: JsonObject, path: str) -> Reasoning:
    return Reasoning(text_if_any(block, "thinking", path), text_if_any(block, "signature", path))


def _read_redacted(block: JsonObject, path: str) -> Reasoning:
    return Reasoning(opaque=text_in(block, "data", path))


def _read_call(block: JsonObject, path: str) -> ToolCall:
    return ToolCall(
        text_in(block, "id", path), text_in(block, "name", path), json_text(object_in(block, "input", path))
    )


def _read_result(block: JsonObject, path: str) -> ToolResult:
    call_id, is_error = text_in(block, "tool_use_id", path), flag_if_any(block, "is_error", path)
    content = block.get("content", MISSING)
    if content is MISSING or content is None:
        return ToolResult(call_id, "", is_error)
    if isinstance(content, str):
        return ToolResult(call_id, content, is_error)
    return ToolResult(call_id, read_content(content, f"{path}.content", read_content_part), is_error)


def _read_compaction(block: JsonObject, path: str) -> Compaction:
    return Compaction(COMPACTED_BY, json_text(block))


_READERS_BY_ROLE: dict[tuple[str, str], Callable[[JsonObject, str], Part]] = {
    ("assistant", "thinking"): _read_thinking,
    ("assistant", "redacted_thinking"): _read_redacted,
    ("assistant", "tool_use"): _read_call,
    ("assistant", "compaction"): _read_compaction,
    ("user", "tool_result"): _read_result,
    ("user", "compaction"): _read_compaction,
}
