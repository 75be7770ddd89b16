"""From the lines of a Claude Code transcript to messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.claude_code_lines import Line
from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.reading import (
    MISSING,
    JsonObject,
    flag_if_any,
    json_text,
    object_in,
    read_object,
    text_if_any,
    text_in,
    wrong,
)
from trimtab_plugins.codecs.splitting import apart
from trimtab_sdk import (
    ContentPart,
    File,
    Image,
    Message,
    Part,
    Reasoning,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages, and how many lines without words were passed over."""

    messages: tuple[Message, ...]
    counts: Counter[str] = field(default_factory=Counter)


def read_messages(lines: Sequence[Line]) -> Messages:
    """Read lines with a message. The lines of one answer become one message, where its first line stands."""
    drafts: dict[str, tuple[Line, list[Part]]] = {}
    counts: Counter[str] = Counter()
    for at, line in enumerate(lines):
        parts = list(_read_parts(line))
        if not parts:
            counts["lines without words"] += 1
            continue
        key = f"answer {line.answer_id}" if line.answer_id else f"line {at}"
        drafts.setdefault(key, (line, []))[1].extend(parts)
    messages = [_message(line, parts, f"m{at}") for at, (line, parts) in enumerate(drafts.values())]
    return Messages(apart(messages), counts)


def _message(line: Line, parts: Sequence[Part], spare_id: str) -> Message:
    role = _role_of(line)
    source: Source = "system" if role == "system" else "summary" if line.is_summary else "history"
    return Message(line.uuid or spare_id, role, tuple(parts), source=source)


def _role_of(line: Line) -> Role:
    told = line.message.get("role", line.kind) if line.message is not None else line.kind
    role = _ROLES.get(told) if isinstance(told, str) else None
    if role is None:
        raise wrong(f"{line.path}.message.role", "user, assistant or system", told)
    return role


def _read_parts(line: Line) -> Iterator[Part]:
    message = line.message or {}
    path = f"{line.path}.message.content"
    content = message.get("content", MISSING)
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    if not isinstance(content, list):
        raise wrong(path, "a text or a list of blocks", content)
    for at, block in enumerate(content):
        inner = f"{path}[{at}]"
        yield Text(block) if isinstance(block, str) else _read_block(read_object(block, inner), inner)


def _read_block(block: JsonObject, path: str) -> Part:
    kind = block.get("type")
    if kind == "thinking":
        return Reasoning(text_if_any(block, "thinking", path), text_if_any(block, "signature", path))
    if kind == "redacted_thinking":
        return Reasoning(opaque=text_if_any(block, "data", path))
    if kind == "tool_use":
        arguments = object_in(block, "input", path) if block.get("input") is not None else {}
        return ToolCall(text_in(block, "id", path), text_in(block, "name", path), json_text(arguments))
    if kind == "tool_result":
        return _read_result(block, path)
    return _read_content_block(block, path)


def _read_result(block: JsonObject, path: str) -> ToolResult:
    call_id, content = text_in(block, "tool_use_id", path), block.get("content")
    is_error = flag_if_any(block, "is_error", path)
    if content is None or isinstance(content, str):
        return ToolResult(call_id, content or "", is_error)
    return ToolResult(call_id, read_content(content, f"{path}.content", _read_content_block), is_error)


def _read_content_block(block: JsonObject, path: str) -> ContentPart:
    kind = block.get("type")
    if kind == "text":
        return Text(text_in(block, "text", path))
    source = block.get("source")
    if isinstance(source, dict) and kind == "image":
        return _read_image(source, f"{path}.source") or Unknown(block)
    if isinstance(source, dict) and kind == "document":
        return _read_document(block, source, path) or Unknown(block)
    return Unknown(block)


def _read_image(source: JsonObject, path: str) -> Image | None:
    if source.get("type") == "base64":
        return Image(data=text_in(source, "data", path), media_type=text_if_any(source, "media_type", path))
    return Image(url=text_in(source, "url", path)) if source.get("type") == "url" else None


def _read_document(block: JsonObject, source: JsonObject, path: str) -> File | None:
    kind, inner = source.get("type"), f"{path}.source"
    name, media_type = text_if_any(block, "title", path), text_if_any(source, "media_type", inner)
    if kind == "base64":
        return File(name, media_type, data=text_in(source, "data", inner))
    if kind == "text":
        return File(name, media_type, text=text_in(source, "data", inner))
    return File(name, url=text_in(source, "url", inner)) if kind == "url" else None
