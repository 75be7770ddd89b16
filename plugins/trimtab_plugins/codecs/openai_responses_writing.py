"""Writing of Responses items: from scratch, and as a changed copy of what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab_plugins.codecs.content import content_of, result_parts
from trimtab_plugins.codecs.openai_responses_foreign import in_place, is_item, is_left_out, result_in_place
from trimtab_plugins.codecs.openai_responses_items import SHELL_STREAMS, is_shell_output
from trimtab_plugins.codecs.openai_responses_kinds import RESULTS, kind_of
from trimtab_plugins.codecs.openai_responses_parts import patch_part, read_part, words_of, write_part
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import (
    Compaction,
    ContentPart,
    Message,
    Part,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)


def write_items(message: Message) -> list[object]:
    """Write a message that was not read by this codec: its texts, its calls and its results, in their order.

    Reasoning belongs to the wire it came from and is left out, as are compactions of other providers; approvals,
    notices and names have no place here. A picture, file or sound that has none is written as a text that says
    so. What a tool message says beside its results becomes a user message, and a message of no parts an empty
    text.
    """
    items: list[object] = []
    said: list[ContentPart] = []
    for part in message.parts:
        if isinstance(part, ContentPart) and not is_item(part):
            said.append(part)
            continue
        written = None if is_left_out(part) else _write_alone(part)
        if written is not None:
            items += [*_write_said(said, message), written]
            said = []
    items += _write_said(said, message)
    return items if items or message.parts else [_message_item(message.role, "")]


def _write_alone(part: Part) -> object:
    """Write a part that is an item by itself, None when it has no place on this wire."""
    if isinstance(part, ToolCall):
        return {
            "type": "function_call",
            "call_id": part.call_id,
            "name": part.name,
            "arguments": part.arguments,
        }
    if isinstance(part, ToolResult):
        return {
            "type": "function_call_output",
            "call_id": part.call_id,
            "output": _write_output(result_in_place(part)),
        }
    if isinstance(part, Compaction):
        return {"type": "compaction", "encrypted_content": part.opaque}
    return part.raw if isinstance(part, Unknown) else None


def _write_output(result: ToolResult) -> object:
    if isinstance(result.content, str):
        return result.content
    return [write_part(part) for part in result.content] or ""


def _write_said(said: Sequence[ContentPart], message: Message) -> list[object]:
    """Write content. An answer has one item for each text: a list of texts would need ids that nobody gave."""
    if not said:
        return []
    role = "user" if message.role == "tool" else message.role
    placed = [in_place(part, role) for part in said]
    if role == "assistant":
        return [_message_item(role, words_of(part)) for part in placed]
    if len(placed) == 1 and isinstance(placed[0], Text):
        return [_message_item(role, placed[0].text)]
    return [_message_item(role, [write_part(part) for part in placed])]


def _message_item(role: str, content: object) -> JsonObject:
    return {"type": "message", "role": role, "content": content}


def patch_item(wire: JsonObject, old: Message, new: Message) -> JsonObject:
    """Give a copy of `wire`, which was read as `old`, changed so that it reads as `new`.

    Keys that the change does not touch stay, unknown ones included.
    """
    kind = kind_of(wire)
    patched = dict(wire)
    if kind == "message":
        if old.role != new.role:
            patched["role"] = new.role
        patched["content"] = _patch_content(wire.get("content"), content_of(old.parts), content_of(new.parts))
    elif isinstance(kind, str) and kind in RESULTS:
        _patch_result(patched, RESULTS[kind], old, new)
    return patched


def _patch_result(patched: JsonObject, key: str, old: Message, new: Message) -> None:
    before = next((part for part in old.parts if isinstance(part, ToolResult)), None)
    after = next((part for part in new.parts if isinstance(part, ToolResult)), None)
    if before is None or after is None or before.content == after.content:
        return
    raw = patched.get(key)
    if is_shell_output(raw):
        patched[key] = _patch_shell(raw, result_parts(after))
    else:
        patched[key] = _patch_content(raw, result_parts(before), result_parts(after))


def _patch_shell(raw: object, parts: Sequence[ContentPart]) -> object:
    chunks: Sequence[JsonObject] = raw if isinstance(raw, list) else ()
    texts = iter([words_of(part) for part in parts])
    return [_with_streams(chunk, texts) for chunk in chunks]


def _with_streams(chunk: JsonObject, texts: Iterator[str]) -> JsonObject:
    streams: JsonObject = {stream: next(texts, "") for stream in SHELL_STREAMS}
    return {**chunk, **streams}


def _patch_content(raw: object, old: Sequence[ContentPart], new: Sequence[ContentPart]) -> object:
    if tuple(old) == tuple(new):
        return raw
    if not isinstance(raw, list):
        if all(isinstance(part, Text) for part in new):
            return "".join(words_of(part) for part in new)
        return [write_part(part) for part in new]
    if len(old) == len(new):
        return [patch_part(item, before, after) for item, before, after in zip(raw, old, new, strict=True)]
    known = {part: item for part, item in zip(old, raw, strict=True) if not isinstance(part, Unknown)}
    return [known[part] if part in known else write_part(part) for part in new]


def without_id(wire: JsonObject) -> Iterator[object]:
    """Give an item of an answer so that the server does not ask for the reasoning it knows it by.

    A call goes without its id; a message becomes one of the easy form, for the exact form must have an id.
    Items of the provider's own tools must have theirs, and stay as they are.
    """
    kind = kind_of(wire)
    if kind in ("function_call", "custom_tool_call"):
        yield _without_key(wire, "id")
    elif kind == "message" and "id" in wire:
        easy: JsonObject = {key: wire[key] for key in ("type", "role", "phase") if key in wire}
        for text in _texts_in(wire.get("content")):
            yield {**easy, "content": text}
    else:
        yield wire


def _without_key(wire: JsonObject, key: str) -> JsonObject:
    return {name: value for name, value in wire.items() if name != key}


def _texts_in(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield words_of(read_part(part, ""))
