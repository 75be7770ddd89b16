"""What the fake Responses API says is of the official types, and is what the official client hears."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest
from openai.types.responses import Response

from fakes.chat_clients import async_client_of, client_of
from fakes.chat_server import ChatServer
from fakes.responses_clients import LOOKUP, answer, check_events, error, events, send, types_of, user
from fakes.responses_server import (
    CUT,
    RESPONSES_REFUSALS,
    Json,
    Part,
    ResponsesServer,
    ask,
    comment,
    commentary,
    compacted,
    event,
    failure,
    item,
    mid_character,
    mid_frame,
    nested_error,
    refused,
    reply,
    stream_error,
    thought,
)

SEARCH: Json = {
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "tides"},
}
EVERYTHING: tuple[Part, ...] = (
    thought("Let me "),
    thought("see."),
    item(SEARCH),
    commentary("I look."),
    thought("Plainly.", "reasoning_text"),
    "Grüße ",
    "an alle",
    refused("No more."),
    compacted(),
    ask("lookup", {"id": 3}),
    ask("lookup", '{"id": '),
)


def test_every_event_of_a_stream_is_of_its_official_type() -> None:
    with ResponsesServer() as server:
        server.say(*EVERYTHING)
        told = events(server.base_url, user("Hello"), tools=[LOOKUP])
        check_events(told)
        last = told[-1]["response"]
        done = [one["item"] for one in told if one["type"] == "response.output_item.done"]
        assert last["output"] == done
        assert [one["type"] for one in done] == [
            *("reasoning", "web_search_call", "message", "reasoning", "message", "compaction"),
            *("function_call", "function_call"),
        ]
        assert server.faults == []


def test_a_text_is_told_from_its_beginning_to_its_end() -> None:
    with ResponsesServer() as server:
        server.say(comment(), "Guten ", "Täg")
        told = events(server.base_url, user("Hello"))
        assert types_of(told) == [
            *("created", "in_progress", "output_item.added", "content_part.added"),
            *("output_text.delta", "output_text.delta", "output_text.done"),
            *("content_part.done", "output_item.done", "completed"),
        ]
        assert [one["delta"] for one in told if "delta" in one] == ["Guten ", "Täg"]
        assert told[0]["response"]["output"] == []


def test_json_holds_the_same_items_as_the_stream() -> None:
    with ResponsesServer() as server:
        server.reply(reply(*EVERYTHING), reply(*EVERYTHING))
        told = events(server.base_url, user("Hello"), tools=[LOOKUP])[-1]["response"]
        whole = answer(server.base_url, user("Hello"), tools=[LOOKUP])
        Response.model_validate(whole)
        kinds = [(one["type"], one.get("phase"), one.get("arguments")) for one in told["output"]]
        assert [(one["type"], one.get("phase"), one.get("arguments")) for one in whole["output"]] == kinds
        assert whole["usage"]["output_tokens"] == told["usage"]["output_tokens"]
        assert whole["id"] != told["id"]


def test_the_official_client_hears_texts_thoughts_and_calls() -> None:
    with ResponsesServer() as server, client_of(server.base_url) as client:
        server.say(thought("Hm."), "One moment.", ask("lookup", {"id": 3}))
        with client.responses.stream(model="m", input="Grüße", tools=[LOOKUP]) as stream:
            kinds = [one.type for one in stream]
            whole = stream.get_final_response()
        assert kinds.count("response.function_call_arguments.delta") == 3
        assert whole.output_text == "One moment."
        assert [one.type for one in whole.output] == ["reasoning", "message", "function_call"]
        assert whole.usage is not None
        assert whole.usage.output_tokens_details.reasoning_tokens == 1
        assert server.faults == []


def test_the_official_client_for_coroutines_follows_a_cursor() -> None:
    async def two_turns(base_url: str) -> list[str]:
        async with async_client_of(base_url) as client:
            first = await client.responses.create(model="m", input="Hello")
            second = await client.responses.create(model="m", input="And?", previous_response_id=first.id)
            return [first.output_text, second.output_text]

    with ResponsesServer() as server:
        server.say("One.")
        server.say("Two.")
        assert asyncio.run(two_turns(server.base_url)) == ["One.", "Two."]
        assert [one["role"] for one in server.view(2).items] == ["user", "assistant", "user"]
        assert server.faults == []


@pytest.mark.parametrize("kind", sorted(RESPONSES_REFUSALS))
def test_each_refusal_is_an_error_of_the_official_client(kind: str) -> None:
    row = RESPONSES_REFUSALS[kind]
    with ResponsesServer() as server, client_of(server.base_url) as client:
        server.refuse(kind, retry_after=2)
        with pytest.raises(openai.APIStatusError) as caught:
            client.responses.create(model="m", input="Hello")
        assert (caught.value.status_code, caught.value.code) == (row.status, row.code)
        assert caught.value.response.headers["retry-after"] == "2"
        assert server.faults == []


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        (failure("Sorry.", code="server_error"), "failed"),
        (stream_error("Sorry.", code="server_error"), "error"),
        (nested_error("Sorry.", code="server_error"), "error"),
    ],
    ids=["failed", "flat", "nested"],
)
def test_an_answer_that_fails_ends_there_and_no_cursor_names_it(end: Part, kind: str) -> None:
    with ResponsesServer() as server:
        server.say("Hel", end, "lo")
        told = events(server.base_url, user("Hello"))
        assert types_of(told)[-1] == kind
        assert "Sorry." in json.dumps(told[-1])
        assert server.kept == []
        server.say("Hel", end)
        assert answer(server.base_url, user("Hello"))["status"] == "failed"


def test_the_official_client_raises_for_a_nested_error() -> None:
    with ResponsesServer() as server, client_of(server.base_url) as client:
        server.say("Hel", nested_error("Sorry."))
        with pytest.raises(openai.APIError, match="Sorry"):
            list(client.responses.create(model="m", input="Hello", stream=True))


def test_an_answer_cut_by_the_limit_is_incomplete() -> None:
    with ResponsesServer() as server:
        server.say("Hel", finish="length")
        told = events(server.base_url, user("Hello"))
        check_events(told)
        assert told[-1]["type"] == "response.incomplete"
        assert told[-1]["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
        assert told[-1]["response"]["output"][0]["status"] == "incomplete"
        assert server.kept == [told[-1]["response"]["id"]]


@pytest.mark.parametrize("broken", [CUT, mid_frame("lo"), mid_character("lö")], ids=["cut", "frame", "character"])
def test_an_answer_whose_connection_breaks_is_not_kept(broken: Part) -> None:
    with ResponsesServer() as server:
        server.say("Hel", broken)
        events(server.base_url, user("Hello"))
        assert server.requests[0].fate == "cut"
        assert server.kept == []


def test_a_stream_without_an_end_is_not_kept() -> None:
    with ResponsesServer() as server:
        server.say("Hello", finish=None)
        assert types_of(events(server.base_url, user("Hello")))[-1] == "output_item.done"
        assert server.kept == []


def test_an_unknown_event_comes_in_its_place() -> None:
    with ResponsesServer() as server:
        server.say("Hel", event("response.mood.changed", mood="calm"), "lo")
        told = events(server.base_url, user("Hello"))
        assert [one["sequence_number"] for one in told] == list(range(len(told)))
        assert [one["mood"] for one in told if one["type"] == "response.mood.changed"] == ["calm"]


def test_a_filler_comes_with_deltas_unless_it_is_declined() -> None:
    with ResponsesServer() as server:
        server.reply(reply("Hello"), reply("Hello"))
        filled = events(server.base_url, user("Hello"))
        bare = events(server.base_url, user("Hello"), stream_options={"include_obfuscation": False})
        assert [sum("obfuscation" in one for one in told) for told in (filled, bare)] == [1, 0]


def test_a_client_that_leaves_is_noticed_and_its_answer_is_not_kept() -> None:
    with ResponsesServer() as server, client_of(server.base_url) as client:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        stream = client.responses.create(model="m", input="Hello", stream=True)
        gate.reached.wait()
        stream.close()
        server.closed_early.wait()
        assert server.kept == []


def test_a_wrong_key_is_refused() -> None:
    with ResponsesServer(api_key="right") as server:
        assert error(server.base_url, user("Hello"))["code"] == "invalid_api_key"
        assert server.faults == []


def test_nothing_is_at_other_addresses() -> None:
    with ResponsesServer() as server:
        assert send(server.base_url, user("Hello"), path="/chat/completions").status_code == 404
        assert server.faults == ["request 1: nothing at POST /v1/chat/completions"]


def test_a_part_of_responses_is_none_of_a_chat_completion() -> None:
    with ChatServer() as server, client_of(server.base_url) as client:
        server.say(refused("No."))
        with pytest.raises(openai.InternalServerError, match="is no part of a chat completion"):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}], stream=True)
        assert len(server.faults) == 1
