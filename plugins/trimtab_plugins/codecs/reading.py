"""Checks that the codecs share: every wrong shape becomes an InvalidRequestError that names its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from trimtab_sdk import InvalidRequestError, Role, Source, Text, labelled_source

JsonObject: TypeAlias = dict[str, object]

MISSING = object()
"""Stands for a key that is not there, as different from one that holds null."""

RESULT_ID_KEYS = ("tool_call_id", "toolCallId", "callId", "call_id")
"""How histories spell the id of the call that a tool result answers; the first is the wire's own."""

_SHOWN_LENGTH = 64


def wrong(path: str, expected: str, value: object = MISSING) -> InvalidRequestError:
    """Give the error for a value of the wrong kind: it names what was expected and what was found, no content."""
    place = path or "the input"
    if value is MISSING:
        return InvalidRequestError(f"{place} is missing; it must be {expected}", path=path)
    return InvalidRequestError(f"{place} must be {expected}, not {_kind(value)}", path=path)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "another text" if value else "an empty text"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return "an object" if isinstance(value, dict) else type(value).__name__


def read_object(value: object, path: str) -> JsonObject:
    """Give `value` when it is an object."""
    if not isinstance(value, dict):
        raise wrong(path, "an object", value)
    return value


def read_list(value: object, path: str) -> list[object]:
    """Give `value` when it is a list."""
    if not isinstance(value, list):
        raise wrong(path, "a list", value)
    return value


def read_text(value: object, path: str) -> str:
    """Give `value` when it is a text."""
    if not isinstance(value, str):
        raise wrong(path, "a text", value)
    return value


def object_in(holder: Mapping[str, object], key: str, path: str) -> JsonObject:
    """Give the object at `key`, which must be there."""
    return read_object(holder.get(key, MISSING), f"{path}.{key}")


def text_in(holder: Mapping[str, object], key: str, path: str) -> str:
    """Give the text at `key`, which must be there."""
    return read_text(holder.get(key, MISSING), f"{path}.{key}")


def text_if_any(holder: Mapping[str, object], key: str, path: str) -> str:
    """Give the text at `key`, or an empty one when the key is absent or null."""
    value = holder.get(key)
    return "" if value is None else read_text(value, f"{path}.{key}")


def list_if_any(holder: Mapping[str, object], key: str, path: str) -> list[object]:
    """Give the list at `key`, or an empty one when the key is absent or null."""
    value = holder.get(key)
    return [] if value is None else read_list(value, f"{path}.{key}")


def flag_if_any(holder: Mapping[str, object], key: str, path: str) -> bool:
    """Give the truth at `key`, or False when the key is absent or null."""
    value = holder.get(key)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise wrong(f"{path}.{key}", "true or false", value)
    return value


def role_in(holder: Mapping[str, object], path: str, roles: Mapping[str, Role]) -> Role:
    """Give what the `role` of a message stands for, which must be one of `roles`."""
    value = holder.get("role", MISSING)
    role = roles.get(value) if isinstance(value, str) else None
    if role is None:
        raise wrong(f"{path}.role", f"one of {', '.join(roles)}", value)
    return role


def limit_in(holder: Mapping[str, object], key: str, path: str = "") -> int | None:
    """Give the number of tokens at `key`, which must be above 0; None when the key is absent or null."""
    value = holder.get(key)
    if value is None:
        return None
    if type(value) is not int or value <= 0:
        raise wrong(f"{path}.{key}" if path else key, "a whole number of tokens above 0", value)
    return value


def name_of(holder: Mapping[str, object], path: str) -> str | None:
    """Give the `name` of a message, None when the key is absent or null."""
    value = holder.get("name")
    return None if value is None else read_text(value, f"{path}.name")


def result_id_key(holder: Mapping[str, object]) -> str | None:
    """Give the spelling under which a tool message names its call, None when it names none."""
    return next((key for key in RESULT_ID_KEYS if holder.get(key) is not None), None)


def json_text(value: object) -> str:
    """Give the shortest JSON text of a value, other scripts unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(name: str) -> str:
    """Give a name from the input as it may stand in a sentence: one line, printable, bounded."""
    if len(name) <= _SHOWN_LENGTH and name and name.isprintable():
        return name
    return repr(name[:_SHOWN_LENGTH])


def shown_list(names: Iterable[str]) -> str:
    """Give some names as they may stand in a sentence, at most five of them."""
    every = [shown(name) for name in names]
    more = f" and {len(every) - 5} more" if len(every) > 5 else ""
    return ", ".join(every[:5]) + more


def is_blank(text: str) -> bool:
    """Tell whether a text has nothing but blanks."""
    return not text or text.isspace()


def source_of_system(*parts: object) -> Source:
    """Give the source of a system message: what a host labelled as a plugin's text is known again by its label."""
    if len(parts) != 1:
        return "system"
    text = parts[0].text if isinstance(parts[0], Text) else parts[0]
    return (labelled_source(text) if isinstance(text, str) else None) or "system"
