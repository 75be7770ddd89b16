"""The ways in which a server says no: the errors of the wire, pages and redirects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fakes.chat_replies import NO_HEADERS, Json, PlainReply

JSON_TYPE = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table of errors."""

    status: int
    type: str
    code: str | None
    message: str
    param: str | None = None


_BAD, _FAULT = "invalid_request_error", "server_error"
REFUSALS: Mapping[str, Kind] = {
    "bad-request": Kind(400, _BAD, None, "We could not parse the JSON body of your request."),
    "context": Kind(
        400,
        _BAD,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. "
        "Please reduce the length of the messages.",
        "messages",
    ),
    "auth": Kind(401, _BAD, "invalid_api_key", "Incorrect API key provided."),
    "permission": Kind(403, _BAD, "unsupported_country_region_territory", "Country not supported."),
    "model": Kind(404, _BAD, "model_not_found", "The model does not exist or you do not have access to it."),
    "timeout": Kind(408, _FAULT, None, "The request took too long."),
    "conflict": Kind(409, _BAD, None, "The request conflicts with another."),
    "too-large": Kind(413, _BAD, None, "The request is too large."),
    "unprocessable": Kind(422, _BAD, None, "The request could not be processed."),
    "rate-limit": Kind(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    "quota": Kind(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "server": Kind(500, _FAULT, None, "The server had an error while processing your request."),
    "overloaded": Kind(503, "service_unavailable_error", "server_is_overloaded", "The server is overloaded."),
}
"""The kinds of refusal by name: status, type, code, text, param."""


def refusal(
    kind: str,
    *,
    message: str | None = None,
    retry_after: float | str | None = None,
    retry_after_ms: float | None = None,
    should_retry: bool | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    kinds: Mapping[str, Kind] = REFUSALS,
) -> PlainReply:
    """Make an error of a kind in `kinds`; `retry_after` is in seconds or an HTTP date."""
    row = kinds[kind]
    hints = {
        "retry-after": retry_after,
        "retry-after-ms": retry_after_ms,
        "x-should-retry": None if should_retry is None else str(should_retry).lower(),
    }
    given = {name: str(value) for name, value in hints.items() if value is not None}
    body = error_body(message or row.message, type=row.type, code=row.code, param=row.param)
    return refusal_with(row.status, body, headers={**given, **headers})


def error_body(message: str, *, type: str = _BAD, code: str | None = None, param: str | None = None) -> Json:
    """Give an error in OpenAI's shape."""
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def refusal_with(status: int, body: Json, *, headers: Mapping[str, str] = NO_HEADERS) -> PlainReply:
    """Make an answer of any status; a body that is text or bytes is sent as it is, any other as JSON."""
    if isinstance(body, bytes):
        return PlainReply(status, body, headers)
    if isinstance(body, str):
        return PlainReply(status, body.encode(), {"content-type": "text/plain; charset=utf-8", **headers})
    return PlainReply(status, json.dumps(body, ensure_ascii=False).encode(), {**JSON_TYPE, **headers})


def page(html: str = "<!doctype html><title>Hello</title><p>Please sign in.", *, status: int = 200) -> PlainReply:
    """Make a web page, as a proxy or a wrong address gives one."""
    return PlainReply(status, html.encode(), {"content-type": "text/html; charset=utf-8"})


def redirect(location: str, *, status: int = 307) -> PlainReply:
    """Make a redirect."""
    return PlainReply(status, b"", {"location": location})
