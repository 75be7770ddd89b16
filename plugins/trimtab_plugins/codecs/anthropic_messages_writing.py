"""Writing of Anthropic messages: from scratch, and as a changed copy of what was read."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from trimtab_plugins.codecs.anthropic_messages_input import read_input
from trimtab_plugins.codecs.anthropic_messages_kept import compaction_block, is_written
from trimtab_plugins.codecs.anthropic_messages_media import file_block, image_block
from trimtab_plugins.codecs.content import result_parts
from trimtab_plugins.codecs.message_kinds import is_blank_text
from trimtab_plugins.codecs.reading import JsonObject, shown
from trimtab_sdk import (
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


def write_message(message: Message) -> JsonObject:
    """Write a message that was not read by this codec.

    Reasoning belongs to the wire it came from and is left out; approvals and notices have no place here.
    Raises InvalidRequestError, naming the message, for what no message of this wire can hold.
    """
    role = "assistant" if message.role == "assistant" else "user"
    parts = [part for part in message.parts if is_written(part) and not isinstance(part, Reasoning)]
    if len(parts) == 1 and isinstance(parts[0], Text):
        return {"role": role, "content": parts[0].text}
    return {"role": role, "content": [write_block(part, message) for part in parts]}


def write_texts(message: Message) -> list[object]:
    """Write the blocks of a system message; blank texts add nothing and are refused, so they are left out."""
    return [write_block(part, message) for part in message.parts if is_written(part) and not is_blank_text(part)]


def write_block(part: Part, message: Message) -> object:
    """Write one part of a message. Raises InvalidRequestError for one that has no place in it."""
    if isinstance(part, Compaction):
        return compaction_block(part)
    if isinstance(part, ToolCall):
        return _write_call(part, message)
    if isinstance(part, ToolResult):
        return _write_result(part, message)
    if isinstance(part, ContentPart):
        return _write_content_part(part, message)
    raise _refused(message, "it holds something this wire has no place for")


def _write_content_part(part: ContentPart, message: Message) -> object:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if isinstance(part, Unknown):
        return part.raw
    block = carried(part)
    if block is None:
        raise _refused(message, "the wire takes no sounds, and only some types of pictures and documents")
    return block


def carried(part: Image | File | Audio) -> JsonObject | None:
    """Give the block of a picture or a file, None when the wire has no place for it."""
    if isinstance(part, Image):
        return image_block(part)
    return file_block(part) if isinstance(part, File) else None


def _write_call(call: ToolCall, message: Message) -> JsonObject:
    if message.role != "assistant":
        raise _refused(message, "only an assistant message calls tools")
    given = read_input(call.arguments)
    if given is None:
        raise _refused(message, f"the arguments of {shown(call.call_id)} must be the JSON text of an object")
    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": given}


def _write_result(result: ToolResult, message: Message) -> JsonObject:
    if message.role == "assistant":
        raise _refused(message, "a tool result stands in a user message")
    content: object = result.content
    if not isinstance(result.content, str):
        content = [_write_content_part(part, message) for part in result.content]
    wire: JsonObject = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return {**wire, "is_error": True} if result.is_error else wire


def _refused(message: Message, rule: str) -> InvalidRequestError:
    return InvalidRequestError(
        f"message {shown(message.id)} cannot be written for anthropic-messages: {rule}",
        ids=(message.id,),
    )


def patch_message(wire: JsonObject, old: Message, new: Message) -> JsonObject:
    """Give a copy of `wire`, which was read as `old`, changed so that it reads as `new`.

    Blocks that did not change are the very objects that were read, and one that did keeps its other keys.
    """
    content = wire.get("content")
    if not isinstance(content, list):
        return {**wire, "content": write_message(new)["content"]}
    return {**wire, "content": _patch_blocks(content, old.parts, new)}


def _patch_blocks(raw: Sequence[object], old: Sequence[Part], new: Message) -> list[object]:
    """Match parts that are equal first, then, where as many of a kind are left on both sides, by their order."""
    waiting = _Waiting(raw, old)
    parts = [part for part in new.parts if is_written(part)]
    blocks = [waiting.take_equal(part) for part in parts]
    for kind in (Text, ToolCall, ToolResult):
        missing = [at for at, part in enumerate(parts) if blocks[at] is None and isinstance(part, kind)]
        left = waiting.left(kind)
        if len(missing) == len(left):
            for at, (block, before) in zip(missing, left, strict=True):
                blocks[at] = _patch_block(block, before, parts[at], new)
    return list(_filled(blocks, parts, new))


def _filled(blocks: Sequence[object], parts: Sequence[Part], message: Message) -> Iterator[object]:
    for block, part in zip(blocks, parts, strict=True):
        if block is not None:
            yield block
        elif not isinstance(part, Reasoning):
            yield write_block(part, message)


class _Waiting:
    """The blocks of a message as it was read, each handed out once."""

    def __init__(self, raw: Sequence[object], old: Sequence[Part]) -> None:
        self._blocks = list(zip(raw, old, strict=True))
        self._places: dict[Part, deque[int]] = {}
        for at, part in enumerate(old):
            # An unknown part is written as it came anyway, and all of them hash alike.
            if not isinstance(part, Unknown):
                self._places.setdefault(part, deque()).append(at)
        self._given: set[int] = set()

    def take_equal(self, part: Part) -> object:
        """Give the block that reads as `part`, None when there is none left."""
        if isinstance(part, Unknown):
            return part.raw
        places = self._places.get(part)
        if not places:
            return None
        at = places.popleft()
        self._given.add(at)
        return self._blocks[at][0]

    def left(self, kind: type[Part]) -> list[tuple[object, Part]]:
        """Give the blocks of a kind that nobody took, each with the part it was read as."""
        return [
            pair for at, pair in enumerate(self._blocks) if at not in self._given and isinstance(pair[1], kind)
        ]


def _patch_block(block: object, before: Part, after: Part, message: Message) -> object:
    if not isinstance(block, dict):
        return write_block(after, message)
    if isinstance(after, Text):
        return {**block, "text": after.text}
    if isinstance(after, ToolCall) and isinstance(before, ToolCall):
        patched = {**block, "id": after.call_id, "name": after.name}
        return patched if before.arguments == after.arguments else {**patched, **_input_of(after, message)}
    if isinstance(after, ToolResult) and isinstance(before, ToolResult):
        return _patch_result(block, before, after, message)
    return write_block(after, message)


def _input_of(call: ToolCall, message: Message) -> JsonObject:
    return {"input": _write_call(call, message)["input"]}


def _patch_result(block: JsonObject, before: ToolResult, after: ToolResult, message: Message) -> JsonObject:
    patched = {**block, "tool_use_id": after.call_id}
    if before.is_error != after.is_error:
        patched["is_error"] = after.is_error
    if before.content == after.content:
        return patched
    raw = block.get("content")
    if isinstance(raw, list) and not isinstance(after.content, str):
        inner = Message(message.id, "user", after.content)
        return {**patched, "content": _patch_blocks(raw, result_parts(before), inner)}
    return {**patched, "content": _write_result(after, message)["content"]}


def joined_blocks(contents: Iterable[object]) -> list[object]:
    """Give the blocks of several contents in order, a text as a block of its own."""
    blocks: list[object] = []
    for content in contents:
        if isinstance(content, str):
            blocks.append({"type": "text", "text": content})
        elif isinstance(content, list):
            blocks.extend(content)
    return blocks
