"""Reading of classic Gemini contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.body import Body, model_of, tools_of
from trimtab_plugins.codecs.gemini_call_ids import CallIds
from trimtab_plugins.codecs.gemini_contents_parts import read_part
from trimtab_plugins.codecs.gemini_originals import SYSTEM_ID
from trimtab_plugins.codecs.gemini_values import field_key, object_if_any
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import (
    JsonObject,
    is_blank,
    limit_in,
    list_if_any,
    read_list,
    read_object,
    text_in,
    wrong,
)
from trimtab_sdk import InvalidRequestError, Message, Part, Role, Source, Text, ToolCall, ToolResult

_ROLES = frozenset({"user", "model", "function", "tool"})
_KEYS = frozenset({"role", "parts"})
_EXPECTED_ROLE = "one of user, model, function"


@dataclass(slots=True)
class Contents:
    """The contents read so far: `messages`, `entries` by id, the `uncounted` keys, and the `ids` of calls."""

    messages: list[Message] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    uncounted: set[str] = field(default_factory=set)
    ids: CallIds = field(default_factory=CallIds)


def read_contents(items: Sequence[object], *, names: Sequence[str] = (), ids: CallIds | None = None) -> Contents:
    """Read contents; each becomes one message, with the id at its place in `names`, else `m` and its position.

    `ids` knows the calls of what stands before. Raises InvalidRequestError with the path of what is wrong.
    """
    contents = Contents(ids=CallIds() if ids is None else ids)
    first_input = _input_start(items)
    for position, item in enumerate(items):
        name = names[position] if position < len(names) else f"m{position}"
        said: Source = "input" if position >= first_input else "history"
        wire = read_object(item, f"contents[{position}]")
        message = _read_plain(wire, name, said, contents.ids) or _read_content(
            wire, f"contents[{position}]", name, said, contents.ids
        )
        contents.uncounted.update(wire.keys() - _KEYS)
        contents.entries[name] = Entry(message, wire)
        contents.messages.append(message)
    return contents


def _input_start(items: Sequence[object]) -> int:
    start = len(items)
    while start and _is_said_by_user(items[start - 1]):
        start -= 1
    return start


def _is_said_by_user(item: object) -> bool:
    if not isinstance(item, dict) or item.get("role") == "model":
        return False
    parts = item.get("parts")
    return not isinstance(parts, list) or not any(
        isinstance(part, dict) and field_key(part, "functionResponse") for part in parts
    )


def _read_plain(wire: JsonObject, name: str, said: Source, ids: CallIds) -> Message | None:
    """The short way for what most histories hold: a role and one text."""
    role, parts = wire.get("role"), wire.get("parts")
    if role not in ("user", "model") or not isinstance(parts, list) or len(parts) != 1:
        return None
    part = parts[0]
    text = part.get("text") if isinstance(part, dict) and len(part) == 1 else None
    if not isinstance(text, str):
        return None
    if role == "user":
        ids.end_turn()
    return Message(name, "user" if role == "user" else "assistant", (Text(text),), source=said)


def _read_content(wire: JsonObject, path: str, name: str, said: Source, ids: CallIds) -> Message:
    role = wire.get("role")
    if role is not None and (not isinstance(role, str) or role not in _ROLES):
        raise wrong(f"{path}.role", _EXPECTED_ROLE, role)
    if role != "model":
        ids.end_turn()
    orphans = ids.orphans
    parts = _read_parts(wire, path, ids)
    _check_side(parts, path, model=role == "model")
    return Message(name, _role(role, parts, paired=ids.orphans == orphans), parts, source=said)


def _read_parts(wire: JsonObject, path: str, ids: CallIds) -> tuple[Part, ...]:
    return tuple(
        read_part(read_object(part, f"{path}.parts[{index}]"), f"{path}.parts[{index}]", ids)
        for index, part in enumerate(list_if_any(wire, "parts", path))
    )


def _check_side(parts: Sequence[Part], path: str, *, model: bool) -> None:
    wanted, kind = ("functionResponse", ToolResult) if model else ("functionCall", ToolCall)
    for index, part in enumerate(parts):
        if isinstance(part, kind):
            side = "user" if model else "model"
            place = f"{path}.parts[{index}]"
            raise InvalidRequestError(
                f"{place} is a {wanted}, which stands in a content of the {side}", path=place
            )


def _role(role: object, parts: Sequence[Part], *, paired: bool) -> Role:
    """Give the role of a content. Words beside responses belong to the step, as long as there is one."""
    if role == "model":
        return "assistant"
    results = sum(isinstance(part, ToolResult) for part in parts)
    return "tool" if results and (paired or results == len(parts)) else "user"


@dataclass(frozen=True, slots=True)
class ContentsBody(Body):
    """An input taken apart; `system` is the message of its system instruction."""

    system: Message | None = None


def read_body(data: object) -> ContentsBody:
    """Read a list of contents or a request body. Raises InvalidRequestError with the path of what is wrong."""
    if isinstance(data, list):
        return ContentsBody(data)
    if not isinstance(data, dict):
        raise wrong("", "a list of contents or a request body with contents", data)
    settings_key = field_key(data, "generationConfig") or "generationConfig"
    settings = object_if_any(data, settings_key)
    return ContentsBody(
        items=read_list(data.get("contents"), "contents"),
        whole=data,
        tools=tools_of(data),
        response_format=_response_format(settings, settings_key),
        max_output_tokens=_max_output_tokens(settings, settings_key),
        model=model_of(data),
        system=_read_system(data),
    )


def _response_format(settings: JsonObject, path: str) -> JsonObject | None:
    for name in ("responseJsonSchema", "responseSchema"):
        key = field_key(settings, name)
        if key is not None:
            return read_object(settings[key], f"{path}.{key}")
    return None


def _max_output_tokens(settings: JsonObject, path: str) -> int | None:
    key = field_key(settings, "maxOutputTokens")
    return None if key is None else limit_in(settings, key, path)


def _read_system(data: JsonObject) -> Message | None:
    key = field_key(data, "systemInstruction")
    if key is None:
        return None
    value = data[key]
    if isinstance(value, str):
        texts = [value]
    else:
        parts = list_if_any(read_object(value, key), "parts", key)
        texts = [
            text_in(read_object(part, f"{key}.parts[{index}]"), "text", f"{key}.parts[{index}]")
            for index, part in enumerate(parts)
        ]
    if all(is_blank(text) for text in texts):
        return None
    return Message(SYSTEM_ID, "system", tuple(Text(text) for text in texts), source="system")
