from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.conformance.provider_inputs import ERROR_BODIES
from trimtab.conformance.provider_rules import fault_faults
from trimtab_plugins.providers.gemini import Gemini
from trimtab_sdk import Fault

LEGACY_SCHEMA = (
    "The legacy Interactions API schema is no longer supported. Please upgrade your client SDK to adopt the new "
    "'steps' schema."
)
QUOTA = "You exceeded your current quota, please check your plan and billing details."
TOO_LONG = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
UNSIGNED = "Function call is missing a thought_signature in functionCall parts. See the documentation."


def fault(status: int, body: object = None) -> Fault:
    return Gemini().classify(status, body)


def error(code: str, message: str = "m") -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def old(status: int, word: str, message: str = "m", *details: dict[str, Any]) -> dict[str, Any]:
    """A body as the other endpoints of Google write it."""
    return {"error": {"code": status, "message": message, "status": word, "details": list(details)}}


def violated(*quotas: str) -> dict[str, Any]:
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaId": quota, "quotaMetric": "m"} for quota in quotas]}


def later(delay: object) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def reason(word: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": word, "domain": "googleapis.com"}


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, error("invalid_request"), "REQUEST_REFUSED", False),
        (400, error("invalid_request", LEGACY_SCHEMA), "REQUEST_REFUSED", False),
        (400, error("invalid_request", TOO_LONG), "CONTEXT_LENGTH", False),
        (400, error("failed_precondition", "Location is not supported."), "REQUEST_REFUSED", False),
        (400, old(400, "INVALID_ARGUMENT"), "REQUEST_REFUSED", False),
        (400, old(400, "INVALID_ARGUMENT", TOO_LONG), "CONTEXT_LENGTH", False),
        (
            400,
            old(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            "AUTHENTICATION",
            False,
        ),
        (400, old(400, "INVALID_ARGUMENT", "m", reason("API_KEY_INVALID")), "AUTHENTICATION", False),
        (400, error("invalid_request", "API key expired. Please renew it."), "AUTHENTICATION", False),
        (400, [old(400, "INVALID_ARGUMENT")], "REQUEST_REFUSED", False),
        (401, error("unauthenticated"), "AUTHENTICATION", False),
        (401, None, "AUTHENTICATION", False),
        (403, error("permission_denied"), "AUTHENTICATION", False),
        (403, old(403, "PERMISSION_DENIED", "Your API key was reported as leaked."), "AUTHENTICATION", False),
        (404, error("not_found", "models/gemini-9 is not found for API version v1."), "MODEL_NOT_FOUND", False),
        (404, old(404, "NOT_FOUND", "models/gemini-9 is not found."), "MODEL_NOT_FOUND", False),
        (404, "<html>", "REQUEST_REFUSED", False),
        (404, None, "REQUEST_REFUSED", False),
        (408, None, "TIMEOUT", True),
        (409, old(409, "ABORTED"), "FAILED", True),
        (413, None, "REQUEST_REFUSED", False),
        (429, error("rate_limit_exceeded"), "RATE_LIMITED", True),
        (429, error("quota_exceeded"), "QUOTA_EXHAUSTED", False),
        (429, error("rate_limit_exceeded", "Limit of requests per day reached."), "QUOTA_EXHAUSTED", False),
        (429, error("resource_exhausted", "Your prepayment credits are depleted."), "QUOTA_EXHAUSTED", False),
        (429, old(429, "RESOURCE_EXHAUSTED", QUOTA), "RATE_LIMITED", True),
        (429, old(429, "RESOURCE_EXHAUSTED", QUOTA, violated("RequestsPerMinutePerModel")), "RATE_LIMITED", True),
        (
            429,
            old(
                429, "RESOURCE_EXHAUSTED", QUOTA, violated("RequestsPerMinute", "RequestsPerDayPerModel-FreeTier")
            ),
            "QUOTA_EXHAUSTED",
            False,
        ),
        (429, old(429, "RESOURCE_EXHAUSTED", f"{QUOTA} * Quota exceeded, limit: 0"), "QUOTA_EXHAUSTED", False),
        (429, None, "RATE_LIMITED", True),
        (499, old(499, "CANCELLED"), "FAILED", False),
        (500, error("internal_error"), "FAILED", True),
        (500, old(500, "INTERNAL"), "FAILED", True),
        (501, old(501, "UNIMPLEMENTED"), "FAILED", False),
        (502, "<html>", "FAILED", True),
        (503, error("service_unavailable"), "OVERLOADED", True),
        (503, old(503, "UNAVAILABLE", "The model is overloaded."), "OVERLOADED", True),
        (503, None, "OVERLOADED", True),
        (504, old(504, "DEADLINE_EXCEEDED"), "TIMEOUT", True),
    ],
)
def test_a_fault_is_named_by_words_and_status(status: int, body: object, code: str, retryable: bool) -> None:
    got = fault(status, body)

    assert (got.code, got.retryable, got.cursor) == (f"PROVIDER_{code}", retryable, None)
    assert not got.stale_reasoning


@pytest.mark.parametrize(
    ("status", "code", "message", "cursor"),
    [
        (404, "not_found", "The interaction v1_ChdYb2tPYQ was not found.", "cursor_expired"),
        (404, "not_found", "Requested entity was not found.", "cursor_expired"),
        (404, "not_found", "", "cursor_expired"),
        (410, "not_found", "Interaction v1_ChdYb2tPYQ is gone.", "cursor_expired"),
        (400, "invalid_request", "Previous interaction v1_ChdYb2tPYQ does not exist.", "cursor_expired"),
        (400, "invalid_request", "previous_interaction_id has expired.", "cursor_expired"),
        (400, "failed_precondition", "Interaction v1_ChdYb2tPYQ has been deleted.", "cursor_expired"),
        (400, "invalid_request", "Interaction v1_ChdYb2tPYQ failed and cannot be continued.", "cursor_expired"),
        (403, "permission_denied", "You have no access to previous_interaction_id.", "cursor_expired"),
        (403, "permission_denied", "Permission denied on interaction v1_ChdYb2tPYQ.", "cursor_expired"),
        (400, "invalid_request", "Invalid value for previous_interaction_id.", "cursor_invalid"),
        (400, "invalid_request", "The interaction id is malformed.", "cursor_invalid"),
    ],
)
def test_a_cursor_is_lost_in_many_words(status: int, code: str, message: str, cursor: str) -> None:
    got = fault(status, error(code, message))

    assert (got.code, got.cursor, got.retryable) == ("PROVIDER_CURSOR_LOST", cursor, False)
    assert got.upstream_code == code
    assert fault(status, old(status, code.upper(), message)).cursor == cursor


@pytest.mark.parametrize(
    "message",
    [
        "Interaction v1_ChdYb2tPYQ requires_action: no function_result was found for the call a.",
        "The tool result for call a of the previous interaction is missing, expired or invalid.",
        "previous_interaction_id cannot be used with store=false.",
        'Unknown name "previous_interaction_id": Cannot find field.',
        "Invalid value at 'input': an interaction needs one.",
        LEGACY_SCHEMA,
    ],
)
def test_other_words_on_an_interaction_are_not_taken_for_it(message: str) -> None:
    got = fault(400, error("invalid_request", message))

    assert (got.code, got.cursor) == ("PROVIDER_REQUEST_REFUSED", None)


@pytest.mark.parametrize(
    "message",
    [UNSIGNED, "Thought signature is not valid.", "Corrupted thought signature.", "The signature is invalid"],
)
def test_a_thought_that_is_not_signed_as_it_should_be_is_stale(message: str) -> None:
    for body in (error("invalid_request", message), old(400, "INVALID_ARGUMENT", message)):
        got = fault(400, body)

        assert (got.code, got.stale_reasoning, got.retryable) == ("PROVIDER_REQUEST_REFUSED", True, False)


def test_a_conversation_that_is_too_long_tells_its_figures() -> None:
    got = fault(400, error("invalid_request", TOO_LONG))

    assert (got.allowed, got.needed) == (1_048_576, 1_200_000)


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        ("37s", 37.0),
        ("3.5s", 3.5),
        ("0s", 0.0),
        ("soon", None),
        ("-1s", None),
        ("1e9s", None),
        (7, None),
        (None, None),
    ],
)
def test_details_may_say_when_to_try_again(delay: object, seconds: float | None) -> None:
    body = old(429, "RESOURCE_EXHAUSTED", QUOTA, later(delay))

    assert fault(429, body).retry_after == seconds


def test_nobody_waits_for_what_does_not_pass() -> None:
    body = old(429, "RESOURCE_EXHAUSTED", QUOTA, violated("RequestsPerDay"), later("37s"))

    assert (fault(429, body).code, fault(429, body).retry_after) == ("PROVIDER_QUOTA_EXHAUSTED", None)


def test_the_words_for_machines_are_kept_and_the_sentence_is_not() -> None:
    place = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "input[0].type"}]}
    got = fault(400, old(400, "INVALID_ARGUMENT", "my key is AIza-1", place))

    assert (got.upstream_code, got.param) == ("INVALID_ARGUMENT", "input[0].type")
    assert "AIza-1" not in repr(got)
    assert fault(400, error("see what\nyou did")).upstream_code == ""


@settings(max_examples=150, deadline=None)
@given(st.integers(400, 599), ERROR_BODIES)
def test_any_body_has_a_fault(status: int, body: object) -> None:
    assert list(fault_faults(fault(status, body))) == []


@pytest.mark.parametrize(
    "details", [7, "x", [7], [{"violations": 7}], [{"fieldViolations": [7]}], [{"reason": 7}]]
)
def test_details_of_any_shape_are_read_or_passed_over(details: object) -> None:
    body = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "m", "details": details}}

    assert fault(400, body) == Fault(code="PROVIDER_REQUEST_REFUSED", upstream_code="INVALID_ARGUMENT")
