"""The fault behind an error of ChatGPT's own server: the words of Responses, and those of plans and windows.

Its gateway says `{"detail": "..."}`, everything behind it `{"error": {...}}`. A plan has windows of hours
and days; one that is used up says when it opens again.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from trimtab_plugins.providers import responses_faults
from trimtab_plugins.providers.chat_faults import Complaint, read_complaint
from trimtab_sdk import Fault, clean_word

_USED_UP = frozenset({"usage_limit_reached", "usage_not_included"})
_SLOW_DOWN = "slow_down"
_UNKNOWN_KEY = re.compile(r"unsupported parameter: ['\"]?([\w.\[\]-]{1,100})", re.IGNORECASE)
_PLACES = {"instructions are": "instructions", "system messages are": "input"}


def fault_of(status: int, body: object, *, now: float) -> Fault:
    """Name the fault behind an answer with a status of 400 or more; `now` is seconds since 1970."""
    return _refined(responses_faults.fault_of(status, body), read_complaint(body), body, now)


def refined(fault: Fault, error: object, *, now: float) -> Fault:
    """Give a fault of a stream as this server means it; `error` is what the stream told."""
    body = {"error": error}
    return _refined(fault, read_complaint(body), body, now)


def _refined(fault: Fault, complaint: Complaint, body: object, now: float) -> Fault:
    if not _USED_UP.isdisjoint(complaint.words):
        wait = _seconds_until(body, now)
        return Fault(code="PROVIDER_QUOTA_EXHAUSTED", upstream_code=complaint.word, retry_after=wait)
    if _SLOW_DOWN in complaint.words and fault.code == "PROVIDER_RATE_LIMITED":
        return replace(fault, code="PROVIDER_OVERLOADED")
    if fault.code == "PROVIDER_CURSOR_LOST":
        # Nothing here has a cursor, so nothing can go on without it.
        return replace(fault, code="PROVIDER_REQUEST_REFUSED", cursor=None)
    if fault.code == "PROVIDER_REQUEST_REFUSED" and not fault.param:
        return replace(fault, param=_place_in(complaint.sentence))
    return fault


def _seconds_until(body: object, now: float) -> float | None:
    """Give the seconds until the window opens again, where the error tells when that is."""
    error = body.get("error") if isinstance(body, dict) else None
    told = error.get("resets_at") if isinstance(error, dict) else None
    if isinstance(told, bool) or not isinstance(told, int | float) or abs(told) > 10**12 or math.isnan(told):
        return None
    return max(0.0, told - now)


def _place_in(sentence: str) -> str:
    found = _UNKNOWN_KEY.match(sentence)
    if found is not None:
        return clean_word(found[1])
    return next((place for start, place in _PLACES.items() if sentence.lower().startswith(start)), "")
