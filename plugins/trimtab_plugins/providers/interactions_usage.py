"""What Google's Interactions API says of the tokens an answer took."""

from __future__ import annotations

from trimtab_sdk import Usage

_MOST = 2**53


def usage_of(told: object) -> Usage | None:
    """Read a usage; None when it says nothing.

    Google tells what was thought apart from what was put out. Here `output_tokens` are both, as with other
    providers, and `reasoning_tokens` the thoughts among them.
    """
    said, thought = _figure(told, "total_output_tokens"), _figure(told, "total_thought_tokens")
    usage = Usage(
        input_tokens=_figure(told, "total_input_tokens"),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        cached_tokens=_figure(told, "total_cached_tokens"),
        reasoning_tokens=thought,
    )
    return None if usage == Usage() else usage


def _figure(told: object, name: str) -> int | None:
    value = told.get(name) if isinstance(told, dict) else None
    return value if type(value) is int and 0 <= value < _MOST else None
