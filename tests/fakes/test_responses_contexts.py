"""What a context costs in the fake Responses API, where it ends, and how it is compacted."""

from __future__ import annotations

import json

import pytest

from fakes.chat_clients import client_of
from fakes.responses_clients import LOOKUP, answer, check_events, error, events, output, send, types_of, user
from fakes.responses_server import Json, ResponsesServer, ask, echo, reply, thought

ABOVE_ALL = [{"type": "compaction", "compact_threshold": 1}]


def ten_tokens(item: Json) -> int:
    return 10


def cached_of(response: Json) -> int:
    cached: int = response["usage"]["input_tokens_details"]["cached_tokens"]
    return cached


def test_a_chain_is_counted_whole_and_its_beginning_was_seen_before() -> None:
    with ResponsesServer(echo(), count=ten_tokens) as server:
        first = answer(server.base_url, user("First"))
        second = answer(server.base_url, user("Second"), previous_response_id=first["id"])
        assert [one["usage"]["input_tokens"] - server.view(1).tokens for one in (first, second)] == [0, 20]
        assert cached_of(first) == 0
        assert cached_of(second) == first["usage"]["input_tokens"]
        assert second["usage"]["total_tokens"] == sum(
            second["usage"][key] for key in ("input_tokens", "output_tokens")
        )


def test_a_replay_costs_what_the_cursor_does() -> None:
    with ResponsesServer(echo(), count=ten_tokens) as server:
        first = answer(server.base_url, user("First"))
        second = answer(server.base_url, user("Second"), previous_response_id=first["id"])
        again = answer(server.base_url, user("First"), *first["output"], user("Second"))
        assert again["usage"]["input_tokens"] == second["usage"]["input_tokens"]
        assert cached_of(again) == second["usage"]["input_tokens"]


@pytest.mark.parametrize("keys", [{"model": "n"}, {"instructions": "Else."}, {"tools": [LOOKUP]}], ids=str)
def test_another_head_misses_the_cache(keys: Json) -> None:
    with ResponsesServer(echo(), count=ten_tokens) as server:
        answer(server.base_url, user("First"))
        assert cached_of(answer(server.base_url, user("First"), **keys)) == 0
        assert cached_of(answer(server.base_url, user("First"))) > 0


def test_tokens_of_a_chain_are_counted_by_the_official_client() -> None:
    with ResponsesServer(echo()) as server, client_of(server.base_url) as client:
        first = answer(server.base_url, user("First"))["id"]
        counted = client.responses.input_tokens.count(model="m", input="Second", previous_response_id=first)
        second = answer(server.base_url, user("Second"), previous_response_id=first)
        assert counted.input_tokens == second["usage"]["input_tokens"]
        assert server.faults == []


@pytest.mark.parametrize("how", ["status", "failed", "error"])
def test_a_context_that_is_too_long_is_refused_in_each_way(how: str) -> None:
    with ResponsesServer(echo(), max_context=30, count=ten_tokens) as server:
        server.switches.context_errors = "failed" if how == "failed" else "error" if how == "error" else "status"
        first = answer(server.base_url, user("First"))["id"]
        keys: Json = {"previous_response_id": first, "stream": True}
        got = send(server.base_url, user("Second"), **keys)
        assert got.status_code == (400 if how == "status" else 200)
        assert "context_length_exceeded" in got.text
        if how != "status":
            told = events(server.base_url, user("Second"), previous_response_id=first)
            check_events(told[:-1])  # the official type knows no such code of a failed response
            assert types_of(told) == ["created", "in_progress", how]
        assert "exceeds the context window" in server.faults[0]
        assert server.kept == [first]


def test_over_the_threshold_an_answer_begins_with_a_compaction_that_stands_for_all_before() -> None:
    with ResponsesServer(count=ten_tokens) as server:
        server.say(thought("Hm."), "One.")
        server.reply(reply("Two."), reply("Three."))
        first = answer(server.base_url, user("First"))["id"]
        keys: Json = {"previous_response_id": first, "context_management": ABOVE_ALL}
        told = events(server.base_url, user("Second"), **keys)
        check_events(told)
        assert types_of(told)[2:5] == ["output_item.added", "compaction.compacting", "output_item.done"]
        second = told[-1]["response"]
        assert [one["type"] for one in second["output"]] == ["compaction", "message"]
        third = answer(server.base_url, user("Third"), previous_response_id=second["id"])
        compaction, *rest = server.view(3).items
        assert [one["type"] for one in compaction["covers"]] == ["message", "reasoning", "message", "message"]
        assert [one["role"] for one in rest] == ["assistant", "user"]
        assert third["usage"]["input_tokens"] == second["usage"]["input_tokens"]
        assert server.faults == []


def test_without_the_parameter_nothing_is_compacted() -> None:
    with ResponsesServer(echo()) as server:
        assert [one["type"] for one in answer(server.base_url, user("First"))["output"]] == ["message"]
        far = [{"type": "compaction", "compact_threshold": 100000}]
        assert len(answer(server.base_url, user("Second"), context_management=far)["output"]) == 1


@pytest.mark.parametrize("is_pruned", [True, False], ids=["pruned", "whole"])
def test_a_compaction_is_replayed_with_or_without_what_it_covers(is_pruned: bool) -> None:
    with ResponsesServer() as server:
        server.say(ask("lookup", {"id": 1}))
        server.say(thought("Hm."), "Two.")
        server.say("Three.")
        call = answer(server.base_url, user("First"), store=False, tools=[LOOKUP])["output"][0]
        before = [user("First"), call, output(call["call_id"])]
        said = answer(server.base_url, *before, store=False, context_management=ABOVE_ALL)["output"]
        answer(server.base_url, *([] if is_pruned else before), *said, user("Second"), store=False)
        view = server.view(3)
        assert [one["type"] for one in view.items] == ["compaction", "reasoning", "message", "message"]
        assert view.dropped == []
        assert "First" in view.text
        assert server.faults == []


def test_compaction_by_itself_gives_the_users_messages_and_one_item_for_all() -> None:
    with ResponsesServer(echo()) as server, client_of(server.base_url) as client:
        first = answer(server.base_url, user("First"))["id"]
        official = client.responses.with_raw_response.compact(
            model="m", input="Second", previous_response_id=first
        )
        assert official.parse().object == "response.compaction"
        items = json.loads(official.text)["output"]
        assert [(one["type"], one.get("role")) for one in items] == [
            *(("message", "user"), ("message", "user"), ("compaction", None)),
        ]
        answer(server.base_url, *items, user("Third"))
        compaction, *rest = server.view(3).items
        assert len(compaction["covers"]) == 3
        assert len(rest) == 1
        assert server.faults == []


def test_compacted_content_of_rotated_keys_is_refused() -> None:
    with ResponsesServer(echo()) as server:
        made = send(server.base_url, user("First"), path="/responses/compact").json()["output"]
        server.rotate_keys()
        found = error(server.base_url, made[-1], user("Second"))
        assert found["code"] == "invalid_encrypted_content"
        assert server.faults == []
