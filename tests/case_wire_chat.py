"""What a Chat Completions server refuses, written down apart from the codec.

`chat_faults` gives one sentence for each fault in a list of messages; none means a server takes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from case_files import Json

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_TEXT_ONLY = frozenset({"system", "developer", "tool", "function"})
_IN_PLACE_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_FIELD_OF_PART = {"image_url": "image_url", "input_audio": "input_audio", "file": "file"}


def chat_faults(messages: Sequence[Json]) -> list[str]:
    """Give the faults of a list of chat-completions messages: shapes, contents, calls and their results."""
    faults = [f"{at}: {fault}" for at, message in enumerate(messages) for fault in _message_faults(message)]
    return faults or [*_pairing_faults(messages), *_legacy_faults(messages)]


def _message_faults(message: Json) -> Iterator[str]:
    if not isinstance(message, dict):
        yield "no object"
        return
    role = message.get("role")
    if role not in _ROLES:
        yield f"role {role!r}"
        return
    yield from _content_faults(message, role)
    if role == "assistant":
        yield from _call_faults(message)
    elif "tool_calls" in message or "function_call" in message:
        yield f"calls on role {role}"
    if role == "tool" and not _is_filled(message.get("tool_call_id")):
        yield "a tool message without tool_call_id"
    if role == "function" and not _is_filled(message.get("name")):
        yield "a function message without name"
    if "name" in message and not isinstance(message["name"], str):
        yield "a name that is no text"


def _content_faults(message: Json, role: str) -> Iterator[str]:
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None:
        if not (role == "assistant" and any(message.get(key) for key in _IN_PLACE_OF_CONTENT)):
            yield f"no content on role {role}"
        return
    if not isinstance(content, list) or not content:
        yield "content that is neither a text nor a filled list"
        return
    for part in content:
        yield from _part_faults(part, role)


def _part_faults(part: Json, role: str) -> Iterator[str]:
    if not isinstance(part, dict) or not _is_filled(part.get("type")):
        yield "a part without type"
        return
    kind = part["type"]
    if kind == "text":
        if not isinstance(part.get("text"), str):
            yield "a text part without text"
    elif role in _TEXT_ONLY:
        yield f"a part of type {kind} on role {role}"
    elif kind in _FIELD_OF_PART and not isinstance(part.get(_FIELD_OF_PART[kind]), dict):
        yield f"a part of type {kind} without its object"


def _call_faults(message: Json) -> Iterator[str]:
    if "tool_calls" not in message:
        return
    calls = message["tool_calls"]
    if not isinstance(calls, list) or not calls:
        yield "tool_calls that is no filled list"
        return
    for call in calls:
        if not _is_filled(call.get("id")):
            yield "a call without id"
        body = call.get(call.get("type"))
        text = "input" if call.get("type") == "custom" else "arguments"
        if not isinstance(body, dict) or not _is_filled(body.get("name")) or not isinstance(body.get(text), str):
            yield f"a call without type, name or {text} as text"


def _pairing_faults(messages: Sequence[Json]) -> Iterator[str]:
    at = 0
    while at < len(messages):
        calls = messages[at].get("tool_calls") or ()
        if messages[at]["role"] == "tool":
            yield f"{at}: a tool message that is no response to a preceding message with tool_calls"
        at += 1
        if not calls:
            continue
        answers = _results_from(messages, at)
        if Counter(call["id"] for call in calls) != Counter(answers):
            yield f"{at - 1}: calls {[call['id'] for call in calls]} are followed by results {answers}"
        at += len(answers)


def _results_from(messages: Sequence[Json], at: int) -> list[str]:
    answers = []
    while at < len(messages) and messages[at]["role"] == "tool":
        answers.append(messages[at]["tool_call_id"])
        at += 1
    return answers


def _legacy_faults(messages: Sequence[Json]) -> Iterator[str]:
    for at, message in enumerate(messages):
        asked = message.get("function_call")
        follows = messages[at + 1] if at + 1 < len(messages) else {"role": None}
        if asked and (follows["role"] != "function" or follows["name"] != asked["name"]):
            yield f"{at}: a function_call without its function message"
        if message["role"] == "function":
            before = messages[at - 1].get("function_call") if at else None
            if not before or before["name"] != message["name"]:
                yield f"{at}: a function message without its function_call"


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value)
