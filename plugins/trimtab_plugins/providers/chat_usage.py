"""What Chat Completions servers say of the tokens a call took, under several names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trimtab_sdk import Usage

_PLACES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "input_tokens": (("prompt_tokens",),),
    "output_tokens": (("completion_tokens",),),
    "cached_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("prompt_cache_hit_tokens",),
        ("cached_tokens",),
    ),
    "cache_write_tokens": (("prompt_tokens_details", "cache_write_tokens"),),
    "reasoning_tokens": (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
}
_MOST = 2**53


def usage_with(known: Usage | None, told: object) -> Usage | None:
    """Give the usage once a further object about it has come: where both say something, the later one."""
    if not isinstance(told, dict):
        return known
    figures = {name: figure for name in _PLACES if (figure := _figure(told, name)) is not None}
    if not figures:
        return known
    return replace(known or Usage(), **figures)


def _figure(told: object, name: str) -> int | None:
    found = (_at(told, path) for path in _PLACES[name])
    return next((value for value in found if type(value) is int and 0 <= value < _MOST), None)


def _at(value: object, path: tuple[str, ...]) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
