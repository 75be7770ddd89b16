"""Reading of Chat Completions messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from trimtab_plugins.codecs.chat_completions_mending import mend_message
from trimtab_plugins.codecs.chat_completions_parts import read_part
from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.conversation import Conversation
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.raw_messages import input_start, message_ids, only_text
from trimtab_plugins.codecs.reading import (
    MISSING,
    JsonObject,
    list_if_any,
    name_of,
    object_in,
    read_object,
    read_text,
    role_in,
    source_of_system,
    text_if_any,
    text_in,
    wrong,
)
from trimtab_plugins.codecs.reasoning_details import read_details
from trimtab_sdk import (
    EMPTY_META,
    Audio,
    Message,
    Part,
    Reasoning,
    Role,
    Source,
    Text,
    ToolCall,
    ToolResult,
    plain_message,
)

WIRE_KEYS = frozenset(
    {
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "refusal",
        "audio",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "annotations",
        "prefix",
        "cache_control",
    }
)
"""The keys of a message that servers read. `cache_control` and `prefix` steer them and cost nothing."""

_OWN_KEYS = WIRE_KEYS | {"id", "meta"}
_ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
_LEGACY_RESULT = "function"


def read_conversation(items: Sequence[object]) -> Conversation:
    """Read the messages of a request. Raises InvalidRequestError with the path of what is wrong."""
    conversation = Conversation()
    messages, entries = conversation.messages, conversation.entries
    first_input = input_start(items)
    ids = message_ids(items)
    for position, raw in enumerate(items):
        if not isinstance(raw, dict):
            raise wrong(f"messages[{position}]", "an object", raw)
        said: Source = "input" if position >= first_input else "history"
        message = _read_plain(raw, ids[position], said)
        if message is None:
            message = _read_full(raw, f"messages[{position}]", ids[position], said, conversation)
        else:
            entries[message.id] = Entry(message, raw)
        messages.append(message)
    return conversation


def _read_plain(raw: JsonObject, message_id: str, said: Source) -> Message | None:
    """The short way for what most histories hold: a role and a text, nothing else."""
    content, role = only_text(raw), raw.get("role")
    if content is None:
        return None
    source: Source
    if role == "user" or role == "assistant":
        source = said
    elif role == "system" or role == "developer":
        source = source_of_system(content)
    else:
        return None
    return plain_message(message_id, role, (Text(content),), source)


def _read_full(raw: JsonObject, path: str, message_id: str, said: Source, conversation: Conversation) -> Message:
    wire, sentences = mend_message(raw)
    role = _read_role(wire, path)
    parts = _read_parts(wire, path)
    meta = wire.get("meta")
    message = Message(
        id=message_id,
        role=role,
        parts=parts,
        name=name_of(wire, path),
        source=source_of_system(*parts) if role in ("system", "developer") else said,
        meta=meta if isinstance(meta, dict) else EMPTY_META,
    )
    conversation.remember(message, wire, sentences)
    conversation.uncounted.update(wire.keys() - _OWN_KEYS)
    return message


def _read_role(wire: JsonObject, path: str) -> Role:
    return "tool" if wire.get("role") == _LEGACY_RESULT else role_in(wire, path, _ROLES)


def _read_parts(wire: JsonObject, path: str) -> tuple[Part, ...]:
    role = wire["role"]
    if role == "tool":
        return (_read_result(wire, path, text_in(wire, "tool_call_id", path)),)
    if role == _LEGACY_RESULT:
        return (_read_result(wire, path, _legacy_call_id(text_in(wire, "name", path))),)
    if role != "assistant":
        _refuse_calls(wire, path)
    content = read_content(wire.get("content"), f"{path}.content", read_part)
    return (*_read_reasoning(wire, path), *content, *_read_tail(wire, path), *_read_calls(wire, path))


def _legacy_call_id(name: str) -> str:
    """Give the id under which a call of the retired `function_call` and its result find each other."""
    return f"function:{name}"


def _read_result(wire: JsonObject, path: str, call_id: str) -> ToolResult:
    content = wire.get("content")
    if isinstance(content, str):
        return ToolResult(call_id, content)
    return ToolResult(call_id, read_content(content, f"{path}.content", read_part))


def _refuse_calls(wire: JsonObject, path: str) -> None:
    for key in ("tool_calls", "function_call"):
        if wire.get(key) is not None:
            raise wrong(f"{path}.{key}", "absent, for only an assistant message calls tools", wire[key])


def _read_reasoning(wire: JsonObject, path: str) -> tuple[Reasoning, ...]:
    details = read_details(list_if_any(wire, "reasoning_details", path), f"{path}.reasoning_details")
    known = {"", "".join(detail.text for detail in details)}
    texts: list[Reasoning] = []
    for key in ("reasoning_content", "reasoning"):
        text = text_if_any(wire, key, path)
        if text not in known:
            known.add(text)
            texts.append(Reasoning(text))
    return (*texts, *details)


def _read_tail(wire: JsonObject, path: str) -> tuple[Audio | Text, ...]:
    """Read what a message says beside its content: its spoken answer, then its refusal."""
    tail: list[Audio | Text] = []
    if wire.get("audio") is not None:
        audio = object_in(wire, "audio", path)
        tail.append(Audio(audio_id=text_in(audio, "id", f"{path}.audio")))
    refusal = text_if_any(wire, "refusal", path)
    if refusal:
        tail.append(Text(refusal))
    return tuple(tail)


def _read_calls(wire: JsonObject, path: str) -> Iterator[ToolCall]:
    for index, call in enumerate(list_if_any(wire, "tool_calls", path)):
        inner = f"{path}.tool_calls[{index}]"
        yield _read_call(read_object(call, inner), inner)
    if wire.get("function_call") is not None:
        call = object_in(wire, "function_call", path)
        name = text_in(call, "name", f"{path}.function_call")
        yield ToolCall(_legacy_call_id(name), name, text_in(call, "arguments", f"{path}.function_call"))


def _read_call(call: JsonObject, path: str) -> ToolCall:
    """Read one mended tool call, of a function or of a custom tool."""
    call_id = read_text(call.get("id", MISSING), f"{path}.id")
    kind = call.get("type")
    if kind == "custom":
        custom = object_in(call, "custom", path)
        return ToolCall(
            call_id, text_in(custom, "name", f"{path}.custom"), text_in(custom, "input", f"{path}.custom")
        )
    if kind is not None and kind != "function":
        raise wrong(f"{path}.type", "function or custom", kind)
    function = object_in(call, "function", path)
    inner = f"{path}.function"
    return ToolCall(call_id, text_in(function, "name", inner), text_in(function, "arguments", inner))
