"""Which of the two formats an input is in, told from its shape alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trimtab_sdk import Recognition

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_PLAIN_KEYS = frozenset({"role", "content", "id", "name"})
_CHAT_KEYS = frozenset({"refusal", "reasoning", "reasoning_content", "reasoning_details"})
_NEUTRAL_KEYS = frozenset(
    {
        "kind",
        "required",
        "approval_requests",
        "approval_responses",
        "blocks",
        "item_id",
        "origin",
        "parent",
        "ts",
        "token_count",
    }
)
_CHAT_PARTS = frozenset({"image_url", "input_audio", "refusal"})
_FOREIGN_PARTS = frozenset(
    {
        "tool_use",
        "tool_result",
        "server_tool_use",
        "web_search_tool_result",
        "thinking",
        "redacted_thinking",
        "document",
        "search_result",
        "input_text",
        "output_text",
        "input_image",
        "input_file",
    }
)
_FOREIGN_BODY_KEYS = frozenset({"system", "contents", "input", "instructions"})


@dataclass(slots=True)
class _Signs:
    """What was seen.

    A shape (`chat`, `neutral`) cannot be read by the other codec. Keys only hint: the other keeps them as
    unknown ones.
    """

    foreign: bool = False
    chat: bool = False
    neutral: bool = False
    chat_keys: bool = False
    neutral_keys: bool = False
    ids: bool = True


def recognize_chat_completions(data: object, items: list[object] | None) -> Recognition:
    """Judge an input whose list of messages is `items`, None when it has none."""
    if items is None:
        return Recognition.NO
    signs = _signs_of(data, items)
    if signs.foreign or signs.neutral:
        return Recognition.NO
    if signs.chat or (signs.chat_keys and not (signs.neutral_keys and signs.ids)):
        return Recognition.SURE
    return Recognition.MAYBE


def recognize_neutral(data: object, items: list[object] | None) -> Recognition:
    """Judge an input whose list of messages is `items`, None when it has none."""
    if items is None:
        return Recognition.NO
    signs = _signs_of(data, items)
    if signs.foreign or signs.chat or not signs.ids:
        return Recognition.NO
    return Recognition.SURE if signs.neutral or signs.neutral_keys else Recognition.MAYBE


def _signs_of(data: object, items: list[object]) -> _Signs:
    signs = _Signs()
    if isinstance(data, dict) and not _FOREIGN_BODY_KEYS.isdisjoint(data):
        signs.foreign = True
    for item in items:
        if signs.foreign or not isinstance(item, dict) or "parts" in item or not _is_role(item.get("role")):
            signs.foreign = True
            break
        own = item.get("id")
        if not isinstance(own, str) or not own:
            signs.ids = False
        if not _is_plain(item):
            _look_closer(item, signs)
    return signs


def _is_role(role: object) -> bool:
    return isinstance(role, str) and role in _ROLES


def _is_plain(item: Mapping[str, object]) -> bool:
    return isinstance(item.get("content"), str) and item.keys() <= _PLAIN_KEYS and item["role"] != "function"


def _look_closer(item: Mapping[str, object], signs: _Signs) -> None:
    keys = item.keys()
    signs.chat_keys = signs.chat_keys or not _CHAT_KEYS.isdisjoint(keys)
    signs.neutral_keys = signs.neutral_keys or not _NEUTRAL_KEYS.isdisjoint(keys)
    if "function_call" in keys or item.get("role") == "function":
        signs.chat = True
    for call in _objects_in(item.get("tool_calls")):
        if "function" in call or "custom" in call:
            signs.chat = True
        elif "name" in call:
            signs.neutral = True
    for part in _objects_in(item.get("content")):
        _look_at_part(part, signs)


def _objects_in(value: object) -> list[Mapping[str, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _look_at_part(part: Mapping[str, object], signs: _Signs) -> None:
    kind = part.get("type")
    if not isinstance(kind, str):
        return
    if kind in _FOREIGN_PARTS or (kind == "image" and "source" in part):
        signs.foreign = True
    elif kind in _CHAT_PARTS or (kind == "file" and isinstance(part.get("file"), dict)):
        signs.chat = True
    elif kind == "image" and "media_type" in part:
        signs.neutral = True
