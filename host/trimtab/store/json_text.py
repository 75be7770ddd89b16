"""JSON as text for the database.

Controls are escaped by JSON itself, so that a NUL survives in PostgreSQL, and lone surrogates are escaped too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from trimtab_sdk.errors import InvalidRequestError


def dump(value: object, *, what: str) -> str:
    """Write a JSON value. Raises InvalidRequestError, naming `what`, when it is none."""
    try:
        return _written(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"{what} cannot be stored: it is no JSON value ({error})") from error


def load(text: object) -> object:
    """Read a JSON text. Raises ValueError when it is none."""
    if not isinstance(text, str):
        raise ValueError("a text was expected")
    try:
        value: object = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def load_object(text: object) -> dict[str, object]:
    """Read a JSON object. Raises ValueError when the text is none."""
    value = load(text)
    if not isinstance(value, dict):
        raise ValueError("a JSON object was expected")
    return value


def _written(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text if is_encodable(text) else json.dumps(value, separators=(",", ":"), default=_plain)


def is_encodable(text: str) -> bool:
    """Tell whether a text is free of lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a kind of JSON value")
