from __future__ import annotations

from collections.abc import Iterator

import httpx
import openai
import pytest
from openai.types.responses import Response

from fakes.chat_replies import ChatReply, Json, ask, reply, thought
from fakes.chatgpt_server import ChatGPTServer, not_included, rate_limits, used_up
from fakes.responses_clients import LOOKUP, check_events, output, user
from fakes.responses_parts import failure

BODY: Json = {"model": "gpt-6-sol", "instructions": "Be brief.", "store": False, "stream": True}
SEALED = ["reasoning.encrypted_content"]


@pytest.fixture
def server() -> Iterator[ChatGPTServer]:
    with ChatGPTServer() as running:
        yield running


def send(server: ChatGPTServer, *items: Json, token: str = "a-token", **keys: Json) -> httpx.Response:
    body = {**BODY, "input": list(items) or [user("hi")], **keys}
    kept = {key: value for key, value in body.items() if value is not None}
    headers = {"authorization": f"Bearer {token}"}
    return httpx.post(f"{server.base_url}/responses", json=kept, headers=headers, timeout=10)


def events_of(got: httpx.Response) -> list[Json]:
    assert got.status_code == 200, got.text
    frames = [line.removeprefix("data: ") for line in got.text.splitlines() if line.startswith("data: ")]
    return [httpx.Response(200, text=frame).json() for frame in frames]


def items_of(got: httpx.Response) -> list[Json]:
    return [event["item"] for event in events_of(got) if event["type"] == "response.output_item.done"]


def test_an_answer_tells_its_items_one_by_one_and_not_in_its_last_event(server: ChatGPTServer) -> None:
    server.say(thought("Hm."), "Three.")
    told = events_of(send(server, include=SEALED))

    assert [event["item"]["type"] for event in told if event["type"] == "response.output_item.done"] == [
        "reasoning",
        "message",
    ]
    assert told[-1]["type"] == "response.completed"
    assert "output" not in told[-1]["response"]
    assert told[-1]["response"]["usage"]["output_tokens"] > 0
    check_events(told[:-1])


def test_the_official_client_streams_from_it() -> None:
    with ChatGPTServer(account="acc-1") as server:
        server.say("Three.")
        client = openai.OpenAI(
            api_key="a-token", base_url=server.base_url, default_headers={"ChatGPT-Account-Id": "acc-1"}
        )
        with client:
            events = list(client.responses.create(**{**BODY, "input": [user("hi")]}))

    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "Three."
    assert isinstance(events[-1].response, Response)
    assert server.faults == []


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"max_output_tokens": 99}, "Unsupported parameter: max_output_tokens"),
        ({"temperature": 0.2}, "Unsupported parameter: temperature"),
        ({"previous_response_id": "resp_1"}, "Unsupported parameter: previous_response_id"),
        ({"stream_options": {}}, "Unsupported parameter: stream_options"),
        ({"store": True}, "Store must be set to false"),
        ({"store": None}, "Store must be set to false"),
        ({"stream": None}, "Stream must be set to true"),
        ({"input": "hi"}, "Input must be a list"),
        ({"instructions": ""}, "Instructions are required"),
        ({"input": [{**user("hi"), "role": "system"}]}, "System messages are not allowed"),
    ],
)
def test_what_its_own_client_does_not_send_is_refused_by_the_gateway(
    server: ChatGPTServer, keys: Json, said: str
) -> None:
    got = send(server, **keys)

    assert (got.status_code, got.json()) == (400, {"detail": said})
    assert len(server.faults) == 1


def test_a_developer_may_say_what_a_system_may_not(server: ChatGPTServer) -> None:
    server.say("Three.")

    assert send(server, {**user("Be brief."), "role": "developer"}, user("hi")).status_code == 200


def test_instructions_can_be_checked_word_by_word() -> None:
    with ChatGPTServer(instructions="You are a client.") as server:
        server.say("Three.")

        assert send(server).json() == {"detail": "Instructions are not valid"}
        assert send(server, instructions="You are a client.").status_code == 200


def test_a_token_can_expire(server: ChatGPTServer) -> None:
    server.say("Three.")
    server.token = "another-token"

    assert send(server).status_code == 401
    assert send(server, token="another-token").status_code == 200
    assert server.faults == []


def test_inside_a_turn_a_call_needs_the_reasoning_it_came_from(server: ChatGPTServer) -> None:
    server.reply(_asks())
    thinking, call = items_of(send(server, include=SEALED, tools=[LOOKUP]))
    server.say("Found.")
    server.say("Later.")
    result = output(call["call_id"])

    refused = send(server, user("hi"), call, result, tools=[LOOKUP])
    assert "without its required 'reasoning' item" in refused.json()["error"]["message"]
    assert send(server, user("hi"), thinking, call, result, tools=[LOOKUP]).status_code == 200
    assert send(server, user("hi"), call, result, user("and?"), tools=[LOOKUP]).status_code == 200


def test_reasoning_is_sealed_only_for_those_who_ask_and_unread_without_its_seal(server: ChatGPTServer) -> None:
    server.say(thought("Hm."), "Three.")
    thinking, message = items_of(send(server))

    assert not thinking.get("encrypted_content")
    assert "not found" in send(server, user("hi"), thinking, message, user("and?")).json()["error"]["message"]


def test_windows_are_told_at_the_head_of_a_stream(server: ChatGPTServer) -> None:
    server.windows = rate_limits(primary=35.0, secondary=4.5)
    server.say("Three.")
    first, *_ = events_of(send(server))

    assert first["type"] == "codex.rate_limits"
    assert first["rate_limits"]["secondary"]["used_percent"] == 4.5


def test_a_plan_can_be_used_up_or_too_small(server: ChatGPTServer) -> None:
    server.reply(used_up(resets_at=1_790_003_600), not_included())
    one, two = send(server), send(server)

    assert (one.status_code, two.status_code) == (429, 429)
    assert one.json()["error"]["resets_at"] == 1_790_003_600
    assert [got.json()["error"]["type"] for got in (one, two)] == ["usage_limit_reached", "usage_not_included"]


def test_a_stream_can_fail(server: ChatGPTServer) -> None:
    server.say("Thr", failure("Please try again in 28ms.", code="rate_limit_exceeded"))

    assert events_of(send(server))[-1]["response"]["error"]["code"] == "rate_limit_exceeded"


def _asks() -> ChatReply:
    return reply(thought("I look."), ask("lookup", {"id": 3}))
