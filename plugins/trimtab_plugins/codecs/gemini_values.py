"""Small things that both Gemini wires need."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import NoReturn

from trimtab_plugins.codecs.reading import JsonObject, read_object

SKIP_SIGNATURE = "skip_thought_signature_validator"
"""The signature that Google documents for calls which no Gemini model made, such as those of an imported chat."""


def field_key(holder: Mapping[str, object], name: str) -> str | None:
    """Give the spelling under which `holder` has the field `name`: camel case or snake case; null is absent."""
    for key in (name, _snake(name)):
        if holder.get(key) is not None:
            return key
    return None


def field_of(holder: Mapping[str, object], name: str) -> object:
    """Give the value of the field `name` (camel case) in either spelling, None when it is absent."""
    key = field_key(holder, name)
    return None if key is None else holder[key]


def object_if_any(body: Mapping[str, object], key: str) -> JsonObject:
    """Give the object at `key` of a body, or an empty one when the key is absent or null."""
    value = body.get(key)
    return {} if value is None else read_object(value, key)


@cache
def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found.group().lower()}", name)


def parse_object(text: str) -> JsonObject | None:
    """Give the JSON object that a text holds, None when it holds anything else or what no wire can carry."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
