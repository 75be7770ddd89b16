"""Whether an input is a Responses request, told from its shape alone."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.codecs.openai_responses_kinds import KINDS, kind_of
from trimtab_sdk import Recognition

_ROLES = frozenset({"system", "developer", "user", "assistant"})
_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_SHARED_PARTS = frozenset({"refusal", "input_audio"})
_FOREIGN_KEYS = frozenset({"parts", "tool_calls", "tool_call_id", "function_call"})
_FOREIGN_BODY_KEYS = frozenset(
    {"messages", "contents", "system", "system_instruction", "generation_config", "previous_interaction_id"}
)


def recognize_responses(data: object) -> Recognition:
    """Judge a list of items, or a body with `input`; a list of roles and plain texts may be any format."""
    if isinstance(data, list):
        return _recognize_items(data)
    if not isinstance(data, dict) or not _FOREIGN_BODY_KEYS.isdisjoint(data):
        return Recognition.NO
    given = data.get("input")
    if isinstance(given, list):
        return Recognition.NO if _recognize_items(given) is Recognition.NO else Recognition.SURE
    return Recognition.SURE if isinstance(given, str) else Recognition.NO


def _recognize_items(items: list[object]) -> Recognition:
    marks = {_recognize_item(item) for item in items}
    if Recognition.NO in marks:
        return Recognition.NO
    return Recognition.SURE if Recognition.SURE in marks else Recognition.MAYBE


def _recognize_item(item: object) -> Recognition:
    if not isinstance(item, dict):
        return Recognition.NO
    kind = kind_of(item)
    if kind != "message":
        return _recognize_kind(kind, item)
    if not _is_role(item.get("role")) or not _FOREIGN_KEYS.isdisjoint(item):
        return Recognition.NO
    content = item.get("content")
    marks = {_recognize_part(part) for part in content} if isinstance(content, list) else set()
    if Recognition.NO in marks:
        return Recognition.NO
    return Recognition.SURE if "type" in item or Recognition.SURE in marks else Recognition.MAYBE


def _is_role(role: object) -> bool:
    return isinstance(role, str) and role in _ROLES


def _recognize_kind(kind: object, item: Mapping[str, object]) -> Recognition:
    if not isinstance(kind, str):
        return Recognition.NO
    if kind == "function_call" and "call_id" not in item:
        return Recognition.NO
    return Recognition.SURE if kind in KINDS else Recognition.NO


def _recognize_part(part: object) -> Recognition:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        return Recognition.NO
    if kind in _PARTS:
        return Recognition.SURE
    return Recognition.MAYBE if kind in _SHARED_PARTS else Recognition.NO
