"""What the fake Interactions server says is what Google's client hears."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from fakes.interactions_clients import MODEL, TOOL, ask_once, body_with, client_of, error_of, post, said
from fakes.interactions_server import (
    InteractionsServer,
    Json,
    agent,
    ask,
    comment,
    delta,
    echo,
    event_faults,
    hosted,
    interaction_faults,
    status,
    step,
    thought,
)

SEARCH: Json = {"type": "google_search_call", "id": "g1", "arguments": {"queries": ["tides"]}}
FOUND: Json = {"type": "google_search_result", "call_id": "g1", "result": [{"search_suggestions": "<b>tides</b>"}]}
NOTE: Json = {"type": "text_annotation_delta", "annotations": [{"type": "url_citation", "url": "https://x.test"}]}
EVERYTHING = (
    thought("Hm, "),
    thought("well."),
    "Grüße ",
    "😀",
    delta(NOTE),
    status("in_progress"),
    hosted(SEARCH),
    hosted(FOUND),
    step({"type": "model_output"}, {"type": "text", "text": "More."}),
    ask("lookup", {"id": 3}),
    ask("lookup", '{"id": 4}', fragments=1),
)


def frames_of(raw: bytes) -> list[tuple[str, Json]]:
    """Give name and data of each event; comments are left out."""
    frames = [frame.split("\n") for frame in raw.decode().split("\n\n") if frame and not frame.startswith(":")]
    assert all(len(lines) == 2 for lines in frames)
    return [(lines[0].removeprefix("event: "), _data(lines[1])) for lines in frames]


def _data(line: str) -> Json:
    text = line.removeprefix("data: ")
    return text if text == "[DONE]" else json.loads(text)


def streamed(server: InteractionsServer, given: Json = "hi", **keys: Json) -> list[tuple[str, Json]]:
    return frames_of(post(server.base_url, body_with(given, stream=True, **keys)).content)


def test_the_events_of_a_stream_come_in_their_order_and_are_those_of_the_sdk() -> None:
    with InteractionsServer() as server:
        server.say(comment(), *EVERYTHING, comment())
        frames = streamed(server, tools=[TOOL])
    names = [name for name, _ in frames]
    assert names[0] == "interaction.created"
    assert names[-2:] == ["interaction.completed", "done"]
    assert frames[-1][1] == "[DONE]"
    assert all(name == data["event_type"] for name, data in frames[:-1])
    assert [fault for _, data in frames[:-1] for fault in event_faults(data)] == []
    steps = [(name, data["index"]) for name, data in frames if name in ("step.start", "step.stop")]
    assert steps == [(name, at) for at in range(7) for name in ("step.start", "step.stop")]
    assert server.faults == []


def test_a_signature_is_in_a_delta_alone_and_the_end_holds_no_steps() -> None:
    with InteractionsServer() as server:
        server.say(*EVERYTHING)
        frames = streamed(server, tools=[TOOL])
        made = server.answer(1).steps
    signature = made[0]["signature"]
    holders = [data for _, data in frames if signature in json.dumps(data)]
    assert [data["delta"] for data in holders] == [{"type": "thought_signature", "signature": signature}]
    end = frames[-2][1]["interaction"]
    assert "steps" not in end
    assert end["status"] == "requires_action"


def test_arguments_come_as_pieces_of_text_and_are_held_as_an_object() -> None:
    with InteractionsServer() as server:
        server.call(("lookup", {"id": 31}))
        frames = streamed(server, tools=[TOOL])
        call = server.answer(1).steps[1]
    starts = [data["step"] for name, data in frames if name == "step.start"]
    assert starts == [{"type": "thought"}, {**call, "arguments": {}}]
    pieces = [data["delta"]["arguments"] for _, data in frames[:-1] if "arguments" in data.get("delta", {})]
    assert len(pieces) == 3
    assert json.loads("".join(pieces)) == call["arguments"] == {"id": 31}


def test_without_stream_the_same_reply_is_one_answer() -> None:
    with InteractionsServer() as server:
        server.say(*EVERYTHING)
        whole = ask_once(server.base_url, tools=[TOOL])
        assert whole["steps"] == server.answer(1).steps
    assert interaction_faults(whole) == []
    kinds = [one["type"] for one in whole["steps"]]
    assert kinds[:2] == ["thought", "model_output"]
    assert kinds[2:4] == ["google_search_call", "google_search_result"]
    assert kinds[5:] == ["function_call", "function_call"]
    assert whole["steps"][0]["summary"] == [{"type": "text", "text": "Hm, well."}]
    assert whole["steps"][1]["content"] == [{"type": "text", "text": "Grüße 😀"}]
    assert whole["status"] == "requires_action"


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_the_official_client_hears_a_stream_and_continues_it(version: str) -> None:
    with InteractionsServer() as server, client_of(server.base_url, api_version=version) as client:
        server.say(thought("Hm."), "Guten ", "Tag")
        server.say("Still here.")
        events = list(client.interactions.create(model=MODEL, input="hi", stream=True))
        deltas = [one.delta for one in events if one.event_type == "step.delta"]
        assert [one.text for one in deltas if one.type == "text"] == ["Guten ", "Tag"]
        end: Any = events[-1]
        again: Any = client.interactions.create(
            model=MODEL, input="still?", previous_interaction_id=end.interaction.id
        )
        assert again.output_text == "Still here."
        assert [one["type"] for one in server.view(2).steps] == [
            "user_input",
            "thought",
            "model_output",
            "user_input",
        ]
        assert server.requests[0].headers["x-goog-api-key"] == "a-key"
        assert {request.path for request in server.requests} == {f"/{version}/interactions"}
        assert server.faults == []


def test_the_official_client_for_coroutines_hears_the_same() -> None:
    async def story(server: InteractionsServer) -> str:
        async with client_of(server.base_url).aio as client:
            stream: Any = await client.interactions.create(model=MODEL, input="hi", stream=True)
            return "".join(
                [
                    one.delta.text
                    async for one in stream
                    if one.event_type == "step.delta" and one.delta.type == "text"
                ]
            )

    with InteractionsServer(echo()) as server:
        assert asyncio.run(story(server)) == "1 steps; last: hi"
        assert server.faults == []


def test_summaries_of_thoughts_are_left_out_when_they_are_not_wanted() -> None:
    with InteractionsServer() as server:
        server.say(thought("Secret."), "Well.")
        whole = ask_once(server.base_url, generation_config={"thinking_summaries": "none"})
    assert whole["steps"][0]["summary"] == []
    assert whole["steps"][0]["signature"]


def test_usage_tells_thoughts_apart_from_the_output() -> None:
    with InteractionsServer() as server:
        server.say(thought("Hm." * 40), "Well.")
        usage = ask_once(server.base_url)["usage"]
    assert usage["total_thought_tokens"] > usage["total_output_tokens"] > 0
    parts = ("total_input_tokens", "total_output_tokens", "total_thought_tokens")
    assert usage["total_tokens"] == sum(usage[part] for part in parts)


@pytest.mark.parametrize("minimum", [0, 60])
def test_a_prefix_of_an_earlier_context_counts_as_cached(minimum: int) -> None:
    with InteractionsServer(echo(), count=lambda one: 10, cache_minimum=minimum) as server:
        first = ask_once(server.base_url, system_instruction="Be brief.")
        chained = ask_once(
            server.base_url, "b", system_instruction="Be brief.", previous_interaction_id=first["id"]
        )
        other = ask_once(server.base_url, "b", previous_interaction_id=first["id"])
    assert chained["usage"]["total_input_tokens"] == 43
    assert chained["usage"]["total_cached_tokens"] == (0 if minimum else 23)
    assert other["usage"]["total_cached_tokens"] == (0 if minimum else 3)


def test_usage_can_be_given_or_left_out() -> None:
    with InteractionsServer() as server:
        server.say("One.", usage=None)
        server.say("Two.", usage={"total_tokens": 7})
        assert "usage" not in ask_once(server.base_url)
        assert ask_once(server.base_url)["usage"] == {"total_tokens": 7}


@pytest.mark.parametrize("finish", ["incomplete", "failed", "budget_exceeded", "cancelled"])
def test_a_script_gives_any_status(finish: str) -> None:
    with InteractionsServer() as server:
        server.say("Half of", finish=finish)
        end = streamed(server)[-2][1]
        assert (end["event_type"], end["interaction"]["status"]) == ("interaction.completed", finish)


def test_arguments_that_are_no_object_come_as_they_are() -> None:
    with InteractionsServer() as server:
        server.say(ask("lookup", '{"id": 3', fragments=2), delta({"type": "novel", "x": 1}))
        frames = streamed(server, tools=[TOOL])
    deltas = [data["delta"] for name, data in frames if name == "step.delta"][1:]
    assert "".join(one["arguments"] for one in deltas[:-1]) == '{"id": 3'
    assert deltas[-1] == {"type": "novel", "x": 1}
    assert [name for name, _ in frames].count("step.start") == 2


def test_events_of_what_is_not_stored_have_no_ids() -> None:
    with InteractionsServer(echo()) as server:
        assert all("event_id" in data for _, data in streamed(server)[:-1])
        assert not any("event_id" in data for _, data in streamed(server, store=False)[:-1])


def test_an_agent_asks_for_tools_and_answers_after_their_results() -> None:
    with InteractionsServer(agent(calls=1, rounds=2)) as server:
        whole = ask_once(server.base_url, "Weigh it.", tools=[TOOL])
        for _ in range(2):
            assert whole["status"] == "requires_action"
            call = whole["steps"][-1]
            result = {"type": "function_result", "call_id": call["id"], "result": {"kg": 3}}
            whole = ask_once(server.base_url, [result], tools=[TOOL], previous_interaction_id=whole["id"])
        assert whole["steps"][-1]["content"][0]["text"] == "2 results. You said: Weigh it."
        assert server.faults == []


def test_each_form_of_an_input_is_seen_as_steps() -> None:
    text: Json = {"type": "text", "text": "hi"}
    with InteractionsServer(echo()) as server:
        for given in ("hi", text, [text], [said("hi")]):
            ask_once(server.base_url, given)
        assert [server.view(number).steps for number in range(1, 5)] == [[said("hi")]] * 4
        assert server.faults == []


def test_a_view_holds_what_this_request_alone_says() -> None:
    with InteractionsServer(echo()) as server:
        config = {"thinking_level": "low"}
        first = ask_once(
            server.base_url, "a", system_instruction="Be brief.", tools=[TOOL], generation_config=config
        )
        ask_once(server.base_url, "b", previous_interaction_id=first["id"])
        one, two = server.view(1), server.view(2)
    assert (one.system_instruction, one.tools, one.generation_config) == ("Be brief.", [TOOL], config)
    assert (two.system_instruction, two.tools, two.generation_config) == (None, [], {})
    assert (two.previous, two.sent, len(two.chain)) == (first["id"], [said("b")], 2)
    assert "Be brief." in one.text
    assert "Be brief." not in two.text


def test_a_key_is_asked_for_where_one_is_set() -> None:
    with InteractionsServer(echo(), api_key="another") as server:
        assert error_of(server.base_url, body_with())[:2] == (400, "api_key_invalid")
        answer = post(server.base_url, body_with(), **{"x-goog-api-key": "another"})
        assert answer.status_code == 200
        assert server.faults == []


def test_another_path_is_a_fault() -> None:
    with InteractionsServer(echo()) as server:
        assert httpx.post(f"{server.base_url}/v2/interactions", json={}).status_code == 404
        assert httpx.put(f"{server.base_url}/v1/interactions", json={}).status_code == 404
        assert httpx.get(f"{server.base_url}/").status_code == 404
        assert len(server.faults) == 3


@pytest.mark.parametrize("cut_at", ["every byte", [1, 100, 101, 350]])
def test_a_body_cut_anywhere_says_the_same(cut_at: Json) -> None:
    with InteractionsServer() as server:
        server.say("Grüße ", "😀", cut_at=cut_at)
        frames = streamed(server)
    texts = [data["delta"]["text"] for name, data in frames if name == "step.delta"]
    assert texts == ["Grüße ", "😀"]
