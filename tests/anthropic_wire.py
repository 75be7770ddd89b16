"""What the Anthropic server refuses, written down apart from the codec.

`anthropic_faults` gives one sentence for each broken rule of a conversation, `body_errors` one for each place
where a request body differs from the types of the official package; none means a server takes it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ONLY_OF = {
    "tool_result": "user",
    "image": "user",
    "document": "user",
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def body_errors(body: object, *, beta: bool = False) -> list[str]:
    """Check a request body against the closed schema of the official package, which takes no unknown key."""
    return [f"{error.json_path}: {error.message[:200]}" for error in _validator(beta).iter_errors(body)]


@cache
def _validator(beta: bool) -> Draft202012Validator:
    from anthropic.types import message_create_params
    from anthropic.types.beta import message_create_params as beta_params
    from pydantic import TypeAdapter

    params = beta_params if beta else message_create_params
    return Draft202012Validator(_closed(TypeAdapter(params.MessageCreateParamsStreaming).json_schema()))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(closed.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def anthropic_faults(messages: Sequence[Any], system: Any = None) -> list[str]:
    """Give the faults of a conversation: contents, roles, ids, calls and their results."""
    faults = [f"{at}: {fault}" for at, message in enumerate(messages) for fault in _message_faults(message)]
    faults += [f"system: {fault}" for fault in _system_faults(system)]
    json.dumps([messages, system], ensure_ascii=False, allow_nan=False).encode()
    return faults or [*_first_faults(messages), *_id_faults(messages), *_pairing_faults(messages)]


def blocks_of(message: Any) -> list[Any]:
    """Give the content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _message_faults(message: Any) -> Iterator[str]:
    if message.get("role") not in ("user", "assistant", "system"):
        yield f"role {message.get('role')!r}"
        return
    if not isinstance(message.get("content"), str | list):
        yield "content that is neither a text nor a list"
        return
    blocks = blocks_of(message)
    if not blocks:
        yield "empty content"
    for block in blocks:
        yield from _block_faults(block, message["role"])
    kinds = [block.get("type") for block in blocks]
    if kinds and _THOUGHTS.issuperset(kinds):
        yield "nothing but thinking"
    if sorted(kinds, key=lambda kind: kind != "tool_result") != kinds:
        yield "tool results behind other blocks"


def _block_faults(block: Any, role: str) -> Iterator[str]:
    kind = block.get("type")
    if not isinstance(kind, str):
        yield "a block without type"
    elif _ONLY_OF.get(kind, role) != role:
        yield f"a block of type {kind} on role {role}"
    elif kind == "text" and not block["text"].strip():
        yield "a blank text"
    elif kind == "thinking" and not block["signature"]:
        yield "thinking without signature"
    elif kind == "tool_use" and not (_ID.fullmatch(block["id"]) and isinstance(block["input"], dict)):
        yield f"a call with the id {block['id']!r} and the input {block['input']!r}"
    elif kind == "tool_result" and isinstance(block.get("content"), list):
        for inner in block["content"]:
            yield from _block_faults(inner, "user")


def _system_faults(system: Any) -> Iterator[str]:
    if isinstance(system, list):
        for block in system:
            if block.get("type") != "text" or not block["text"].strip():
                yield f"a block {block!r}"
    elif system is not None and not isinstance(system, str):
        yield "neither a text nor a list"


def _first_faults(messages: Sequence[Any]) -> Iterator[str]:
    first = next((message for message in messages if message["role"] != "system"), None)
    if first is None or first["role"] != "assistant":
        return
    if not any(block["type"] == "compaction" for block in blocks_of(first)):
        yield "the assistant speaks first"


def _id_faults(messages: Sequence[Any]) -> Iterator[str]:
    ids = Counter(name for message in messages for name in _ids(message, "tool_use"))
    yield from (f"the id {name} is there {times} times" for name, times in ids.items() if times > 1)


def _pairing_faults(messages: Sequence[Any]) -> Iterator[str]:
    asked: list[str] = []
    for at, message in enumerate(messages):
        answered = _ids(message, "tool_result")
        if Counter(asked) != Counter(answered):
            yield f"{at}: calls {asked} in front of results {answered}"
        asked = _ids(message, "tool_use")
    if asked:
        yield f"calls {asked} at the end"


def _ids(message: Any, kind: str) -> list[str]:
    key = "id" if kind == "tool_use" else "tool_use_id"
    return [block[key] for block in blocks_of(message) if block["type"] == kind]
