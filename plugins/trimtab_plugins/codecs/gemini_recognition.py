"""Which inputs are in one of the Gemini formats, told from their shape alone."""

from __future__ import annotations

from trimtab_sdk import Recognition

STEP_TYPES = frozenset({"user_input", "model_output", "thought", "function_result"})
"""Types of steps that no other format has."""

CONTENT_TYPES = frozenset({"text", "image", "audio", "document", "video"})
_CONTENT_ROLES = frozenset({"user", "model", "function", "tool"})
_BODY_KEYS = ("generation_config", "system_instruction", "previous_interaction_id", "continuation_token")


def recognize_contents(data: object) -> Recognition:
    """Judge an input: contents have parts that are told apart by their keys."""
    if isinstance(data, dict):
        is_body = "contents" in data and "messages" not in data and "input" not in data
        return Recognition.SURE if is_body else Recognition.NO
    if isinstance(data, list) and data and all(_is_content(item) for item in data):
        return Recognition.SURE
    return Recognition.NO


def _is_content(item: object) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("parts"), list):
        return False
    role = item.get("role")
    if role is not None and not (isinstance(role, str) and role in _CONTENT_ROLES):
        return False
    return not any(isinstance(part, dict) and "type" in part for part in item["parts"])


def recognize_interactions(data: object) -> Recognition:
    """Judge an input: a body with `input` and a sign of this wire, or a list with steps of its own."""
    if isinstance(data, list):
        return Recognition.SURE if _has_steps(data) else Recognition.NO
    if not isinstance(data, dict) or "messages" in data or "contents" in data:
        return Recognition.NO
    given = data.get("input")
    if _has_steps(given) or ("input" in data and any(data.get(key) is not None for key in _BODY_KEYS)):
        return Recognition.SURE
    model = data.get("model")
    named = isinstance(model, str) and model.removeprefix("models/").startswith("gemini")
    return Recognition.MAYBE if named and _is_plain(given) else Recognition.NO


def _has_steps(value: object) -> bool:
    return isinstance(value, list) and any(type_of(item) in STEP_TYPES for item in value)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(type_of(item) in CONTENT_TYPES for item in value)
    return isinstance(value, str) or type_of(value) in CONTENT_TYPES


def type_of(item: object) -> str:
    """Give the `type` of a step or content, an empty text when it has none."""
    kind = item.get("type") if isinstance(item, dict) else None
    return kind if isinstance(kind, str) else ""
