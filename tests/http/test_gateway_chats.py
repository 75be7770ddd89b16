"""`x-trimtab-chat`: an ordinary client goes on with a stored chat."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import openai
import pytest

from fakes.chat_replies import ask
from gateway_helpers import HELLO, STOCK, Gate, gateway_to, text_of
from trimtab_sdk.messages import Text, plain_text

_T = TypeVar("_T")
OWNER = "local"


def on_server(gate: Gate, work: Coroutine[Any, Any, _T]) -> _T:
    """Do something in the event loop of the server."""
    assert gate.running.loop is not None
    return asyncio.run_coroutine_threadsafe(work, gate.running.loop).result(20)


def new_chat(gate: Gate, **settings: Any) -> str:
    made = {"provider": "openai-compatible", "model": "gpt-4o", "system": "Be brief.", **settings}
    return on_server(gate, gate.running.host.create_chat(owner=OWNER, **made)).id


def texts(gate: Gate, chat: str) -> list[str]:
    stored = on_server(gate, gate.running.host.messages(chat, owner=OWNER))
    return [f"{one.message.role}: {plain_text(one.message)}" for one in stored]


def say(client: openai.OpenAI, chat: str, messages: list[Any], **more: Any) -> Any:
    return client.chat.completions.create(
        model="gpt-4o", messages=messages, extra_headers={"x-trimtab-chat": chat}, **more
    )


def test_what_the_user_says_is_a_turn_of_the_chat(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.say("Seven.")
        first = client.chat.completions.with_raw_response.create(
            model="gpt-4o", messages=HELLO, extra_headers={"x-trimtab-chat": chat}
        )
        assert first.parse().choices[0].message.content == "Seven."
        assert first.headers["x-trimtab-chat"] == chat
        assert first.headers["x-trimtab-turn"]
        assert int(first.headers["x-trimtab-tokens-after"]) > 0
        gate.fake.say("Sev", "en, too.")
        stream = say(client, chat, [{"role": "user", "content": "And pots?"}], stream=True)
        assert text_of(list(stream)) == "Seven, too."
        assert texts(gate, chat) == [
            "system: Be brief.",
            "user: How many kettles?",
            "assistant: Seven.",
            "user: And pots?",
            "assistant: Seven, too.",
        ]
        assert [one["role"] for one in gate.asked["messages"]] == ["system", "user", "assistant", "user"]


def test_a_client_that_sends_everything_each_time_adds_only_what_is_new(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        told: list[Any] = [{"role": "system", "content": "Be brief."}, *HELLO]
        for answer in ("Seven.", "Eight.", "Nine."):
            gate.fake.say(answer)
            message = say(client, chat, told).choices[0].message
            told += [message.model_dump(exclude_none=True), {"role": "user", "content": "And now?"}]
        assert len(texts(gate, chat)) == 7
        assert len(gate.asked["messages"]) == 6


@pytest.mark.parametrize("stream", [False, True])
def test_calls_of_the_clients_tools_pause_the_turn_and_their_results_go_on(place: str, stream: bool) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.call(("stock", {"article": "kettle"}), ("stock", {"article": "pot"}))
        answer = say(client, chat, HELLO, tools=[STOCK], stream=stream)
        if stream:
            chunks = list(answer)
            assert chunks[-1].choices[0].finish_reason == "tool_calls"
            named = [call.id for chunk in chunks for call in chunk.choices[0].delta.tool_calls or () if call.id]
        else:
            assert answer.choices[0].finish_reason == "tool_calls"
            named = [call.id for call in answer.choices[0].message.tool_calls]
        results = [{"role": "tool", "tool_call_id": name, "content": "7"} for name in named]
        with pytest.raises(openai.BadRequestError, match="waits for the results"):
            say(client, chat, results[:1])
        with pytest.raises(openai.ConflictError):
            say(client, chat, [{"role": "user", "content": "Well?"}])
        gate.fake.say("Seven each.")
        assert say(client, chat, results).choices[0].message.content == "Seven each."
        assert [one.split(":")[0] for one in texts(gate, chat)] == [
            *("system", "user", "assistant", "tool", "tool", "assistant")
        ]
        with pytest.raises(openai.ConflictError, match="waits for no results"):
            say(client, chat, results)


def test_tools_of_the_host_are_run_and_not_shown(place: str) -> None:
    async def left(article: str) -> int:
        """How many are left."""
        return 7

    with gateway_to(place, "openai-compatible", left) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.call(("left", {"article": "kettle"}))
        gate.fake.say("Seven.")
        answer = say(client, chat, HELLO)
        assert (answer.choices[0].message.content, answer.choices[0].message.tool_calls) == ("Seven.", None)
        assert answer.choices[0].finish_reason == "stop"
        gate.fake.say("Yes.")
        again = [*HELLO, answer.choices[0].message.model_dump(exclude_none=True), {"role": "user", "content": "?"}]
        assert say(client, chat, again).choices[0].message.content == "Yes."


def test_a_request_that_is_repeated_after_a_failure_stores_nothing_twice(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.refuse("overloaded")
        with pytest.raises(openai.InternalServerError) as failed:
            say(client, chat, HELLO)
        assert failed.value.code == "server_is_overloaded"
        gate.fake.say("Seven.")
        assert say(client, chat, HELLO).choices[0].message.content == "Seven."
        assert texts(gate, chat) == ["system: Be brief.", "user: How many kettles?", "assistant: Seven."]


def test_results_that_are_repeated_after_a_failure_are_stored_once(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.say("I look.", ask("stock", {}, call_id="c1"))
        say(client, chat, HELLO, tools=[STOCK])
        results = [{"role": "tool", "tool_call_id": "c1", "content": "7"}]
        gate.fake.refuse("server")
        with pytest.raises(openai.InternalServerError):
            say(client, chat, results)
        gate.fake.say("Seven.")
        assert say(client, chat, results, tools=[STOCK]).choices[0].message.content == "Seven."
        assert [one.split(":")[0] for one in texts(gate, chat)] == [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
        ]


def test_what_contradicts_the_chat_is_refused_and_nothing_is_stored(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate, options={"temperature": 0.5}, messages=[*HELLO, assistant("Seven.")])
        before = texts(gate, chat)
        new = {"role": "user", "content": "And?"}
        wrong: list[tuple[type[openai.APIStatusError], list[Any], dict[str, Any]]] = [
            (openai.BadRequestError, [{"role": "system", "content": "Shout."}, new], {}),
            (openai.ConflictError, [*HELLO, assistant("Eight."), new], {}),
            (openai.BadRequestError, [*HELLO, assistant("Seven.")], {}),
            (openai.BadRequestError, [new], {"temperature": 1}),
            (openai.BadRequestError, [new], {"max_tokens": 5}),
            (openai.BadRequestError, [new], {"response_format": {"type": "json_object"}}),
            (openai.BadRequestError, [new], {"extra_body": {"stop": ["x"]}}),
            (openai.ConflictError, [{"role": "tool", "tool_call_id": "c", "content": "7"}], {}),
            (openai.BadRequestError, [{"role": "tool", "tool_call_id": "c", "content": "7"}, new], {}),
        ]
        for kind, messages, more in wrong:
            with pytest.raises(kind):
                say(client, chat, messages, **more)
        with pytest.raises(openai.BadRequestError) as other:
            client.chat.completions.create(
                model="gpt-5",
                messages=[new],
                extra_headers={"x-trimtab-chat": chat},
            )
        assert other.value.param == "model"
        with pytest.raises(openai.NotFoundError):
            say(client, "nothing", [new])
        assert texts(gate, chat) == before
        assert gate.fake.requests == []
        gate.fake.say("Fine.")
        whole = [{"role": "system", "content": "Be brief."}, *HELLO, assistant("Seven."), new]
        assert say(client, chat, whole, temperature=0.5, user="ann").choices[0].message.content == "Fine."


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_an_answer_that_was_edited_meanwhile_is_a_conflict(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.say("Seven.")
        told = say(client, chat, HELLO).choices[0].message.model_dump(exclude_none=True)
        stored = on_server(gate, gate.running.host.messages(chat, owner=OWNER))
        on_server(gate, gate.running.host.edit(chat, stored[-1].message.id, (Text("Eight."),), owner=OWNER))
        with pytest.raises(openai.ConflictError) as conflict:
            say(client, chat, [*HELLO, told, {"role": "user", "content": "And?"}])
        assert conflict.value.code == "CHAT_CHANGED"


def test_a_client_that_hangs_up_ends_the_turn(place: str) -> None:
    with gateway_to(place) as gate, gate.client() as client:
        chat = new_chat(gate)
        gate.fake.say("Sev", gate.fake.gate(), "en.")
        stream = say(client, chat, HELLO, stream=True)
        while text_of([next(stream)]) != "Sev":
            pass
        stream.close()
        gate.fake.closed_early.wait()
        for _ in range(500):
            turn = on_server(gate, gate.running.host.last_turn(chat, owner=OWNER))
            if turn is not None and turn.state == "cancelled":
                break
        else:
            raise AssertionError("the turn goes on")
        assert texts(gate, chat)[-1] == "assistant: Sev"
