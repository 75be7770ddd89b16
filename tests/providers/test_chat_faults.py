from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.conformance.codec_inputs import JSON_VALUES
from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_sdk import Fault, FaultCode


def fault(status: int, body: object = None) -> Fault:
    return OpenAICompatible().classify(status, body)


def error(message: str = "m", **fields: object) -> dict[str, Any]:
    usual: dict[str, object] = {"type": "invalid_request_error", "param": None, "code": None}
    return {"error": {"message": message, **usual, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, error(), "REQUEST_REFUSED", False),
        (400, error(code="context_length_exceeded", param="messages"), "CONTEXT_LENGTH", False),
        (400, error(code="content_filter"), "CONTENT_REFUSED", False),
        (401, error(code="invalid_api_key"), "AUTHENTICATION", False),
        (401, None, "AUTHENTICATION", False),
        (402, error("Insufficient Balance"), "QUOTA_EXHAUSTED", False),
        (403, {"detail": "Forbidden"}, "AUTHENTICATION", False),
        (404, error(code="model_not_found"), "MODEL_NOT_FOUND", False),
        (404, {"error": 'model "m" not found, try pulling it first'}, "MODEL_NOT_FOUND", False),
        (404, error("The model `m` does not exist.", type="NotFoundError", code=404), "MODEL_NOT_FOUND", False),
        (404, {"detail": "Not Found"}, "REQUEST_REFUSED", False),
        (404, "<html>", "REQUEST_REFUSED", False),
        (405, {"detail": "Method Not Allowed"}, "REQUEST_REFUSED", False),
        (408, None, "TIMEOUT", True),
        (409, None, "FAILED", True),
        (413, "too large", "REQUEST_REFUSED", False),
        (422, {"detail": [{"loc": ["body", "stop"], "msg": "m", "type": "missing"}]}, "REQUEST_REFUSED", False),
        (425, None, "FAILED", True),
        (429, error(code="rate_limit_exceeded", type="requests"), "RATE_LIMITED", True),
        (429, None, "RATE_LIMITED", True),
        (429, error(code="insufficient_quota", type="insufficient_quota"), "QUOTA_EXHAUSTED", False),
        (429, error(code="credit_balance_exhausted", type="insufficient_quota"), "QUOTA_EXHAUSTED", False),
        (500, error(type="server_error"), "FAILED", True),
        (500, "Internal Server Error", "FAILED", True),
        (501, None, "FAILED", False),
        (502, "<html>", "FAILED", True),
        (503, error(code="server_is_overloaded"), "OVERLOADED", True),
        (503, None, "OVERLOADED", True),
        (504, None, "TIMEOUT", True),
        (529, None, "OVERLOADED", True),
        (400, [error(code="context_length_exceeded")], "CONTEXT_LENGTH", False),
        (
            400,
            {"object": "error", "message": "m", "type": "BadRequestError", "code": 400},
            "REQUEST_REFUSED",
            False,
        ),
        (
            413,
            error("Request too large: please reduce the length of the messages.", code="rate_limit_exceeded"),
            "RATE_LIMITED",
            False,
        ),
    ],
)
def test_a_fault_is_named_by_code_and_status(status: int, body: object, code: str, retryable: bool) -> None:
    got = fault(status, body)

    assert (got.code, got.retryable, got.cursor) == (f"PROVIDER_{code}", retryable, None)


@pytest.mark.parametrize(
    ("status", "sentence", "allowed", "needed"),
    [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the "
            "messages, 1000 in the completion). Please reduce the length of the messages or completion.",
            8192,
            9000,
        ),
        (
            400,
            "This model's maximum context length is 128000 tokens. However, your messages resulted in "
            "130532 tokens.",
            128_000,
            130_532,
        ),
        (
            400,
            "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.",
            4096,
            5000,
        ),
        (
            400,
            "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is "
            "4096 tokens and your request has 100 input tokens (5000 > 4096 - 100).",
            4096,
            None,
        ),
        (
            400,
            "This endpoint's maximum context length is 131,072 tokens. However, you requested about "
            "140,000 tokens.",
            131_072,
            140_000,
        ),
        (
            400,
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
            272_000,
            300_000,
        ),
        (
            400,
            "the request exceeds the available context size. try increasing the context size",
            None,
            None,
        ),
        (
            400,
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            4096,
            5000,
        ),
        (
            400,
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            4096,
            5000,
        ),
        (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            1_048_576,
            1_200_000,
        ),
        (
            400,
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
            "context length",
            32_768,
            40_000,
        ),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", 200_000, 210_000),
        (
            422,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000",
            4096,
            None,
        ),
    ],
)
def test_a_conversation_that_is_too_long_is_known_by_its_sentence(
    status: int, sentence: str, allowed: int | None, needed: int | None
) -> None:
    got = fault(status, error(sentence, code="invalid_request_error"))

    assert (got.code, got.allowed, got.needed) == ("PROVIDER_CONTEXT_LENGTH", allowed, needed)


def test_the_figures_of_a_server_go_before_those_of_its_sentence() -> None:
    told = {"code": 400, "type": "exceed_context_size_error", "message": "m", "n_prompt_tokens": 50, "n_ctx": 40}
    got = fault(400, {"error": told})

    assert (got.code, got.allowed, got.needed) == ("PROVIDER_CONTEXT_LENGTH", 40, 50)
    assert got.upstream_code == "exceed_context_size_error"


@pytest.mark.parametrize(
    "sentence",
    [
        "The context of this error is unknown.",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "Conversation roles must alternate user/assistant.",
        "Invalid value for 'temperature'.",
    ],
)
def test_other_sentences_are_not_taken_for_it(sentence: str) -> None:
    assert fault(400, error(sentence)).code == "PROVIDER_REQUEST_REFUSED"


def test_the_words_for_machines_are_kept_and_the_sentence_is_not() -> None:
    got = fault(400, error("my key is sk-1", code="bad_thing", param="messages.[3].role"))

    assert (got.upstream_code, got.param) == ("bad_thing", "messages.[3].role")
    assert "sk-1" not in repr(got)


def test_words_that_are_sentences_are_not_kept() -> None:
    got = fault(400, error(code="see what\nyou did", param="x" * 500, type="a kind\x1b[31m"))

    assert (got.upstream_code, got.param) == ("", "")


def test_the_place_of_a_wrong_field_is_its_path() -> None:
    got = fault(422, {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "m", "type": "missing"}]})

    assert (got.upstream_code, got.param) == ("missing", "body.messages.0.content")


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    status=st.integers(400, 599),
    body=st.one_of(
        JSON_VALUES,
        st.fixed_dictionaries({"error": JSON_VALUES}),
        st.fixed_dictionaries({"detail": JSON_VALUES}),
        st.fixed_dictionaries(
            {
                "error": st.dictionaries(
                    st.sampled_from(["message", "type", "param", "code", "n_ctx"]), JSON_VALUES, max_size=5
                )
            }
        ),
    ),
)
def test_any_body_of_any_status_has_a_fault(status: int, body: object) -> None:
    got = fault(status, body)

    assert got.code in get_args(FaultCode)
    assert got.upstream_code.isascii()


def test_a_sentence_of_a_megabyte_is_read_in_no_time() -> None:
    for unit in ("context ", "exceeds ", "context length exceed", "9,999", "tokens "):
        assert fault(400, error(unit * 100_000)).code in get_args(FaultCode)
