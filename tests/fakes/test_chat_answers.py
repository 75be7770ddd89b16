"""What the fake server says is what the official client hears."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from fakes.chat_clients import TOOL, USER, async_client_of, chunks_of, client_of, text_of_chunks
from fakes.chat_server import ChatServer, Json, agent, ask, comment, echo, reply, thought


def test_a_stream_holds_the_deltas_a_finish_and_nothing_of_the_usage_unless_asked() -> None:
    with ChatServer() as server:
        server.say("Guten ", "Täg", comment(), "!")
        chunks = chunks_of(server.base_url)
        assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "Guten ", "Täg", "!", None]
        assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 4 + ["stop"]
        assert all(chunk.usage is None for chunk in chunks)
        assert server.faults == []
        assert server.requests[0].fate == "answered"


def test_without_stream_the_same_reply_is_json() -> None:
    with ChatServer() as server, client_of(server.base_url) as client:
        server.say(thought("Hm."), "Guten ", "Tag", ask("lookup", {"id": 3}))
        whole = client.chat.completions.create(model="m", messages=[USER], tools=[TOOL])
        message = whole.choices[0].message
        assert message.content == "Guten Tag"
        assert message.model_extra == {"reasoning_content": "Hm."}
        assert [call.to_dict() for call in message.tool_calls or ()] == [
            {"id": "call_1_1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": 3}'}}
        ]
        assert whole.choices[0].finish_reason == "tool_calls"
        assert whole.usage is not None
        assert whole.usage.prompt_tokens > 10


def test_parallel_calls_come_in_fragments_by_index() -> None:
    with ChatServer() as server:
        server.call(("lookup", {"id": 3}), ("lookup", '{"id": '), text="One moment.")
        chunks = chunks_of(server.base_url, tools=[TOOL])
        pieces = [piece for chunk in chunks for piece in chunk.choices[0].delta.tool_calls or ()]
        assert [piece.id for piece in pieces if piece.id] == ["call_1_1", "call_1_2"]
        for index, arguments in enumerate(['{"id": 3}', '{"id": ']):
            own = [piece.function for piece in pieces if piece.index == index]
            assert "".join(function.arguments or "" for function in own if function) == arguments
        assert len(pieces) == 8
        assert text_of_chunks(chunks) == "One moment."
        assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("usage_on", ["last", "finish"])
def test_usage_comes_where_the_script_puts_it(usage_on: str) -> None:
    with ChatServer() as server:
        server.reply(reply("Hi", usage_on="finish" if usage_on == "finish" else "last"))
        chunks = chunks_of(server.base_url, stream_options={"include_usage": True})
        assert chunks[-1].usage is not None
        assert (chunks[-1].choices == []) == (usage_on == "last")


def test_the_usage_of_a_script_is_sent_as_it_is() -> None:
    given = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8, "prompt_cache_hit_tokens": 4}
    with ChatServer() as server:
        server.say("Hi", usage=given)
        usage = chunks_of(server.base_url, stream_options={"include_usage": True})[-1].usage
        assert usage is not None
        assert usage.to_dict() == given


def test_cached_tokens_are_the_longest_beginning_that_came_before() -> None:
    first = [{"role": "system", "content": "Be brief."}, USER]
    other = [{"role": "system", "content": "Be long."}, USER]
    swapped = [dict(reversed(first[0].items())), USER]
    with ChatServer(echo(), count=lambda message: 10) as server, client_of(server.base_url) as client:

        def cached(messages: Json, **keys: Json) -> tuple[int, int | None]:
            usage = client.chat.completions.create(model="m", messages=messages, **keys).usage
            assert usage is not None
            assert usage.prompt_tokens_details is not None
            return usage.prompt_tokens, usage.prompt_tokens_details.cached_tokens

        assert cached(first) == (23, 0)
        assert cached([*first, {"role": "assistant", "content": "Hi"}, USER]) == (43, 23)
        assert cached(first) == (23, 23)
        assert cached(other) == (23, 3)
        assert cached(swapped) == (23, 3)
        assert cached(first, tools=[TOOL])[1] == 0


def test_the_async_client_hears_the_same() -> None:
    async def ask_once(base_url: str) -> str:
        async with async_client_of(base_url) as client:
            stream = await client.chat.completions.create(model="m", messages=[USER], stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    with ChatServer(echo()) as server:
        assert asyncio.run(ask_once(server.base_url)) == "1 messages; last: Grüße, wie geht es?"


def test_an_agent_asks_for_tools_once_and_then_answers() -> None:
    with ChatServer(agent()) as server, client_of(server.base_url) as client:
        asked = client.chat.completions.create(model="m", messages=[USER], tools=[TOOL]).choices[0].message
        assert asked.tool_calls is not None
        call: Json = asked.tool_calls[0]
        assert json.loads(call.function.arguments) == {"id": 1}
        result: Json = {"role": "tool", "tool_call_id": call.id, "content": "A lamp."}
        history: Json = [USER, asked.to_dict(), result]
        told = client.chat.completions.create(model="m", messages=history, tools=[TOOL]).choices[0].message
        assert told.content == "1 results. You said: Grüße, wie geht es?"
        assert told.tool_calls is None
        assert server.faults == []


def test_the_script_goes_before_the_handler() -> None:
    with ChatServer(echo()) as server:
        server.say("First.")
        assert text_of_chunks(chunks_of(server.base_url)) == "First."
        assert text_of_chunks(chunks_of(server.base_url)).startswith("1 messages")


def test_a_request_is_recorded_as_it_came() -> None:
    with ChatServer(echo()) as server:
        chunks_of(server.base_url)
        request = server.wait_for_request()
        assert request.headers["authorization"] == "Bearer a-key"
        assert json.loads(request.raw) == request.body
        assert request.messages == [USER]


def test_a_connection_is_used_again() -> None:
    with ChatServer(echo()) as server, client_of(server.base_url) as client:
        for _ in range(3):
            client.chat.completions.create(model="m", messages=[USER])
        assert len({request.connection for request in server.requests}) == 1


def test_a_key_is_asked_for_where_one_is_set() -> None:
    with ChatServer(echo(), api_key="another") as server, client_of(server.base_url) as client:
        with pytest.raises(openai.AuthenticationError):
            client.chat.completions.create(model="m", messages=[USER])
        assert server.faults == []


@pytest.mark.parametrize("cut_at", ["every byte", [1, 100, 101, 350]])
def test_a_body_cut_anywhere_says_the_same(cut_at: Json) -> None:
    with ChatServer() as server:
        server.say("Grüße ", "😀", cut_at=cut_at)
        assert text_of_chunks(chunks_of(server.base_url)) == "Grüße 😀"
