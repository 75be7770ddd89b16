from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from providers.responses_streams import (
    USAGE,
    begun,
    call,
    completed,
    delta,
    done,
    event,
    message,
    reasoning,
    server_events,
)
from trimtab_plugins.providers.chatgpt import ChatGPT
from trimtab_sdk import Answer, Encoded, Fault, ProviderCall, ProviderEvent, ProviderFaultError, TextDelta

NOW = 1_790_000_000.0
DRIVER = ChatGPT(now=lambda: NOW)
CALL = ProviderCall(model="gpt-6-sol", prompt=Encoded([]), settings={"accept_unofficial_api": True})
USED_UP = {"type": "usage_limit_reached", "message": "m", "plan_type": "plus", "resets_at": NOW + 3600}


def heard(*events: Any) -> Sequence[ProviderEvent]:
    reader = DRIVER.reader(CALL)
    return [told for one in server_events(list(events)) for told in reader.parse(one)]


def answer_of(*events: Any) -> Answer:
    last = heard(*events)[-1]
    assert isinstance(last, Answer)
    return last


def ended() -> Any:
    """The last event as this server sends it: without the items."""
    last = completed()
    del last["response"]["output"]
    return last


def fault_in(*events: Any) -> Fault:
    with pytest.raises(ProviderFaultError) as caught:
        heard(*events)
    return caught.value.fault


def failed(code: str, text: str = "m", **fields: object) -> Any:
    error = {"code": code, "message": text, **fields}
    return event("failed", response={"id": "resp_7f", "status": "failed", "error": error})


def test_an_answer_is_put_together_from_the_events_of_its_items() -> None:
    items = [reasoning("Hm.", at=1), message("Half past six.", at=2)]
    answer = answer_of(
        done(items[0], at=0),
        begun(items[1], at=1),
        delta("output_text", "Half ", at=1),
        done(items[1], at=1),
        ended(),
    )

    assert list(answer.items) == items
    assert answer.finish == "stop"
    assert answer.usage is not None
    assert answer.usage.input_tokens == USAGE["input_tokens"]
    assert answer.cursor is None


def test_calls_are_put_together_likewise() -> None:
    items = [reasoning("I look."), call("look", "{}")]
    answer = answer_of(done(items[0], at=0), done(items[1], at=1), ended())

    assert list(answer.items) == items
    assert answer.finish == "tool-calls"


def test_a_stream_that_does_not_say_that_it_is_complete_is_no_answer() -> None:
    reader = DRIVER.reader(CALL)
    for one in server_events([done(message("Six."), at=0)]):
        reader.parse(one)

    assert reader.end() is None


def test_how_far_the_plan_is_used_is_in_the_state() -> None:
    windows = {
        "primary": {"used_percent": 35.5, "window_minutes": 300, "reset_at": 1_790_003_600},
        "secondary": {"used_percent": 4, "window_minutes": None, "reset_at": "soon"},
    }
    limits = {"type": "codex.rate_limits", "plan_type": "plus", "rate_limits": windows, "credits": None}
    events = heard(limits, done(message("Six."), at=0), ended())

    assert [told for told in events if isinstance(told, TextDelta)] == [TextDelta("Six.")]
    assert isinstance(events[-1], Answer)
    assert events[-1].state["planType"] == "plus"
    assert events[-1].state["windows"] == {
        "primary": {"usedPercent": 35.5, "windowMinutes": 300, "resetAt": 1_790_003_600},
        "secondary": {"usedPercent": 4},
    }


@pytest.mark.parametrize("limits", [None, 7, [], {}, {"primary": None, "secondary": 7}])
def test_windows_that_cannot_be_read_are_not_told(limits: object) -> None:
    told = {"type": "codex.rate_limits", "plan_type": {"a": 1}, "rate_limits": limits}
    answer = answer_of(told, done(message("Six."), at=0), ended())

    assert not {"planType", "windows"} & answer.state.keys()


@pytest.mark.parametrize(
    ("status", "body", "fault"),
    [
        (429, {"error": USED_UP}, Fault(code="PROVIDER_QUOTA_EXHAUSTED", retry_after=3600.0)),
        (
            429,
            {"error": {**USED_UP, "resets_at": NOW - 5}},
            Fault(code="PROVIDER_QUOTA_EXHAUSTED", retry_after=0.0),
        ),
        (429, {"error": {**USED_UP, "resets_at": "soon"}}, Fault(code="PROVIDER_QUOTA_EXHAUSTED")),
        (429, {"error": {**USED_UP, "resets_at": True}}, Fault(code="PROVIDER_QUOTA_EXHAUSTED")),
        (429, {"error": {"type": "usage_not_included"}}, Fault(code="PROVIDER_QUOTA_EXHAUSTED")),
        (429, {"error": {"code": "rate_limit_exceeded"}}, Fault(code="PROVIDER_RATE_LIMITED", retryable=True)),
        (503, {"error": {"code": "server_is_overloaded"}}, Fault(code="PROVIDER_OVERLOADED", retryable=True)),
        (503, {"error": {"code": "slow_down"}}, Fault(code="PROVIDER_OVERLOADED", retryable=True)),
        (400, {"error": {"code": "cyber_policy"}}, Fault(code="PROVIDER_CONTENT_REFUSED")),
        (401, {"detail": "Could not validate credentials"}, Fault(code="PROVIDER_AUTHENTICATION")),
        (403, "<html>cf-ray</html>", Fault(code="PROVIDER_AUTHENTICATION")),
        (
            400,
            {"detail": "Unsupported parameter: max_output_tokens"},
            Fault(code="PROVIDER_REQUEST_REFUSED", param="max_output_tokens"),
        ),
        (
            400,
            {"detail": "Instructions are not valid"},
            Fault(code="PROVIDER_REQUEST_REFUSED", param="instructions"),
        ),
        (
            400,
            {"detail": "System messages are not allowed"},
            Fault(code="PROVIDER_REQUEST_REFUSED", param="input"),
        ),
        (
            400,
            {"error": {"code": "invalid_value", "param": "input[0].content[0].image_url"}},
            Fault(code="PROVIDER_REQUEST_REFUSED", param="input[0].content[0].image_url"),
        ),
        (
            400,
            {"error": {"code": "invalid_encrypted_content"}},
            Fault(code="PROVIDER_REQUEST_REFUSED", stale_reasoning=True),
        ),
        (
            404,
            {"error": {"message": "Item with id 'rs_1' not found. Items are not persisted"}},
            Fault(code="PROVIDER_REQUEST_REFUSED", stale_reasoning=True),
        ),
        (
            400,
            {"error": {"message": "Invalid previous_response_id.", "code": "invalid_request_error"}},
            Fault(code="PROVIDER_REQUEST_REFUSED"),
        ),
    ],
)
def test_both_shapes_of_an_error_name_the_fault(status: int, body: object, fault: Fault) -> None:
    got = DRIVER.classify(status, body)
    told = (got.code, got.retryable, got.retry_after, got.param, got.stale_reasoning, got.cursor)

    assert told == (fault.code, fault.retryable, fault.retry_after, fault.param, fault.stale_reasoning, None)


@pytest.mark.parametrize(
    ("last", "code", "wait"),
    [
        (failed("rate_limit_exceeded", "Please try again in 1.5s."), "PROVIDER_RATE_LIMITED", 1.5),
        (failed("rate_limit_exceeded", "Please try again in 28ms."), "PROVIDER_RATE_LIMITED", 0.028),
        (failed("context_length_exceeded"), "PROVIDER_CONTEXT_LENGTH", None),
        (failed("insufficient_quota"), "PROVIDER_QUOTA_EXHAUSTED", None),
        (failed("server_is_overloaded"), "PROVIDER_OVERLOADED", None),
        (failed("usage_limit_reached", resets_at=NOW + 60), "PROVIDER_QUOTA_EXHAUSTED", 60.0),
        ({"type": "error", "error": USED_UP}, "PROVIDER_QUOTA_EXHAUSTED", 3600.0),
        ({"type": "error", "status": 429, "error": USED_UP}, "PROVIDER_QUOTA_EXHAUSTED", 3600.0),
        ({"type": "error", "code": "slow_down", "message": "m"}, "PROVIDER_OVERLOADED", None),
    ],
)
def test_an_error_inside_a_stream_names_the_fault_too(last: object, code: str, wait: float | None) -> None:
    fault = fault_in(done(message("Si"), at=0), last)

    assert (fault.code, fault.retry_after) == (code, wait)


def test_an_event_that_cannot_be_read_is_a_bad_response() -> None:
    assert fault_in({"type": "response.completed", "response": 7}).code == "PROVIDER_BAD_RESPONSE"
