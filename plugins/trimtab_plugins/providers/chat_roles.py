"""Messages of Chat Completions as servers with narrower rules want them."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab_plugins.providers.stream_json import JsonObject

_SYSTEM = ("system", "developer")
_CALLS = ("tool_calls", "function_call")
_BETWEEN = "\n\n"


def with_system_role(messages: list[object], role: str) -> list[object]:
    """Give the messages with `role` for all system texts: the very list when all have it."""
    others = [one for one in _SYSTEM if one != role]
    if not any(isinstance(message, dict) and message.get("role") in others for message in messages):
        return messages
    return [
        {**message, "role": role} if isinstance(message, dict) and message.get("role") in others else message
        for message in messages
    ]


def with_roles_merged(messages: Sequence[object]) -> list[object]:
    """Give the messages with neighbours of the same role joined, but for tool results.

    An answer with calls is the last of its message, as their results must follow it.
    """
    out: list[object] = []
    for message in messages:
        last = out[-1] if out else None
        if isinstance(last, dict) and isinstance(message, dict) and _belong_together(last, message):
            out[-1] = _joined(last, message)
        else:
            out.append(message)
    return out


def _belong_together(one: JsonObject, other: JsonObject) -> bool:
    same = one.get("role") == other.get("role") and one.get("role") in ("user", "assistant", *_SYSTEM)
    return same and not any(one.get(key) for key in _CALLS)


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    joined = {**one, **other, "content": _both(one.get("content"), other.get("content"))}
    for key in ("reasoning_content", "reasoning", "reasoning_details", "refusal"):
        if one.get(key) and other.get(key):
            joined[key] = _both(one[key], other[key])
        elif one.get(key):
            joined[key] = one[key]
    if one.get("name") != other.get("name"):
        joined.pop("name", None)
    return joined


def _both(one: object, other: object) -> object:
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return one + _BETWEEN + other
    return [*_parts(one), *_parts(other)]


def _parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
