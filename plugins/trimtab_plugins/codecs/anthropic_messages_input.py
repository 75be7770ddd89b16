"""The `input` of a tool call: an object on this wire, a text everywhere else."""

from __future__ import annotations

import json

from trimtab_plugins.codecs.reading import JsonObject, is_blank


def read_input(arguments: str) -> JsonObject | None:
    """Give the object that the text of a call's arguments stands for, None when it stands for no object.

    No text at all and `null` stand for an empty object. Half surrogate pairs, which a text can hold only as
    escapes, become U+FFFD, since no request can carry them.
    """
    if is_blank(arguments):
        return {}
    value = _parse(arguments)
    if value is None and arguments.strip() == "null":
        return {}
    return value if isinstance(value, dict) else None


def _parse(text: str) -> object:
    try:
        value: object = json.loads(text, parse_constant=_refuse)
        return _without_half_pairs(value) if "\\u" in text else value
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _without_half_pairs(value: object) -> object:
    text = json.dumps(value, ensure_ascii=False)
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value if clean == text else json.loads(clean)
