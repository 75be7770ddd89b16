"""What Responses servers say of the tokens a call took."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_sdk import Usage

_PLACES: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cached_tokens": ("input_tokens_details", "cached_tokens"),
    "cache_write_tokens": ("input_tokens_details", "cache_write_tokens"),
    "reasoning_tokens": ("output_tokens_details", "reasoning_tokens"),
}
_MOST = 2**53


def usage_of(told: object) -> Usage | None:
    """Give the usage that a response tells; cached tokens are among those of the input."""
    figures = {name: figure for name, path in _PLACES.items() if (figure := _figure(told, path)) is not None}
    return Usage(**figures) if figures else None


def _figure(value: object, path: tuple[str, ...]) -> int | None:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value < _MOST else None
