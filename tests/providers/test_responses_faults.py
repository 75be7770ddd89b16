from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from providers.responses_streams import event, fault_in, response
from trimtab.conformance.codec_inputs import JSON_VALUES
from trimtab_plugins.providers.openai import OpenAI
from trimtab_sdk import Fault, FaultCode

LOST = "Previous response with id 'resp_68d1' not found."
STORE = "Items are not persisted when `store` is set to false."


def fault(status: int, body: object = None) -> Fault:
    return OpenAI().classify(status, body)


def error(message: str = "m", **fields: object) -> dict[str, Any]:
    usual: dict[str, object] = {"type": "invalid_request_error", "param": None, "code": None}
    return {"error": {"message": message, **usual, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, error(), "REQUEST_REFUSED", False),
        (400, error("Unknown parameter: 'input[1].status'.", code="unknown_parameter"), "REQUEST_REFUSED", False),
        (400, error(code="context_length_exceeded", param="input"), "CONTEXT_LENGTH", False),
        (400, error(code="invalid_prompt"), "CONTENT_REFUSED", False),
        (400, error(code="image_content_policy_violation"), "CONTENT_REFUSED", False),
        (400, error(code="invalid_image_url"), "REQUEST_REFUSED", False),
        (401, error(code="invalid_api_key"), "AUTHENTICATION", False),
        (403, error(code="unsupported_country_region_territory"), "AUTHENTICATION", False),
        (404, error(code="model_not_found", param="model"), "MODEL_NOT_FOUND", False),
        (429, error(code="rate_limit_exceeded", type="tokens"), "RATE_LIMITED", True),
        (429, error(code="slow_down", type="rate_limit_error"), "RATE_LIMITED", True),
        (429, error(code="credit_balance_exhausted", type="insufficient_quota"), "QUOTA_EXHAUSTED", False),
        (500, error(type="server_error"), "FAILED", True),
        (502, "<html>", "FAILED", True),
        (503, error(code="server_is_overloaded", type="service_unavailable_error"), "OVERLOADED", True),
        (504, None, "TIMEOUT", True),
    ],
)
def test_a_fault_is_named_by_code_and_status(status: int, body: object, code: str, retryable: bool) -> None:
    got = fault(status, body)

    assert (got.code, got.retryable, got.cursor) == (f"PROVIDER_{code}", retryable, None)
    assert not got.stale_reasoning


@pytest.mark.parametrize(
    ("status", "body", "cursor"),
    [
        (400, error(LOST, code="previous_response_not_found", param="previous_response_id"), "cursor_expired"),
        (404, error(LOST, code="previous_response_not_found"), "cursor_expired"),
        (400, error(LOST, param="previous_response_id"), "cursor_expired"),
        (404, error(LOST), "cursor_expired"),
        (400, error("Invalid `previous_response_id`.", code="invalid_request_error"), "cursor_invalid"),
        (
            400,
            error("Invalid 'previous_response_id': 'abc'. Expected an ID that begins with 'resp'."),
            "cursor_invalid",
        ),
        (
            400,
            error(
                "Previous response cannot be used for this organization due to Zero Data Retention.",
                param="previous_response_id",
            ),
            "cursor_expired",
        ),
    ],
)
def test_a_cursor_that_is_lost_is_told_from_one_that_cannot_be_read(
    status: int, body: object, cursor: str
) -> None:
    got = fault(status, body)

    assert (got.code, got.cursor, got.retryable) == ("PROVIDER_CURSOR_LOST", cursor, False)


@pytest.mark.parametrize(
    "body",
    [
        error("No tool output found for function call call_8w.", param="input"),
        error("No tool call found for function call output with call_id call_8w.", param="input"),
        error(
            "Mutually exclusive parameters: 'conversation' and 'previous_response_id'.",
            param="previous_response_id",
            code="mutually_exclusive_parameters",
        ),
        error("Item with id 'msg_1' not found. " + STORE, param="input"),
    ],
)
def test_a_request_that_is_wrong_itself_loses_no_cursor(body: dict[str, Any]) -> None:
    got = fault(400, body)

    assert (got.code, got.cursor, got.stale_reasoning) == ("PROVIDER_REQUEST_REFUSED", None, False)
    assert got.param == body["error"]["param"]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, error("The encrypted content gAAA could not be verified.", code="invalid_encrypted_content")),
        (400, error("The encrypted content for item rs_1 could not be decrypted.")),
        (404, error("Item with id 'rs_68d1' not found. " + STORE, param="input")),
        (400, error("Item with id 'rs_68d1' not found. " + STORE, param="input")),
        (400, error("Item 'rs_1' of type 'reasoning' was provided without its required following item.")),
        (
            400,
            error(
                "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."
            ),
        ),
    ],
)
def test_reasoning_that_cannot_be_read_any_more_is_stale(status: int, body: object) -> None:
    got = fault(status, body)

    assert (got.code, got.stale_reasoning, got.retryable) == ("PROVIDER_REQUEST_REFUSED", True, False)


@pytest.mark.parametrize(
    ("sentence", "allowed", "needed"),
    [
        ("Your input exceeds the context window of this model. Please adjust your input.", None, None),
        (
            "This model's maximum context length is 128,000 tokens. However, you requested 130512 tokens.",
            128_000,
            130_512,
        ),
    ],
)
def test_a_context_that_is_too_long_gives_its_figures(
    sentence: str, allowed: int | None, needed: int | None
) -> None:
    got = fault(400, error(sentence, code="context_length_exceeded", param="input"))

    assert (got.code, got.allowed, got.needed) == ("PROVIDER_CONTEXT_LENGTH", allowed, needed)


@pytest.mark.parametrize(
    ("sentence", "seconds"),
    [
        ("Rate limit reached: Limit 30000, Used 29000. Please try again in 1.898s. Visit the site.", 1.898),
        ("Please try again in 350ms.", 0.35),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1h2m3s.", 3723),
        ("Please try again in 2m.", 120),
        ("Please try again in a while.", None),
        ("Slow down.", None),
    ],
)
def test_how_long_to_wait_is_read_from_the_sentence(sentence: str, seconds: float | None) -> None:
    assert fault(429, error(sentence, code="rate_limit_exceeded")).retry_after == seconds
    assert fault(400, error(sentence)).retry_after is None


@pytest.mark.parametrize(
    ("inside", "code", "retryable"),
    [
        ({"code": "server_error"}, "FAILED", True),
        ({"code": "rate_limit_exceeded"}, "RATE_LIMITED", True),
        ({"code": "server_is_overloaded"}, "OVERLOADED", True),
        ({"code": "insufficient_quota"}, "QUOTA_EXHAUSTED", False),
        ({"code": "context_length_exceeded"}, "CONTEXT_LENGTH", False),
        ({"code": "invalid_prompt"}, "CONTENT_REFUSED", False),
        ({"code": "misalignment_policy_violation"}, "CONTENT_REFUSED", False),
        ({"code": "image_too_large"}, "REQUEST_REFUSED", False),
        ({"code": "vector_store_timeout"}, "TIMEOUT", True),
        ({"code": "unheard_of"}, "FAILED", False),
        ({"code": "previous_response_not_found"}, "CURSOR_LOST", False),
        ({"message": "Invalid `previous_response_id`.", "code": "invalid_request_error"}, "CURSOR_LOST", False),
        ({"code": "invalid_encrypted_content"}, "REQUEST_REFUSED", False),
    ],
)
def test_an_error_inside_of_a_stream_is_named_by_the_same_table(
    inside: dict[str, Any], code: str, retryable: bool
) -> None:
    told = {"message": "m", **inside}
    flat = fault_in({"type": "error", "param": None, **told})
    nested = fault_in({"type": "error", "error": told})
    failed = fault_in(event("failed", response=response(status="failed", error=told)))

    assert (flat.code, flat.retryable) == (f"PROVIDER_{code}", retryable)
    assert (flat.code, flat.cursor, flat.retryable) == (nested.code, nested.cursor, nested.retryable)
    assert nested == failed


def test_a_rate_limit_in_a_stream_says_how_long_to_wait() -> None:
    told = {"code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}

    assert fault_in(event("failed", response=response(status="failed", error=told))).retry_after == 1.5


def test_words_of_the_server_are_kept_and_its_sentence_is_not() -> None:
    got = fault(400, error("my secret text", code="unsupported_value", param="reasoning.effort"))

    assert (got.upstream_code, got.param) == ("unsupported_value", "reasoning.effort")
    assert "secret" not in repr(got)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(400, 599), JSON_VALUES)
def test_any_body_has_a_fault(status: int, body: object) -> None:
    got = fault(status, {"error": body})

    assert got.code in get_args(FaultCode)
    assert (got.cursor is None) == (got.code != "PROVIDER_CURSOR_LOST")
