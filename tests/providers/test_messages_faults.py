from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.messages_streams import fault_in
from trimtab.conformance.codec_inputs import JSON_VALUES
from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_sdk import Fault, FaultCode


def fault(status: int, body: object = None) -> Fault:
    return Anthropic().classify(status, body)


def error(kind: str, message: str = "m", code: str | None = None) -> dict[str, Any]:
    details = {} if code is None else {"details": {"error_code": code}}
    return {"type": "error", "error": {"type": kind, "message": message, **details}, "request_id": "req_1"}


def bad(message: str) -> dict[str, Any]:
    return error("invalid_request_error", message)


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, bad("messages: at least one message is required"), "REQUEST_REFUSED", False),
        (400, bad("Your credit balance is too low to access the Anthropic API."), "QUOTA_EXHAUSTED", False),
        (400, bad("Output blocked by content filtering policy"), "CONTENT_REFUSED", False),
        (401, error("authentication_error", "invalid x-api-key"), "AUTHENTICATION", False),
        (402, error("billing_error"), "QUOTA_EXHAUSTED", False),
        (403, error("permission_error"), "AUTHENTICATION", False),
        (404, error("not_found_error", "model: claude-none"), "MODEL_NOT_FOUND", False),
        (404, error("not_found_error", "Not Found"), "REQUEST_REFUSED", False),
        (409, error("conflict_error"), "FAILED", True),
        (413, error("request_too_large", "Request exceeds the maximum size"), "REQUEST_REFUSED", False),
        (429, error("rate_limit_error"), "RATE_LIMITED", True),
        (429, error("rate_limit_error", code="ramp_limit_exceeded"), "RATE_LIMITED", True),
        (429, error("rate_limit_error", code="enforced_spend_limit_reached"), "QUOTA_EXHAUSTED", False),
        (429, error("rate_limit_error", code="contract_spend_limit_reached"), "QUOTA_EXHAUSTED", False),
        (500, error("api_error"), "FAILED", True),
        (502, "<html>", "FAILED", True),
        (504, error("timeout_error"), "TIMEOUT", True),
        (529, error("overloaded_error"), "OVERLOADED", True),
        (529, None, "OVERLOADED", True),
    ],
)
def test_a_fault_is_named_by_type_and_status(status: int, body: object, code: str, retryable: bool) -> None:
    got = fault(status, body)

    assert (got.code, got.retryable, got.cursor) == (f"PROVIDER_{code}", retryable, None)
    assert not got.stale_reasoning


def test_the_finest_word_of_the_server_is_kept() -> None:
    assert fault(529, error("overloaded_error")).upstream_code == "overloaded_error"
    assert fault(429, error("rate_limit_error", code="ramp_limit_exceeded")).upstream_code == "ramp_limit_exceeded"
    assert fault(429, error("rate_limit_error", code="not a word")).upstream_code == "rate_limit_error"


@pytest.mark.parametrize(
    ("message", "allowed", "needed"),
    [
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310),
        (
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, "
            "decrease input length or `max_tokens` and try again",
            200_000,
            209_573,
        ),
        ("prompt is too long", None, None),
    ],
)
def test_a_conversation_that_is_too_long_is_told_with_its_figures(
    message: str, allowed: int | None, needed: int | None
) -> None:
    for got in (fault(400, bad(message)), fault_in(bad(message))):
        assert (got.code, got.retryable) == ("PROVIDER_CONTEXT_LENGTH", False)
        assert (got.allowed, got.needed) == (allowed, needed)


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0: Invalid `signature` in `thinking` block",
        "messages.3.content.0: Invalid signature in thinking block. The block is bound to another conversation.",
        "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
        "modified. These blocks must remain as they were in the original response.",
        "messages.1.content.0.thinking.signature: Field required",
        "messages.1.content.0.signature: Field required",
    ],
)
def test_thinking_that_does_not_pass_any_more_is_told_apart(message: str) -> None:
    for got in (fault(400, bad(message)), fault_in(bad(message))):
        assert (got.code, got.stale_reasoning, got.retryable) == ("PROVIDER_REQUEST_REFUSED", True, False)


@pytest.mark.parametrize(
    "message",
    [
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.",
        "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        "text content blocks must be non-empty",
    ],
)
def test_what_would_not_pass_without_thinking_either_is_a_plain_refusal(message: str) -> None:
    got = fault(400, bad(message))

    assert (got.code, got.stale_reasoning) == ("PROVIDER_REQUEST_REFUSED", False)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    st.integers(400, 599),
    st.one_of(JSON_VALUES, st.fixed_dictionaries({"error": JSON_VALUES})),
    st.text(max_size=20),
)
def test_any_body_has_a_fault(status: int, body: object, code: str) -> None:
    for one in (body, {"error": {"type": code, "message": body, "details": {"error_code": code}}}):
        assert fault(status, one).code in get_args(FaultCode)


@pytest.mark.parametrize(
    ("status", "word", "cursor"),
    [
        (404, "thread_not_found", "cursor_expired"),
        (400, "thread_already_continued", "cursor_expired"),
        (400, "thread_continue_in_flight", "cursor_expired"),
        (400, "thread_fingerprint_mismatch", "cursor_invalid"),
    ],
)
def test_a_thread_that_cannot_be_continued_is_a_lost_cursor(status: int, word: str, cursor: str) -> None:
    got = fault(status, error("invalid_request_error", code=word))

    assert (got.code, got.cursor, got.upstream_code) == ("PROVIDER_CURSOR_LOST", cursor, word)
    assert not got.retryable


def test_a_conversation_that_is_not_kept_in_a_thread_may_be_asked_without() -> None:
    got = fault(400, error("invalid_request_error", code="thread_unsupported_request"))

    assert (got.code, got.unkept, got.cursor) == ("PROVIDER_REQUEST_REFUSED", True, None)
