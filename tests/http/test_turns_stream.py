"""Turns over a real server: streamed, read again, resumed, cancelled, tried again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from fakes.chat_server import ChatServer, stream_error
from http_helpers import Running, problem_of
from http_turns import Chat, Event, check_stream, events_in, reading, serving, text_of

pytestmark = pytest.mark.anyio
on_both_stores = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
ASK_USER = {
    "name": "ask_user",
    "description": "Ask the user.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}},
}


async def stock(article: str) -> int:
    """How many are left."""
    return {"kettle": 7, "pot": 3}[article]


@pytest.fixture
def fake() -> Iterator[ChatServer]:
    with ChatServer() as ready:
        yield ready
        assert ready.faults == []


@pytest.fixture
def served(place: str, fake: ChatServer) -> Iterator[Running]:
    with serving(place, fake, stock) as ready:
        yield ready


@pytest.fixture
async def talk(served: Running) -> AsyncIterator[Chat]:
    async with served.async_client() as client:
        yield await Chat.begin(client)


@on_both_stores
async def test_a_turn_is_streamed_end_to_end_and_read_again_after_each_event(talk: Chat, fake: ChatServer) -> None:
    fake.call(("stock", {"article": "kettle"}))
    fake.say(*(f"{number}, " for number in range(30)), "seven.")

    events = await talk.say("How many kettles?")

    assert events[0].kind == "turn_started"
    assert events[0].id == 1
    assert events[-1].kind == "turn_completed"
    assert text_of(events).endswith("29, seven.")
    turn_id = events[0].data["turnId"]
    for after in range(len(events)):
        assert await talk.events(turn_id, after) == events[after:]
        assert await talk.events(turn_id, 0, **{"Last-Event-ID": str(after)}) == events[after:]
    turn = await talk.turn(turn_id)
    assert (turn["state"], turn["text"], turn["lastEvent"]) == ("completed", text_of(events), events[-1].id)
    assert (await talk.texts())[-1] == f"assistant: {text_of(events)}"
    assert await talk.audit_status() == "completed"


async def test_who_has_read_everything_gets_the_last_event_again_with_a_greater_number(
    talk: Chat, fake: ChatServer
) -> None:
    fake.say("Seven.")
    events = await talk.say("How many?")

    again = await talk.events(events[0].data["turnId"], after=events[-1].id + 3)

    assert [event.id for event in again] == [events[-1].id + 4]
    assert again[0].data == events[-1].data


@pytest.mark.parametrize("wrong", ["x", "-1", "2147483648", "9" * 20])
async def test_a_number_that_no_event_has_is_refused_before_the_stream(
    talk: Chat, fake: ChatServer, wrong: str
) -> None:
    fake.say("Seven.")
    turn_id = (await talk.say("How many?"))[0].data["turnId"]
    path = f"/api/v2/turns/{turn_id}/events"

    problem_of(await talk.client.get(path, headers={"Last-Event-ID": wrong}), 422, "INVALID_REQUEST")


async def test_text_comes_while_the_model_speaks(talk: Chat, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    path = f"/api/v2/chats/{talk.id}/turns"
    seen: list[Event] = []
    async with talk.client.stream("POST", path, json={"input": "How many?"}) as response:
        assert response.headers["location"].startswith("/api/v2/turns/")
        async for event in reading(response):
            seen.append(event)
            if event.kind == "text_delta" and event.data["text"] == "Sev":
                turn = await talk.turn(seen[0].data["turnId"])
                assert (turn["state"], turn["text"], turn["endedAt"]) == ("running", "Sev", None)
                gate.open()
    check_stream(seen)
    assert text_of(seen) == "Seven."


async def test_a_turn_as_json_is_there_when_it_has_ended(talk: Chat, fake: ChatServer) -> None:
    fake.say("Seven.")
    path = f"/api/v2/chats/{talk.id}/turns"

    response = await talk.client.post(path, json={"input": "Hm?"}, headers={"Accept": "application/json"})

    turn = response.json()
    assert response.status_code == 200
    assert (turn["state"], turn["text"], turn["finish"]) == ("completed", "Seven.", "stop")
    assert turn == await talk.turn(turn["id"])
    assert response.headers["location"] == f"/api/v2/turns/{turn['id']}"
    refused = await talk.client.post(path, json={"input": "Hm?"}, headers={"Accept": "text/html"})
    problem_of(refused, 406, "NOT_ACCEPTABLE")


@on_both_stores
async def test_a_paused_turn_goes_on_with_the_results_of_the_caller(talk: Chat, fake: ChatServer) -> None:
    fake.call(("ask_user", {"question": "Which?"}))
    events = await talk.say("How many?", tools=[ASK_USER])
    assert events[-1].kind == "turn_paused"
    turn_id = events[0].data["turnId"]
    turn = await talk.turn(turn_id)
    assert (turn["state"], turn["pending"]) == ("paused", events[-1].data["pending"])
    call_id = turn["pending"][0]["callId"]
    path = f"/api/v2/turns/{turn_id}/tool-results"
    wrong = await talk.client.post(path, json={"results": [{"callId": "other", "content": "x"}]})
    problem_of(wrong, wrong.status_code, "INVALID_REQUEST")
    assert 400 <= wrong.status_code < 500
    fake.say("Three.")

    rest = await talk.post(path, {"results": [{"callId": call_id, "content": "pots"}]})

    assert rest[0].id == events[-1].id + 1
    assert (text_of(rest), rest[-1].kind) == ("Three.", "turn_completed")
    assert await talk.events(turn_id) == events + rest
    again = await talk.client.post(path, json={"results": [{"callId": call_id, "content": "pots"}]})
    problem_of(again, 409, "TURN_STATE")


async def test_errors_before_the_turn_are_problems_and_store_nothing(talk: Chat, fake: ChatServer) -> None:
    path = f"/api/v2/chats/{talk.id}/turns"
    post = talk.client.post
    problem_of(await post("/api/v2/chats/nowhere/turns", json={"input": "Hm?"}), 404, "CHAT_NOT_FOUND")
    for body in ({}, {"input": ""}, {"input": 3}, {"input": [{"kind": "text"}]}, {"input": "x", "nonsense": 1}):
        answer = await post(path, json=body)
        assert 400 <= answer.status_code < 500, body
        assert answer.json()["code"] == "INVALID_REQUEST", answer.text
    halves = await post(path, content=b'{"input": "top \\ud83d"}', headers={"Content-Type": "application/json"})
    assert 400 <= halves.status_code < 500
    problem_of(await post(f"/api/v2/chats/{talk.id}/retry"), 409, "TURN_STATE")
    problem_of(await talk.client.get("/api/v2/turns/nothing"), 404, "TURN_NOT_FOUND")
    problem_of(await talk.client.get("/api/v2/turns/nothing/events"), 404, "TURN_NOT_FOUND")
    problem_of(await post("/api/v2/turns/nothing/cancel"), 404, "TURN_NOT_FOUND")
    assert await talk.texts() == []
    gate = fake.gate("head")
    fake.say("Seven.", before_head=(gate,))
    first = asyncio.ensure_future(talk.say("How many?"))
    await gate.reached.wait_async()
    problem_of(await post(path, json={"input": "Hm?"}), 409, "TURN_IN_PROGRESS")
    gate.open()
    assert text_of(await first) == "Seven."


@on_both_stores
async def test_a_key_makes_asking_twice_one_turn(talk: Chat, fake: ChatServer) -> None:
    gate = fake.gate("head")
    fake.say("Seven.", before_head=(gate,))
    key = {"Idempotency-Key": "k1"}
    asking = [asyncio.ensure_future(talk.say("How many?", headers=key)) for _ in range(3)]
    await gate.reached.wait_async()
    gate.open()

    first, *others = await asyncio.gather(*asking)

    assert others == [first, first]
    assert await talk.say("How many?", headers=key) == first
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]
    other = await talk.client.post(f"/api/v2/chats/{talk.id}/turns", json={"input": "How few?"}, headers=key)
    assert 400 <= other.status_code < 500


async def test_a_turn_is_cancelled_from_beside(talk: Chat, fake: ChatServer) -> None:
    gate = fake.gate("middle")
    fake.say("Sev", gate, "en.")
    first = asyncio.ensure_future(talk.say("How many?"))
    await gate.reached.wait_async()
    chat = (await talk.client.get(f"/api/v2/chats/{talk.id}")).json()

    turn = await talk.cancel(chat["turnId"])

    assert (turn["state"], turn["text"]) == ("cancelled", "Sev")
    assert (await first)[-1].kind == "turn_cancelled"
    assert await talk.texts() == ["user: How many?", "assistant: Sev"]
    assert await talk.audit_status() == "cancelled"
    assert (await talk.cancel(chat["turnId"]))["state"] == "cancelled"


async def test_an_error_event_after_200_ends_the_stream_once_and_is_tried_again(
    talk: Chat, fake: ChatServer
) -> None:
    fake.say("Hel", stream_error("Sorry.", code="server_error"))

    events = await talk.say("Hello")

    assert events[-1].kind == "turn_failed"
    turn = await talk.turn(events[0].data["turnId"])
    assert (turn["state"], turn["text"]) == ("failed", "Hel")
    assert turn["error"]["code"] == events[-1].data["code"]
    fake.say("Hello.")
    assert (await talk.retry())[-1].kind == "turn_completed"
    assert await talk.texts() == ["user: Hello", "assistant: Hello."]


async def test_an_upstream_that_is_gone_fails_the_turn_and_keeps_the_input(place: str) -> None:
    with ChatServer() as fake:
        pass
    with serving(place, fake) as served:
        async with served.async_client() as client:
            talk = await Chat.begin(client)
            events = await talk.say("Hello")
            assert (events[-1].kind, events[-1].data["code"]) == ("turn_failed", "PROVIDER_UNREACHABLE")
            assert await talk.texts() == ["user: Hello"]
            assert await talk.audit_status() == "failed"


async def test_parts_and_pictures_are_said(talk: Chat, fake: ChatServer) -> None:
    fake.say("A dot.")
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
    events = await talk.say(
        [{"kind": "text", "text": "What is it?"}, {"kind": "image", "mediaType": "image/png", "data": dot}]
    )
    assert events[-1].kind == "turn_completed"
    sent = fake.requests[-1].messages[-1]["content"]
    assert [part["type"] for part in sent] == ["text", "image_url"]
    fake.say("Yes.")
    assert (await talk.say([{"role": "user", "content": "Sure?"}]))[-1].kind == "turn_completed"


def test_a_stream_begins_with_a_hint_and_says_how_it_is_to_be_handled(served: Running, fake: ChatServer) -> None:
    fake.say("Seven.")
    with served.client() as client:
        chat = client.post("/api/v2/chats", json={"provider": "local", "model": "gpt-4o"}).json()
        response = client.post(f"/api/v2/chats/{chat['id']}/turns", json={"input": "How many?"})
    assert response.text.startswith("retry: 1000\n\nid: 1\nevent: turn_started\n")
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers.get_list("content-length") == []
    assert events_in(response.text)[-1].kind == "turn_completed"
