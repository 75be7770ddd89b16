"""A walk through JSON values."""

from __future__ import annotations

from collections.abc import Iterator


def strings_in(value: object) -> Iterator[str]:
    """Give every text inside a JSON value, keys of objects included; takes any depth."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, list | tuple):
            waiting.extend(reversed(current))
        elif isinstance(current, dict):
            waiting.extend(reversed([*current.keys(), *current.values()]))
