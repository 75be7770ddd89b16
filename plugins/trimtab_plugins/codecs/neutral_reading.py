"""Reading of neutral messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from trimtab_plugins.codecs.content import read_content
from trimtab_plugins.codecs.conversation import Conversation
from trimtab_plugins.codecs.json_values import strings_in
from trimtab_plugins.codecs.neutral_parts import read_part
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import (
    MISSING,
    RESULT_ID_KEYS,
    JsonObject,
    flag_if_any,
    json_text,
    list_if_any,
    name_of,
    read_object,
    result_id_key,
    role_in,
    shown,
    text_if_any,
    text_in,
    wrong,
)
from trimtab_sdk import (
    EMPTY_META,
    ApprovalRequest,
    ApprovalResponse,
    InvalidRequestError,
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

KINDS: dict[str, Source] = {
    "persona": "persona",
    "character": "character",
    "lorebook": "lorebook",
    "memory": "memory",
    "template": "template",
    "summary": "summary",
    "plugin": "plugin",
}
"""The kinds that give a message its source; a message of any other kind is an ordinary one."""

_BESIDE_THE_TALK = frozenset(KINDS) - {"template"}
_ROLES: dict[str, Role] = {role: role for role in get_args(Role)}
_PLAIN_KEYS = frozenset({"id", "role", "content"})
_KEYS = _PLAIN_KEYS | frozenset(
    {
        "tool_calls",
        "kind",
        "required",
        "pinned",
        "ephemeral",
        "relevance",
        "name",
        "meta",
        "is_error",
        "approval_requests",
        "approval_responses",
        "blocks",
        "reasoning",
        "origin",
        "item_id",
        "parent",
        "ts",
        "token_count",
        *RESULT_ID_KEYS,
    }
)


def read_conversation(items: Sequence[object]) -> Conversation:
    """Read neutral messages. Raises InvalidRequestError with the path of what is wrong, a doubled id included."""
    conversation = Conversation()
    messages, entries = conversation.messages, conversation.entries
    first_input = _input_start(items)
    for position, raw in enumerate(items):
        said: Source = "input" if position >= first_input else "history"
        if not isinstance(raw, dict):
            raise wrong(f"messages[{position}]", "an object", raw)
        message = _read_plain(raw, said) or _read_full(raw, f"messages[{position}]", said)
        if message.id in entries:
            raise _doubled(messages, position, message.id)
        if raw.keys() - _KEYS:
            conversation.uncounted.update(raw.keys() - _KEYS)
        entries[message.id] = Entry(message, raw)
        messages.append(message)
    return conversation


def _doubled(messages: Sequence[Message], position: int, message_id: str) -> InvalidRequestError:
    first = next(at for at, message in enumerate(messages) if message.id == message_id)
    return InvalidRequestError(
        f"messages[{first}] and messages[{position}] share the id {shown(message_id)}; give each message its own",
        path=f"messages[{position}].id",
        ids=(message_id,),
    )


def _input_start(items: Sequence[object]) -> int:
    """Where the user messages begin that the talk ends in; what stands beside the talk is passed over."""
    start = len(items)
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if _stands_beside(item):
            continue
        if not isinstance(item, dict) or item.get("role") != "user":
            break
        start = position
    return start


def _stands_beside(item: object) -> bool:
    kind = item.get("kind") if isinstance(item, dict) else None
    return isinstance(kind, str) and kind in _BESIDE_THE_TALK


def _read_plain(raw: JsonObject, said: Source) -> Message | None:
    """The short way for what most histories hold: an id, a role and a text, nothing else."""
    if raw.keys() != _PLAIN_KEYS:
        return None
    message_id, role, content = raw["id"], raw["role"], raw["content"]
    if not isinstance(content, str) or not isinstance(message_id, str) or not message_id:
        return None
    source: Source
    if role == "user" or role == "assistant":
        source = said
    elif role == "system" or role == "developer":
        source = "system"
    else:
        return None
    return plain_message(message_id, role, (Text(content),), source)


def _read_full(raw: JsonObject, path: str, said: Source) -> Message:
    role = role_in(raw, path, _ROLES)
    meta = raw.get("meta")
    return Message(
        id=_read_id(raw, path),
        role=role,
        parts=tuple(_read_parts(raw, role, path)),
        name=name_of(raw, path),
        source=_read_source(raw, role, path, said),
        pinned=flag_if_any(raw, "pinned", path),
        required=flag_if_any(raw, "required", path),
        ephemeral=flag_if_any(raw, "ephemeral", path),
        relevance=_read_relevance(raw, path),
        meta=meta if isinstance(meta, dict) else EMPTY_META,
    )


def _read_id(raw: JsonObject, path: str) -> str:
    value = raw.get("id", MISSING)
    if not isinstance(value, str) or not value:
        raise wrong(f"{path}.id", "a text that is not empty", value)
    return value


def _read_source(raw: JsonObject, role: Role, path: str, said: Source) -> Source:
    kind = KINDS.get(text_if_any(raw, "kind", path))
    if kind is not None:
        return kind
    return "system" if role in ("system", "developer") else said


def _read_relevance(raw: JsonObject, path: str) -> float | None:
    value = raw.get("relevance")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise wrong(f"{path}.relevance", "a number between 0 and 1, or null", value)
    return float(value)


def _read_parts(raw: JsonObject, role: Role, path: str) -> Iterator[Part]:
    for index, block in enumerate(list_if_any(raw, "blocks", path)):
        yield _read_block(block, f"{path}.blocks[{index}]")
    reasoning = text_if_any(raw, "reasoning", path)
    if reasoning:
        yield Reasoning(reasoning)
    if role == "tool":
        yield from _read_result(raw, path)
    else:
        yield from read_content(raw.get("content"), f"{path}.content", read_part)
    yield from _read_calls(raw, role, path)
    yield from _read_approvals(raw, path)


def _read_block(block: object, path: str) -> Reasoning:
    thought = read_object(block, path)
    kind = thought.get("type")
    if kind == "thinking":
        return Reasoning(text_if_any(thought, "thinking", path), text_if_any(thought, "signature", path))
    if kind == "redacted_thinking":
        return Reasoning(opaque=text_if_any(thought, "data", path))
    return Reasoning(opaque="\n".join(strings_in(thought)))


def _read_result(raw: JsonObject, path: str) -> Iterator[ToolResult]:
    key = result_id_key(raw)
    content = raw.get("content")
    if key is None:
        if content is None and raw.get("approval_responses"):
            return
        raise wrong(f"{path}.tool_call_id", "the id of the call that this result answers, a text")
    call_id = text_in(raw, key, path)
    is_error = flag_if_any(raw, "is_error", path)
    if isinstance(content, str):
        yield ToolResult(call_id, content, is_error)
    else:
        yield ToolResult(call_id, read_content(content, f"{path}.content", read_part), is_error)


def _read_calls(raw: JsonObject, role: Role, path: str) -> Iterator[ToolCall]:
    calls = list_if_any(raw, "tool_calls", path)
    if calls and role != "assistant":
        raise wrong(f"{path}.tool_calls", "absent, for only an assistant message calls tools", calls)
    for index, item in enumerate(calls):
        inner = f"{path}.tool_calls[{index}]"
        call = read_object(item, inner)
        yield ToolCall(text_in(call, "id", inner), text_in(call, "name", inner), _read_arguments(call, inner))


def _read_arguments(call: JsonObject, path: str) -> str:
    value = call.get("arguments")
    if value is None:
        return "{}"
    if isinstance(value, str):
        return value
    return json_text(read_object(value, f"{path}.arguments"))


def _read_approvals(raw: JsonObject, path: str) -> Iterator[ApprovalRequest | ApprovalResponse]:
    for index, item in enumerate(list_if_any(raw, "approval_requests", path)):
        inner = f"{path}.approval_requests[{index}]"
        asked = read_object(item, inner)
        yield ApprovalRequest(text_in(asked, "approval_id", inner), text_in(asked, "tool_call_id", inner))
    for index, item in enumerate(list_if_any(raw, "approval_responses", path)):
        inner = f"{path}.approval_responses[{index}]"
        answer = read_object(item, inner)
        yield ApprovalResponse(text_in(answer, "approval_id", inner), flag_if_any(answer, "approved", inner))
