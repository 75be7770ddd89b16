"""What an error of Google's servers says, in the two shapes they have.

The Interactions API has a word as `code`. The other endpoints, and the proxies in front of all, have a number as
`code`, a word in capitals as `status`, and objects with more under `details`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import clean_word

# The numbers of gRPC, by which a step tells an error.
_NUMBERS = {
    1: "cancelled",
    3: "invalid_argument",
    4: "deadline_exceeded",
    5: "not_found",
    7: "permission_denied",
    8: "resource_exhausted",
    9: "failed_precondition",
    10: "aborted",
    12: "unimplemented",
    13: "internal",
    14: "unavailable",
    16: "unauthenticated",
}
_DELAY = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)s")
_MOST_READ = 2_000
_MOST_DETAILS = 20


@dataclass(frozen=True, slots=True)
class Complaint:
    """Words for machines, a sentence for people, and what the details tell.

    - `words` are all there are, in small letters, the most telling one first; `word` is that one as it came.
    - `status` is the HTTP status the body itself tells, None without one. `retry_after` is in seconds.
    """

    word: str = ""
    words: tuple[str, ...] = ()
    sentence: str = ""
    status: int | None = None
    param: str = ""
    quotas: str = ""
    retry_after: float | None = None


def read_complaint(body: object) -> Complaint:
    """Read an error body of any shape; one that cannot be read says nothing."""
    if isinstance(body, list):
        body = body[0] if body else None
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, str):
        return Complaint(sentence=error[:_MOST_READ])
    return _from_object(error) if isinstance(error, dict) else Complaint()


def _from_object(error: JsonObject) -> Complaint:
    details = _details(error)
    words = [word for word in _words(error, details) if word]
    message = error.get("message")
    return Complaint(
        word=words[0] if words else "",
        words=tuple(word.lower() for word in words),
        sentence=message[:_MOST_READ] if isinstance(message, str) else "",
        status=_status(error.get("code")),
        param=next(_values(details, "fieldViolations", "field"), ""),
        quotas=" ".join(_values(details, "violations", "quotaId")),
        retry_after=_delay(details),
    )


def _words(error: JsonObject, details: Sequence[JsonObject]) -> Iterator[str]:
    """The reason of an ErrorInfo says more than the status beside it, and a word more than a number."""
    code = error.get("code")
    yield from (clean_word(detail.get("reason")) for detail in details)
    yield "" if isinstance(code, str) and code.isdecimal() else clean_word(code)
    yield clean_word(error.get("status"))
    yield _NUMBERS.get(code, "") if type(code) is int else ""


def _details(error: JsonObject) -> list[JsonObject]:
    details = error.get("details")
    listed = details[:_MOST_DETAILS] if isinstance(details, list) else []
    return [detail for detail in listed if isinstance(detail, dict)]


def _values(details: Sequence[JsonObject], key: str, inner: str) -> Iterator[str]:
    lists = (detail.get(key) for detail in details)
    found = (one for listed in lists if isinstance(listed, list) for one in listed[:_MOST_DETAILS])
    values = (clean_word(one.get(inner)) for one in found if isinstance(one, dict))
    return (value for value in values if value)


def _delay(details: Sequence[JsonObject]) -> float | None:
    told = (detail.get("retryDelay") for detail in details)
    found = (_DELAY.fullmatch(delay) for delay in told if isinstance(delay, str))
    return next((float(match[1]) for match in found if match), None)


def _status(code: object) -> int | None:
    number = int(code) if isinstance(code, str) and re.fullmatch(r"[0-9]{3}", code) else code
    return number if type(number) is int and 400 <= number < 600 else None
