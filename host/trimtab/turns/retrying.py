"""When a call is tried again, and after how long."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from trimtab.turns.faults import CallFaultError

FIRST_SECONDS = 0.5
MOST_SECONDS = 8.0
LONGEST_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Pacing:
    """What waiting needs: `sleep` in seconds, `random` in 0..1, `clock` as seconds since 1970."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class Advice:
    """What a server says of another try: whether, and after how many seconds; None where it does not say."""

    repeat: bool | None = None
    seconds: float | None = None


def read_advice(headers: Mapping[str, str], *, now: float) -> Advice:
    """Read `x-should-retry`, `retry-after-ms` and `retry-after` (seconds or an HTTP date; RFC 9110, 10.2.3).

    `headers` have names in lower case; `now` is seconds since 1970.
    """
    repeat = {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return Advice(repeat, milliseconds / 1000)
    said = headers.get("retry-after", "")
    seconds = _number(said)
    return Advice(repeat, _seconds_until(said, now) if seconds is None else seconds)


def wait_before(failure: CallFaultError, *, tries: int, retries: int, pacing: Pacing) -> float | None:
    """Give the seconds to wait before the next try, None when there is to be none.

    The server's own wait is kept; one over 60 seconds is not made, and the error tells of it. Without one it is
    anything up to 0.5 seconds, doubled with each try, at most 8: callers that failed together do not come back
    together.
    """
    if not failure.repeatable or tries > retries:
        return None
    said = failure.retry_after
    if said is not None and said > LONGEST_WAIT:
        return None
    if said:
        return said
    return pacing.random() * min(MOST_SECONDS, FIRST_SECONDS * 2.0 ** (tries - 1))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return max(value, 0.0) if math.isfinite(value) else None


def _seconds_until(date: str, now: float) -> float | None:
    try:
        return max(parsedate_to_datetime(date).timestamp() - now, 0.0)
    except (ValueError, OverflowError):
        return None
