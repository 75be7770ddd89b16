"""Values of options that are more than a word or a number."""

from __future__ import annotations

import json
import re

import click

_INDEX = re.compile(r"@([0-9]{1,12})")


def selector(text: str) -> int | str:
    """Read a message's name: `@3` is the one at index 3, counted from 0, anything else is an id.

    Raises click.BadParameter for empty text.
    """
    if not text:
        raise click.BadParameter("name a message by its id, or by its index as @N")
    index = _INDEX.fullmatch(text)
    return int(index[1]) if index else text


def setting(text: str) -> tuple[str, object]:
    """Read `key=value`; the value is JSON where it reads as JSON, else text. Raises click.BadParameter."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise click.BadParameter(f"{text!r} is not key=value")
    return key.strip(), json_or_text(value)


def json_or_text(text: str) -> object:
    """Give the JSON value that the text holds, or the text itself where it holds none (NaN is none)."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(constant: str) -> object:
    raise ValueError(constant)
