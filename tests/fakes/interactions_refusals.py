"""The ways in which the Interactions API says no: codes that are words, and the older shape of the same host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fakes.chat_refusals import refusal_with
from fakes.chat_replies import NO_HEADERS, Json, PlainReply

LEGACY_SCHEMA = (
    "The legacy Interactions API schema is no longer supported. Please use the schema in which an interaction "
    "consists of steps."
)
UNSIGNED = "Function call is missing a thought_signature in functionCall parts."
BAD_SIGNATURE = "Thought signature is not valid."
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


@dataclass(frozen=True, slots=True)
class InteractionKind:
    """One row of the table of errors; `word` is the status in the older shape."""

    status: int
    code: str
    word: str
    message: str


_BAD, _ARGUMENT = "invalid_request", "INVALID_ARGUMENT"
REFUSALS: Mapping[str, InteractionKind] = {
    "bad-request": InteractionKind(400, _BAD, _ARGUMENT, "Request contains an invalid argument."),
    "legacy-schema": InteractionKind(400, _BAD, _ARGUMENT, LEGACY_SCHEMA),
    "signature": InteractionKind(400, _BAD, _ARGUMENT, UNSIGNED),
    "context": InteractionKind(
        400,
        _BAD,
        _ARGUMENT,
        "The input token count (9000) exceeds the maximum number of tokens allowed (8192).",
    ),
    "precondition": InteractionKind(
        400, "failed_precondition", "FAILED_PRECONDITION", "User location is not supported for the API use."
    ),
    "auth": InteractionKind(400, "api_key_invalid", _ARGUMENT, "API key not valid. Please pass a valid API key."),
    "permission": InteractionKind(
        403, "permission_denied", "PERMISSION_DENIED", "The caller does not have permission."
    ),
    "model": InteractionKind(404, "not_found", "NOT_FOUND", "models/m is not found for this API version."),
    "cursor": InteractionKind(404, "not_found", "NOT_FOUND", "Interaction v1_lost was not found."),
    "timeout": InteractionKind(408, "request_timeout", "DEADLINE_EXCEEDED", "The request took too long."),
    "conflict": InteractionKind(409, "aborted", "ABORTED", "The request conflicts with another."),
    "too-large": InteractionKind(413, "payload_too_large", _ARGUMENT, "Request payload size exceeds the limit."),
    "rate-limit": InteractionKind(
        429, "rate_limit_exceeded", "RESOURCE_EXHAUSTED", "Too many requests. Please try again later."
    ),
    "quota": InteractionKind(
        429,
        "quota_exceeded",
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: "
        "generate_requests_per_model_per_day, limit: 250",
    ),
    "server": InteractionKind(500, "internal_error", "INTERNAL", "An internal error has occurred."),
    "overloaded": InteractionKind(
        503, "service_unavailable", "UNAVAILABLE", "The model is overloaded. Please try again later."
    ),
    "deadline": InteractionKind(504, "deadline_exceeded", "DEADLINE_EXCEEDED", "The deadline expired."),
}
"""The kinds of refusal by name. Codes that Google has not published are guesses; no client may depend on them."""


def refusal(
    kind: str,
    *,
    message: str | None = None,
    retry_after: float | str | None = None,
    retry_after_ms: float | None = None,
    should_retry: bool | None = None,
    legacy: bool = False,
    headers: Mapping[str, str] = NO_HEADERS,
) -> PlainReply:
    """Make an error of a kind in REFUSALS; `legacy` writes it in the older shape, `retry_after` as RetryInfo."""
    row = REFUSALS[kind]
    hints = {
        "retry-after": retry_after,
        "retry-after-ms": retry_after_ms,
        "x-should-retry": None if should_retry is None else str(should_retry).lower(),
    }
    given = {name: str(value) for name, value in hints.items() if value is not None}
    text = message or row.message
    if not legacy:
        return refusal_with(row.status, error_body(text, code=row.code), headers={**given, **headers})
    given.pop("retry-after", None)
    body = legacy_error_body(text, code=row.status, status=row.word, retry_after=retry_after)
    return refusal_with(row.status, body, headers={**given, **headers})


def error_body(message: str, *, code: str = _BAD) -> Json:
    """Give an error as the Interactions API writes it."""
    return {"error": {"code": code, "message": message}}


def legacy_error_body(message: str, *, code: int, status: str, retry_after: float | str | None = None) -> Json:
    """Give an error as the older endpoints of the host write it; `retry_after` in seconds."""
    info = [] if retry_after is None else [{"@type": _RETRY_INFO, "retryDelay": f"{retry_after}s"}]
    return {"error": {"code": code, "message": message, "status": status, **({"details": info} if info else {})}}
