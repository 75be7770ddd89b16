"""Writing of Chat Completions messages: from scratch, and as a changed copy of what was read."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.chat_completions_foreign import in_place, result_in_place
from trimtab_plugins.codecs.chat_completions_parts import write_part
from trimtab_plugins.codecs.content import content_of, patch_content, result_parts, write_content
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import (
    Audio,
    ContentPart,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

_REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_details")


def write_message(message: Message) -> JsonObject:
    """Write a message that was not read by this codec, and that `apart` has taken apart.

    Reasoning and compactions belong to the wire they came from and are left out, approvals and notices have
    no place here. A picture, file or sound that has none either is written as a text that says so.
    """
    if message.role == "tool":
        return _write_result(message)
    if len(message.parts) == 1 and type(part := message.parts[0]) is Text and not message.name:
        return {"role": message.role, "content": part.text}
    content = content_of(message.parts)
    spoken = next((part for part in content if _is_held_sound(part, message)), None)
    written = [in_place(part, "user") for part in content if part is not spoken]
    calls = _calls_of(message.parts)
    wire: JsonObject = {"role": message.role, "content": _write_body(written, calls)}
    if message.name:
        wire["name"] = message.name
    if isinstance(spoken, Audio):
        wire["audio"] = {"id": spoken.audio_id}
    if calls:
        wire["tool_calls"] = [_write_call(call) for call in calls]
    return wire


def _is_held_sound(part: ContentPart, message: Message) -> bool:
    return isinstance(part, Audio) and bool(part.audio_id) and message.role == "assistant"


def _write_body(content: Sequence[ContentPart], calls: Sequence[ToolCall]) -> object:
    if not content:
        return None if calls else ""
    return write_content(content, write_part)


def _write_result(message: Message) -> JsonObject:
    result = result_in_place(_result_of(message))
    content = result.content
    wire: JsonObject = {"role": "tool", "tool_call_id": result.call_id, "content": content}
    if not isinstance(content, str):
        wire["content"] = [write_part(part) for part in content] or ""
    return wire


def _result_of(message: Message) -> ToolResult:
    return next((part for part in message.parts if isinstance(part, ToolResult)), ToolResult("", ""))


def _write_call(call: ToolCall) -> JsonObject:
    return {
        "id": call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def patch_message(wire: JsonObject, old: Message, new: Message) -> JsonObject:
    """Give a copy of `wire`, which was read as `old`, changed so that it reads as `new`.

    Keys that the change does not touch stay, unknown ones included.
    """
    patched = dict(wire)
    if old.role != new.role:
        patched["role"] = new.role
    if old.name != new.name:
        _set_or_drop(patched, "name", new.name)
    if old.role == "tool":
        _patch_result(patched, old, new)
    else:
        _patch_content(patched, old, new)
        _patch_calls(patched, _calls_of(old.parts), _calls_of(new.parts))
        if _reasoning_of(old.parts) != _reasoning_of(new.parts):
            for key in _REASONING_KEYS:
                patched.pop(key, None)
    return patched


def _patch_result(patched: JsonObject, old: Message, new: Message) -> None:
    before, after = _result_of(old), _result_of(new)
    if before.call_id != after.call_id:
        patched["tool_call_id"] = after.call_id
    patched["content"] = patch_content(
        patched.get("content"), result_parts(before), result_parts(after), write_part
    )


def _patch_content(patched: JsonObject, old: Message, new: Message) -> None:
    before, after = content_of(old.parts), content_of(new.parts)
    size = _items_in(patched.get("content"))
    body, tail = before[:size], before[size:]
    if len(before) == len(after):
        new_body, new_tail = after[:size], after[size:]
    else:
        new_tail = tuple(part for part in after if part in tail)
        new_body = tuple(part for part in after if part not in tail)
    if new_body != body:
        patched["content"] = patch_content(patched.get("content"), body, new_body, write_part)
    if new_tail != tail:
        _patch_tail(patched, new_tail)


def _items_in(content: object) -> int:
    """How many parts of a message its content gave; those behind them came from other keys."""
    if isinstance(content, list):
        return len(content)
    return 1 if isinstance(content, str) else 0


def _patch_tail(patched: JsonObject, tail: Sequence[ContentPart]) -> None:
    if "refusal" in patched:
        patched["refusal"] = next((part.text for part in tail if isinstance(part, Text)), None)
    if not any(isinstance(part, Audio) for part in tail):
        patched.pop("audio", None)


def _patch_calls(patched: JsonObject, old: Sequence[ToolCall], new: Sequence[ToolCall]) -> None:
    if old == new:
        return
    stored = patched.pop("tool_calls", None)
    patched.pop("function_call", None)
    known = dict(zip(old, stored, strict=False)) if isinstance(stored, list) else {}
    if new:
        patched["tool_calls"] = [known[call] if call in known else _write_call(call) for call in new]


def _calls_of(parts: Sequence[Part]) -> list[ToolCall]:
    return [part for part in parts if isinstance(part, ToolCall)]


def _reasoning_of(parts: Sequence[Part]) -> list[Reasoning]:
    return [part for part in parts if isinstance(part, Reasoning)]


def _set_or_drop(patched: JsonObject, key: str, value: object) -> None:
    if value is None:
        patched.pop(key, None)
    else:
        patched[key] = value
