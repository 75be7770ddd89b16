"""Writing of neutral messages: from scratch, and as a changed copy of what was read."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.codecs.content import content_of, patch_content, result_parts, write_content
from trimtab_plugins.codecs.neutral_parts import write_part
from trimtab_plugins.codecs.neutral_reading import KINDS
from trimtab_plugins.codecs.reading import RESULT_ID_KEYS, JsonObject
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    ContentPart,
    Message,
    Part,
    Reasoning,
    ToolCall,
    ToolResult,
)

_PARTS_KEYS = frozenset(
    {
        "content",
        "tool_calls",
        "is_error",
        "blocks",
        "reasoning",
        "approval_requests",
        "approval_responses",
        *RESULT_ID_KEYS,
    }
)


def write_message(message: Message) -> JsonObject:
    """Write a message that was not read by this codec, and that `apart` has taken apart.

    Notices and compactions are left out.
    """
    return {"id": message.id, "role": message.role} | _write_parts(message) | _write_flags(message)


def _write_parts(message: Message) -> JsonObject:
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    result = _result_of(message)
    content = content_of(message.parts)
    wire: JsonObject = {}
    if result is not None:
        wire |= _write_result(result)
    elif content:
        wire["content"] = write_content(content, write_part)
    else:
        wire["content"] = None if calls or message.role == "tool" else ""
    if calls:
        wire["tool_calls"] = [_write_call(call) for call in calls]
    return wire | _write_thoughts_and_approvals(message.parts)


def _result_of(message: Message) -> ToolResult | None:
    return next((part for part in message.parts if isinstance(part, ToolResult)), None)


def _write_result(result: ToolResult) -> JsonObject:
    content = result.content
    wire: JsonObject = {
        "content": content if isinstance(content, str) else [write_part(part) for part in content],
        "tool_call_id": result.call_id,
    }
    return wire | {"is_error": True} if result.is_error else wire


def _write_call(call: ToolCall) -> JsonObject:
    return {"id": call.call_id, "name": call.name, "arguments": call.arguments}


def _write_thoughts_and_approvals(parts: Sequence[Part]) -> JsonObject:
    lists: dict[str, list[object]] = {"blocks": [], "approval_requests": [], "approval_responses": []}
    for part in parts:
        if isinstance(part, Reasoning):
            lists["blocks"].append({"type": "thinking", "thinking": part.text, "signature": part.opaque})
        elif isinstance(part, ApprovalRequest):
            asked = {"approval_id": part.approval_id, "tool_call_id": part.call_id}
            lists["approval_requests"].append(asked)
        elif isinstance(part, ApprovalResponse):
            lists["approval_responses"].append({"approval_id": part.approval_id, "approved": part.approved})
    return {key: items for key, items in lists.items() if items}


def _write_flags(message: Message) -> JsonObject:
    flags: JsonObject = {
        "name": message.name,
        "kind": KINDS.get(message.source),
        "pinned": message.pinned or None,
        "required": message.required or None,
        "ephemeral": message.ephemeral or None,
        "relevance": message.relevance,
        "meta": dict(message.meta) or None,
    }
    return {key: value for key, value in flags.items() if value is not None}


def patch_message(wire: JsonObject, old: Message, new: Message) -> JsonObject:
    """Give a copy of `wire`, which was read as `old`, changed so that it reads as `new`.

    Keys that the change does not touch stay, unknown ones included.
    """
    patched = dict(wire)
    if old.name != new.name:
        patched["name"] = new.name
    if old.role != new.role or _beside_content(old.parts) != _beside_content(new.parts):
        kept = {key: value for key, value in patched.items() if key not in _PARTS_KEYS}
        return kept | {"role": new.role} | _write_parts(new)
    before, after = _result_of(old), _result_of(new)
    if before is None or after is None:
        was, will_be = content_of(old.parts), content_of(new.parts)
    else:
        was, will_be = result_parts(before), result_parts(after)
    patched["content"] = patch_content(patched.get("content"), was, will_be, write_part)
    return patched


def _beside_content(parts: Sequence[Part]) -> list[object]:
    """What an edit never touches; of a tool result, the call it answers."""
    return [
        part.call_id if isinstance(part, ToolResult) else part
        for part in parts
        if not isinstance(part, ContentPart)
    ]
