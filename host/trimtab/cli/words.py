"""The first words of a message in any format, to recognize it by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from trimtab.cli.screen import clean

_CONTENT_KEYS = ("content", "text", "parts", "output", "result", "functionCall", "functionResponse", "function")
_MOST_PIECES = 12
_DEEPEST = 8


def first_words(messages: Sequence[object], index: int | None, *, limit: int = 80) -> str:
    """Give the beginning of the message at `index`, one clean line of at most `limit` characters."""
    if index is None or not 0 <= index < len(messages):
        return ""
    pieces = islice(_pieces(messages[index], _DEEPEST), _MOST_PIECES)
    return clean(" ".join(piece[: limit * 4] for piece in pieces), limit=limit)


def _pieces(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for item in value:
            yield from _pieces(item, depth - 1)
    elif depth and isinstance(value, Mapping):
        yield from _pieces_of_part(value, depth - 1)


def _pieces_of_part(part: Mapping[str, object], depth: int) -> Iterator[str]:
    name = part.get("name") or part.get("toolName") or part.get("tool_name")
    arguments = next((part[key] for key in ("arguments", "args", "input") if part.get(key) is not None), None)
    if isinstance(name, str) and arguments is not None:
        yield f"{name}({_short(arguments)})"
        return
    found = False
    for key in (*_CONTENT_KEYS, "tool_calls"):
        for piece in _pieces(part.get(key), depth):
            found = True
            yield piece
    if not found and isinstance(part.get("type"), str):
        yield f"[{part['type']}]"


def _short(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments[:200]
    if isinstance(arguments, Mapping):
        return ", ".join(f"{key}: {str(value)[:60]}" for key, value in islice(arguments.items(), 4))
    return str(arguments)[:200]
