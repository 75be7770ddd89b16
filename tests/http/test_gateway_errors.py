"""Whatever goes wrong reaches the client in OpenAI's own words, and costs no call where none can help."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from fakes.chat_replies import CUT, STALL, stream_error
from gateway_helpers import HELLO, STOCK, Gate, gateway_to, text_of
from http_helpers import ENVIRON, TOKENS

URL = "/v1/chat/completions"


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gate]:
    """One gateway for all tests here that store nothing."""
    place = tmp_path_factory.mktemp("gateway") / "chats.db"
    gateway = {"context": {"context_limit": 4000, "reserve": 1000}}
    with gateway_to(str(place), gateway=gateway) as running:
        yield running


@pytest.fixture
def client(gate: Gate) -> Iterator[Any]:
    with gate.client() as made:
        yield made


REFUSED = [
    ("auth", openai.InternalServerError, 502, "PROVIDER_AUTHENTICATION", False),
    ("bad-request", openai.BadRequestError, 400, "PROVIDER_REQUEST_REFUSED", None),
    ("context", openai.BadRequestError, 400, "context_length_exceeded", None),
    ("model", openai.NotFoundError, 404, "model_not_found", None),
    ("rate-limit", openai.RateLimitError, 429, "rate_limit_exceeded", True),
    ("quota", openai.RateLimitError, 429, "insufficient_quota", False),
    ("server", openai.InternalServerError, 502, "PROVIDER_FAILED", True),
    ("overloaded", openai.InternalServerError, 503, "server_is_overloaded", True),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("kind", "error", "status", "code", "again"), REFUSED)
def test_a_refusal_upstream_is_told_with_its_status(
    gate: Gate,
    client: Any,
    kind: str,
    error: type[openai.APIStatusError],
    status: int,
    code: str,
    again: Any,
    stream: bool,
) -> None:
    gate.fake.refuse(kind, retry_after=7) if status in (429, 503) else gate.fake.refuse(kind)
    with pytest.raises(error) as refused:
        client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=stream)
    assert (refused.value.status_code, refused.value.code) == (status, code)
    headers = refused.value.response.headers
    assert headers.get("x-should-retry") == {None: None, True: "true", False: "false"}[again]
    assert headers["x-trimtab-strategy"] == "truncate"
    assert (headers.get("retry-after") == "7") == (status in (429, 503))
    assert refused.value.body["trimtab"]["code"].startswith("PROVIDER_")  # type: ignore[index]


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_breaks_off_before_its_first_word_is_an_error(
    gate: Gate, client: Any, stream: bool
) -> None:
    gate.fake.say(CUT)
    with pytest.raises(openai.InternalServerError) as broken:
        client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=stream)
    assert broken.value.code == "PROVIDER_STREAM_BROKEN"


@pytest.mark.parametrize("breaks", [CUT, stream_error("Sorry.", code="server_error")])
def test_an_error_in_the_middle_of_a_stream_is_a_frame_and_then_the_end(
    gate: Gate, client: Any, breaks: Any
) -> None:
    gate.fake.say("Sev", breaks)
    got: list[Any] = []
    with pytest.raises(openai.APIError) as broken:
        got.extend(client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True))
    assert text_of(got) == "Sev"
    assert broken.value.code in ("PROVIDER_STREAM_BROKEN", "PROVIDER_FAILED")
    gate.fake.say("Sev", breaks)
    with gate.running.client() as plain:
        told = plain.post(URL, json={"model": "gpt-4o", "messages": HELLO, "stream": True}).text
    frames = told.strip().split("\n\n")
    assert "error" in json.loads(frames[-2].removeprefix("data: "))
    assert frames[-1].startswith(": trimtab {")
    assert "[DONE]" not in told


def test_what_must_stay_and_is_over_the_budget_is_refused_without_a_call(gate: Gate, client: Any) -> None:
    asked = len(gate.fake.requests)
    with pytest.raises(openai.BadRequestError) as over:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "kettle " * 5000}])
    assert (over.value.code, over.value.param, over.value.type) == (
        "context_length_exceeded",
        "messages",
        "invalid_request_error",
    )
    details = over.value.body["trimtab"]["details"]  # type: ignore[index]
    assert details["needed"] > details["allowed"] == 3000
    assert len(gate.fake.requests) == asked


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"n": 2}, "n"),
    ({"logprobs": True}, "logprobs"),
    ({"top_logprobs": 3}, "top_logprobs"),
    ({"logit_bias": {"50256": -100}}, "logit_bias"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
    ({"functions": [{"name": "f"}]}, "functions"),
    ({"function_call": "auto"}, "function_call"),
    ({"web_search_options": {"search_context_size": "low"}}, "web_search_options"),
    ({"colour": "red"}, "colour"),
    ({"temperature": 7}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"stop": []}, "stop"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1, "max_completion_tokens": 2}, "max_tokens"),
    ({"response_format": {"type": "grammar"}}, "response_format"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"tools": [{"type": "web_search"}]}, "tools[0]"),
    ({"tools": [STOCK, STOCK]}, "tools"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [STOCK], "tool_choice": {"type": "function"}}, "tool_choice"),
    ({"messages": []}, "messages"),
    ({"messages": "Hello"}, "messages"),
    ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": "x", "tool_calls": [{}]}]}, "messages[0].tool_calls"),
    ({"model": ""}, "model"),
    ({"model": None}, "model"),
    ({"stream": "yes"}, "stream"),
]


@pytest.mark.parametrize(("body", "param"), WRONG, ids=[str(sorted(one.items()))[:60] for one, _ in WRONG])
def test_what_cannot_be_carried_is_refused_by_name(gate: Gate, body: dict[str, Any], param: str) -> None:
    asked = len(gate.fake.requests)
    with gate.running.client() as plain:
        told = plain.post(URL, json={"model": "gpt-4o", "messages": HELLO, **body})
    assert told.status_code == 400, told.text
    error = told.json()["error"]
    assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_value")
    assert error["param"].startswith(param)
    assert len(gate.fake.requests) == asked


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "\\ud83d"}]}', 400),
        (b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "a\\u0000b"}]}', 400),
        (b'{"model": "gpt-4o", "messages": [{"role": "user", "content": NaN}]}', 400),
        (b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "\xff"}]}', 400),
    ],
)
def test_what_is_no_body_is_refused(gate: Gate, content: bytes, status: int) -> None:
    with gate.running.client() as plain:
        told = plain.post(URL, content=content, headers={"content-type": "application/json"})
    assert told.status_code == status
    assert told.json()["error"]["type"] == "invalid_request_error"


def test_fields_without_a_place_at_the_provider_are_left_out_and_named(gate: Gate, client: Any) -> None:
    gate.fake.say("Fine.")
    raw = client.chat.completions.with_raw_response.create(
        model="gpt-4o",
        messages=HELLO,
        temperature=0.3,
        n=1,
        logprobs=False,
        metadata={"a": "b"},
        store=True,
        service_tier="flex",
        presence_penalty=0,
        user="ann",
        seed=7,
        stop=["x"],
    )
    assert sorted(raw.headers["x-trimtab-left-out"].split(",")) == ["metadata", "service_tier", "store"]
    asked = {
        key: value for key, value in gate.asked.items() if key not in ("messages", "stream", "stream_options")
    }
    assert asked == {
        "model": "gpt-4o",
        "temperature": 0.3,
        "presence_penalty": 0,
        "user": "ann",
        "seed": 7,
        "stop": ["x"],
    }


def test_a_provider_that_is_too_slow_is_a_timeout(place: str) -> None:
    with gateway_to(place, endpoint={"first_byte_seconds": 0.2}) as slow, slow.client() as client:
        slow.fake.say(before_head=[STALL])
        with pytest.raises(openai.InternalServerError) as late:
            client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert (late.value.status_code, late.value.code) == (504, "PROVIDER_TIMEOUT")


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", [True, False])
async def test_a_client_that_hangs_up_closes_the_call_upstream_at_once(
    place: str, stream: bool, before: bool
) -> None:
    with gateway_to(place) as gate:
        wait = gate.fake.gate()
        gate.fake.say("Sev", "en.", before_head=[wait]) if before else gate.fake.say("Sev", wait, "en.")
        body = {"model": "gpt-4o", "messages": HELLO, "stream": stream}
        async with gate.running.async_client() as plain:
            asking = asyncio.ensure_future(plain.post(URL, json=body))
            await wait.reached.wait_async()
            asking.cancel()
            await asyncio.wait({asking})
        await gate.fake.closed_early.wait_async()


@pytest.mark.anyio
async def test_a_client_that_takes_nothing_counts_as_gone(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab.http.sse.SEND_SECONDS", 0.2)
    with gateway_to(place) as gate:
        gate.fake.say(*("kettle " * 2000 for _ in range(2000)))
        body = json.dumps({"model": "gpt-4o", "messages": HELLO, "stream": True})
        with socket.socket() as idle:
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            idle.connect(("127.0.0.1", gate.running.port))
            head = f"POST {URL} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
            idle.sendall(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            await gate.fake.closed_early.wait_async()
            while gate.running.app.state.service.streams.open:
                await asyncio.sleep(0.001)


def test_a_wrong_token_and_a_right_one(place: str) -> None:
    with gateway_to(place, tokens=TOKENS) as gate:
        with (
            gate.client(api_key="no-such-token-at-all") as client,
            pytest.raises(openai.AuthenticationError) as shut,
        ):
            client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert shut.value.code == "invalid_api_key"
        gate.fake.say("Fine.")
        with gate.client(api_key=ENVIRON["ANN_TOKEN"]) as client:
            client.chat.completions.create(model="gpt-4o", messages=HELLO)


def test_without_a_provider_only_aliases_can_be_asked(place: str) -> None:
    with gateway_to(place, gateway={"provider": ""}) as gate, gate.client() as client:
        with pytest.raises(openai.NotFoundError) as unknown:
            client.chat.completions.create(model="gpt-4o", messages=HELLO)
        assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
        assert [model.id for model in client.models.list()] == ["fast"]
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("slow")
        gate.fake.say("Fine.")
        assert client.chat.completions.create(model="fast", messages=HELLO).model == gate.model


def test_streams_are_counted_and_their_slots_come_back(place: str) -> None:
    with gateway_to(place, max_owner_streams=1) as gate, gate.client() as client:
        wait = gate.fake.gate()
        gate.fake.say("Sev", wait, "en.")
        first = client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
        wait.open()
        assert text_of(list(first)) == "Seven."
        gate.fake.say("Eight.")
        again = client.chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
        assert text_of(list(again)) == "Eight."
