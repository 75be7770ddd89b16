"""What Anthropic's server says of the tokens a call took."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import Usage

_PLACES: Mapping[str, tuple[str, ...]] = {
    "fresh": ("input_tokens",),
    "written": ("cache_creation_input_tokens",),
    "cached": ("cache_read_input_tokens",),
    "output": ("output_tokens",),
    "thinking": ("output_tokens_details", "thinking_tokens"),
}
_MOST = 2**53


class Figures:
    """The figures of one answer. Each time the server tells one it is the whole of it, never an addition."""

    def __init__(self) -> None:
        self._told: dict[str, int] = {}

    def take(self, told: JsonObject) -> None:
        """Take what an event says; what it leaves out stays."""
        for name, path in _PLACES.items():
            if (figure := _figure(told, path)) is not None:
                self._told[name] = figure

    def usage(self) -> Usage | None:
        """Give the usage: what was read from the cache and written to it is input too."""
        told = self._told
        if not told:
            return None
        return Usage(
            input_tokens=sum(told.get(one, 0) for one in ("fresh", "written", "cached"))
            if "fresh" in told
            else None,
            output_tokens=told.get("output"),
            cached_tokens=told.get("cached"),
            cache_write_tokens=told.get("written"),
            reasoning_tokens=told.get("thinking"),
        )


def _figure(value: object, path: tuple[str, ...]) -> int | None:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value < _MOST else None
