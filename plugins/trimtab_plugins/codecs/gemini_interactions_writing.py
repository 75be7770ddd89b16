"""Writing of Gemini Interactions steps: from scratch, and as a changed copy of what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab_plugins.codecs.content import content_of
from trimtab_plugins.codecs.gemini_interactions_parts import patch_contents, write_contents
from trimtab_plugins.codecs.gemini_originals import Remembered, is_unchanged
from trimtab_plugins.codecs.gemini_runs import SYSTEM_ROLES, call_names
from trimtab_plugins.codecs.gemini_system import place_system_text
from trimtab_plugins.codecs.gemini_values import parse_object
from trimtab_plugins.codecs.message_kinds import has_call
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject, shown
from trimtab_sdk import (
    ContentPart,
    InvalidRequestError,
    Message,
    Place,
    Reasoning,
    ToolCall,
    ToolResult,
)


def write_steps(messages: Sequence[Message], read: Remembered) -> list[JsonObject]:
    """Write messages in order, user messages in a row as one step; the system text of the head is left out."""
    blocks = place_system_text(messages).blocks
    names = call_names(messages) if any(message.id not in read.entries for message in messages) else {}
    steps: list[JsonObject] = []
    for position, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            continue
        entry = read.entries.get(message.id)
        written = [_known_step(entry, message)] if entry is not None else _new_steps(position, message, names)
        said = [{"type": "text", "text": text} for text in blocks.get(position, ())]
        for step in written:
            _append(steps, _with_front(step, said) if step["type"] == "user_input" else step)
        if said and not any(step["type"] == "user_input" for step in written):
            _append(steps, {"type": "user_input", "content": said})
    return steps


def _append(steps: list[JsonObject], step: JsonObject) -> None:
    if steps and steps[-1]["type"] == step["type"] == "user_input":
        steps[-1] = {**steps[-1], "content": [*_content_in(steps[-1]), *_content_in(step)]}
    else:
        steps.append(step)


def _with_front(step: JsonObject, front: Sequence[object]) -> JsonObject:
    return {**step, "content": [*front, *_content_in(step)]} if front else step


def _content_in(step: JsonObject) -> list[object]:
    content = step.get("content")
    return content if isinstance(content, list) else []


def _known_step(entry: Entry, message: Message) -> JsonObject:
    return entry.wire if is_unchanged(entry, message) else _patched(entry, message)


def _patched(entry: Entry, message: Message) -> JsonObject:
    old, new = entry.message, message
    if len(old.parts) != len(new.parts):
        raise InvalidRequestError(
            f"message {shown(new.id)} has other parts than the step it was read from", ids=(new.id,)
        )
    for first, changed in zip(old.parts, new.parts, strict=True):
        if isinstance(first, ToolResult) and isinstance(changed, ToolResult):
            return {**entry.wire, "result": _patched_result(entry.wire.get("result"), first, changed)}
    content = patch_contents(_content_in(entry.wire), content_of(old.parts), content_of(new.parts))
    return {**entry.wire, "content": content}


def _patched_result(raw: object, old: ToolResult, new: ToolResult) -> object:
    if isinstance(raw, list) and not isinstance(old.content, str) and not isinstance(new.content, str):
        return patch_contents(raw, old.content, new.content)
    return new.content if isinstance(new.content, str) else write_contents(new.content)


def _new_steps(position: int, message: Message, names: Mapping[Place, str]) -> list[JsonObject]:
    if message.role == "assistant":
        return list(_model_steps(message))
    if has_call(message):
        raise InvalidRequestError(
            f"message {shown(message.id)} cannot be written for Gemini: only an assistant message calls functions",
            ids=(message.id,),
        )
    steps = [
        _result_step(part, names.get((position, index), ""))
        for index, part in enumerate(message.parts)
        if isinstance(part, ToolResult)
    ]
    content = write_contents(content_of(message.parts))
    return [*steps, {"type": "user_input", "content": content}] if content else steps


def _model_steps(message: Message) -> Iterator[JsonObject]:
    """Of thoughts only a signature is written, for they are another provider's."""
    said: list[ContentPart] = []
    for part in message.parts:
        if isinstance(part, ContentPart):
            said.append(part)
            continue
        if not isinstance(part, ToolCall | Reasoning):
            continue
        yield from _output_step(said)
        said = []
        if isinstance(part, ToolCall):
            yield _call_step(part)
        elif part.opaque:
            yield {"type": "thought", "signature": part.opaque}
    yield from _output_step(said)


def _output_step(said: Sequence[ContentPart]) -> Iterator[JsonObject]:
    content = write_contents(said)
    if content:
        yield {"type": "model_output", "content": content}


def _call_step(call: ToolCall) -> JsonObject:
    arguments = parse_object(call.arguments)
    return {
        "type": "function_call",
        "id": call.call_id,
        "name": call.name,
        "arguments": {"arguments": call.arguments} if arguments is None else arguments,
    }


def _result_step(result: ToolResult, name: str) -> JsonObject:
    content = result.content if isinstance(result.content, str) else write_contents(result.content)
    step: JsonObject = {"type": "function_result", "call_id": result.call_id}
    if name:
        step["name"] = name
    step["result"] = content or ""
    return {**step, "is_error": True} if result.is_error else step


def steps_count(message: Message) -> int:
    """Give how many steps a message becomes: each thought, call and result is one, and so is a row of contents."""
    steps = 0
    in_content = False
    for part in message.parts:
        if isinstance(part, ContentPart):
            steps += not in_content
            in_content = True
        elif isinstance(part, ToolCall | ToolResult | Reasoning):
            steps += 1
            in_content = False
    return steps
