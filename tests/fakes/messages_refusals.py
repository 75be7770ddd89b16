"""The ways in which the Messages API says no, and the sentences that it says it with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fakes.chat_refusals import refusal_with
from fakes.chat_replies import NO_HEADERS, Json, PlainReply

BAD_SIGNATURE = "Invalid `signature` in `thinking` block"
BAD_DATA = "Invalid `data` in `redacted_thinking` block"
BOUND = (
    f"{BAD_SIGNATURE}. The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the '
    "`thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header."
)
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks "
    "must remain as they were in the original response."
)
PREFILL = "This model does not support assistant message prefill. The conversation must end with a user message."
_BAD, _RATE = "invalid_request_error", "rate_limit_error"


@dataclass(frozen=True, slots=True)
class MessagesKind:
    """One row of the table of errors; `code` goes into the details."""

    status: int
    type: str
    message: str
    code: str | None = None


REFUSALS: Mapping[str, MessagesKind] = {
    "bad-request": MessagesKind(400, _BAD, "The request body is not valid JSON."),
    "context": MessagesKind(400, _BAD, "prompt is too long: 9000 tokens > 8192 maximum"),
    "context-sum": MessagesKind(
        400,
        _BAD,
        "input length and `max_tokens` exceed context limit: 8000 + 1024 > 8192, decrease input length or "
        "`max_tokens` and try again",
    ),
    "signature": MessagesKind(400, _BAD, f"messages.1.content.0: {BAD_SIGNATURE}"),
    "bound": MessagesKind(400, _BAD, f"messages.1.content.0: {BOUND}"),
    "modified": MessagesKind(400, _BAD, f"messages.1.content.0: {MODIFIED}"),
    "prefill": MessagesKind(400, _BAD, PREFILL),
    "auth": MessagesKind(401, "authentication_error", "invalid x-api-key"),
    "cursor": MessagesKind(404, "not_found_error", "The thread was not found.", "thread_not_found"),
    "no-threads": MessagesKind(400, _BAD, "Threads are not supported here.", "thread_unsupported_request"),
    "billing": MessagesKind(402, "billing_error", "There is a problem with your billing."),
    "permission": MessagesKind(403, "permission_error", "Your API key may not use the resource."),
    "model": MessagesKind(404, "not_found_error", "model: claude-nobody"),
    "conflict": MessagesKind(409, "conflict_error", "The request conflicts with another."),
    "too-large": MessagesKind(413, "request_too_large", "Request exceeds the maximum size"),
    "rate-limit": MessagesKind(429, _RATE, "The request would exceed your rate limit of input tokens per minute."),
    "ramp-limit": MessagesKind(429, _RATE, "Your usage has grown too fast.", "ramp_limit_exceeded"),
    "quota": MessagesKind(429, _RATE, "You have reached your spend limit.", "enforced_spend_limit_reached"),
    "server": MessagesKind(500, "api_error", "Internal server error"),
    "timeout": MessagesKind(504, "timeout_error", "The request took too long."),
    "overloaded": MessagesKind(529, "overloaded_error", "Overloaded"),
}
"""The kinds of refusal by name."""
TYPES = {row.status: row.type for row in REFUSALS.values()}


def refusal(
    kind: str,
    *,
    message: str | None = None,
    retry_after: float | str | None = None,
    retry_after_ms: float | None = None,
    should_retry: bool | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
) -> PlainReply:
    """Make an error of a kind in REFUSALS; `retry_after` is in seconds or an HTTP date."""
    row = REFUSALS[kind]
    hints = {
        "retry-after": retry_after,
        "retry-after-ms": retry_after_ms,
        "x-should-retry": None if should_retry is None else str(should_retry).lower(),
    }
    given = {name: str(value) for name, value in hints.items() if value is not None}
    body = error_body(message or row.message, type=row.type, code=row.code)
    return refusal_with(row.status, body, headers={**given, **headers})


def error_body(message: str, *, type: str = _BAD, code: str | None = None) -> Json:
    """Give an error as the API writes it, but for the id of its request."""
    details = {} if code is None else {"details": {"error_code": code}}
    return {"type": "error", "error": {"type": type, "message": message, **details}}


def named(reply: PlainReply, request_id: str) -> PlainReply:
    """Give an answer the id of its request, in its head and, when it is an error, in its body."""
    headers = {"request-id": request_id, **reply.headers}
    return PlainReply(reply.status, _named_body(reply.body, request_id), headers)


def _named_body(body: bytes, request_id: str) -> bytes:
    try:
        value = json.loads(body)
    except ValueError:
        return body
    if not isinstance(value, dict) or value.get("type") != "error":
        return body
    return json.dumps({**value, "request_id": request_id}, ensure_ascii=False).encode()
