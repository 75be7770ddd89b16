"""Reading of the streams of ChatGPT's own server: those of Responses, and how far the windows of a plan are used.

The last event may come without the output, so the items are those of the item events.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from trimtab_plugins.providers.chatgpt_faults import refined
from trimtab_plugins.providers.responses_stream import ResponsesStreamReader
from trimtab_plugins.providers.stream_json import JsonObject, read_event
from trimtab_sdk import ProviderEvent, ProviderFaultError, ServerEvent, clean_word

_LIMITS = "codex.rate_limits"
_WINDOWS = ("primary", "secondary")
_FIGURES: Mapping[str, str] = {
    "used_percent": "usedPercent",
    "window_minutes": "windowMinutes",
    "reset_at": "resetAt",
}


class ChatGPTStreamReader(ResponsesStreamReader):
    """Reads one answer. Its state tells `planType` and `windows`, where the server does; `now` is a clock."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        super().__init__(kept=False)
        self._now = now

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        """Give what an event means. Raises ProviderFaultError as the reader of Responses does."""
        try:
            return super().parse(event)
        except ProviderFaultError as error:
            if error.fault.code == "PROVIDER_BAD_RESPONSE":
                raise
            fault = refined(error.fault, _error_in(read_event(event.data)), now=self._now())
            raise ProviderFaultError(fault) from error

    def _read(self, kind: str, told: JsonObject) -> Iterator[ProviderEvent]:
        if kind == _LIMITS:
            self._facts |= _facts_of(told)
            return
        yield from super()._read(kind, told)


def _error_in(told: JsonObject) -> object:
    """Give the error of an event: its own, that of the response it holds, or the event itself."""
    response = told.get("response")
    holder = response if isinstance(response, dict) else told
    return holder.get("error") or told


def _facts_of(told: JsonObject) -> JsonObject:
    limits = told.get("rate_limits")
    windows = {name: _window(limits.get(name)) for name in _WINDOWS} if isinstance(limits, dict) else {}
    known = {name: figures for name, figures in windows.items() if figures}
    plan = clean_word(told.get("plan_type"))
    facts: JsonObject = {"planType": plan} if plan else {}
    return facts | ({"windows": known} if known else {})


def _window(told: object) -> JsonObject:
    if not isinstance(told, dict):
        return {}
    return {name: told[key] for key, name in _FIGURES.items() if _is_figure(told.get(key))}


def _is_figure(value: object) -> bool:
    sound = type(value) is int or (type(value) is float and math.isfinite(value))
    return sound and isinstance(value, int | float) and abs(value) < 2**53
