from __future__ import annotations

import pytest

from fakes.deepseek_rules import MISSING
from providers.provider_streams import CALL, DONE, delta, fragment, server_events, usage
from trimtab_plugins.providers.deepseek import DeepSeek
from trimtab_sdk import Answer, Fault, ProviderEvent, ProviderFaultError, ReasoningDelta, TextDelta, Usage

DRIVER = DeepSeek()
CACHE = {"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 8}
FIGURES = {
    "prompt_tokens": 72,
    "completion_tokens": 30,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 21},
}
TOO_LONG = "This model's maximum context length is 1048576 tokens. However, you requested 1048999 tokens."


def heard(*chunks: object) -> list[ProviderEvent]:
    reader = DRIVER.reader(CALL)
    return [event for one in server_events(chunks) for event in reader.parse(one)]


def answer_of(*chunks: object) -> Answer:
    last = heard(*chunks)[-1]
    assert isinstance(last, Answer)
    return last


def error(message: str, code: str | None = "invalid_request_error") -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}


def test_thinking_is_told_before_the_answer_and_stays_in_its_message() -> None:
    events = heard(delta(reasoning_content="Hm."), delta(content="Six."), delta("stop"), DONE)

    assert events[:2] == [ReasoningDelta("Hm."), TextDelta("Six.")]
    assert isinstance(events[-1], Answer)
    assert events[-1].items == ({"role": "assistant", "content": "Six.", "reasoning_content": "Hm."},)


def test_thinking_that_came_empty_stays_too() -> None:
    answer = answer_of(
        delta(role="assistant", content=None, reasoning_content=""),
        fragment("{}", index=0, id="c1", name="look"),
        delta("tool_calls"),
        DONE,
    )

    assert answer.items[0] == {
        "role": "assistant",
        "content": None,
        "reasoning_content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("figures", [{**FIGURES, **CACHE}, {**CACHE, "prompt_tokens": 72}])
def test_what_the_cache_had_is_in_the_usage_and_in_the_state(figures: dict[str, object]) -> None:
    answer = answer_of(delta(content="Six."), delta("stop"), usage(**figures), DONE)

    assert isinstance(answer.usage, Usage)
    assert (answer.usage.input_tokens, answer.usage.cached_tokens) == (72, 64)
    assert answer.state["promptCacheHitTokens"] == 64
    assert answer.state["promptCacheMissTokens"] == 8


@pytest.mark.parametrize("told", [None, "64", -1, 6.4, True, 2**60])
def test_what_is_no_count_is_not_told(told: object) -> None:
    answer = answer_of(delta(content="Six."), delta("stop"), usage(prompt_cache_hit_tokens=told), DONE)

    assert "promptCacheHitTokens" not in answer.state
    assert answer.state["responseId"] == "chatcmpl-7f"


def test_a_server_without_resources_may_be_asked_again() -> None:
    with pytest.raises(ProviderFaultError) as caught:
        heard(delta(content="Si"), delta("insufficient_system_resource"))

    assert (caught.value.fault.code, caught.value.fault.retryable) == ("PROVIDER_OVERLOADED", True)


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, error("Messages with role 'tool' must be a response"), "PROVIDER_REQUEST_REFUSED", False),
        (400, error(TOO_LONG), "PROVIDER_CONTEXT_LENGTH", False),
        (401, error("Authentication Fails"), "PROVIDER_AUTHENTICATION", False),
        (402, error("Insufficient Balance"), "PROVIDER_QUOTA_EXHAUSTED", False),
        (422, error("Failed to deserialize"), "PROVIDER_REQUEST_REFUSED", False),
        (429, error("Too many requests", None), "PROVIDER_RATE_LIMITED", True),
        (500, error("Server error", None), "PROVIDER_FAILED", True),
        (503, error("Busy", None), "PROVIDER_OVERLOADED", True),
        (402, None, "PROVIDER_QUOTA_EXHAUSTED", False),
        (422, "oops", "PROVIDER_REQUEST_REFUSED", False),
    ],
)
def test_a_status_names_the_fault(status: int, body: object, code: str, retryable: bool) -> None:
    fault = DRIVER.classify(status, body)

    assert (fault.code, fault.retryable) == (code, retryable)


def test_a_conversation_that_is_too_long_is_told_with_its_figures() -> None:
    fault = DRIVER.classify(400, error(TOO_LONG))

    assert (fault.allowed, fault.needed) == (1048576, 1048999)


def test_a_fault_tells_that_it_is_about_reasoning() -> None:
    assert DRIVER.classify(400, error(MISSING)) == Fault(
        code="PROVIDER_REQUEST_REFUSED", upstream_code="invalid_request_error", param="reasoning_content"
    )
