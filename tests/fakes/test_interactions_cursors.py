"""An id stands for a conversation, as long as the server has it; a long decode goes on by its token."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest
from google.genai import _interactions_errors as errors

from fakes.interactions_clients import (
    MODEL,
    TOOL,
    ask_once,
    body_with,
    call_in,
    client_of,
    error_of,
    post,
    result_of,
    said,
)
from fakes.interactions_server import CUT, PAUSE, InteractionsServer, Json, ask, echo, stream_error, thought


def kinds(steps: list[Json]) -> list[str]:
    return [step["type"] for step in steps]


def test_an_id_stands_for_everything_before_it_and_can_be_forked() -> None:
    with InteractionsServer(echo()) as server:
        root = ask_once(server.base_url, "root")["id"]
        left = ask_once(server.base_url, "left", previous_interaction_id=root)["id"]
        right = ask_once(server.base_url, "right", previous_interaction_id=root)["id"]
        assert len({root, left, right}) == 3
        assert kinds(server.chain(left)) == ["user_input", "model_output"] * 2
        assert server.chain(left)[2] == said("left")
        assert server.chain(right)[2] == said("right")
        assert server.chain(left)[:2] == server.chain(right)[:2] == server.chain(root)
        assert server.faults == []


def test_an_interaction_is_lost_when_its_time_is_over() -> None:
    with InteractionsServer(echo()) as server:
        first = ask_once(server.base_url)["id"]
        server.clock.advance(days=55)
        second = ask_once(server.base_url, previous_interaction_id=first)["id"]
        server.clock.advance(seconds=1)
        status, code, message = error_of(server.base_url, body_with(previous_interaction_id=first))
        assert (status, code) == (404, "not_found")
        assert first in message
        ask_once(server.base_url, previous_interaction_id=second)
        assert server.kept == [second, server.last_id]
        assert server.faults == []


@pytest.mark.parametrize(("lost_status", "code"), [(400, "invalid_request"), (403, "permission_denied")])
def test_the_status_of_a_loss_can_be_chosen(lost_status: int, code: str) -> None:
    with InteractionsServer(echo(), lost_status=lost_status) as server:
        first = ask_once(server.base_url)["id"]
        server.forget_all()
        found = error_of(server.base_url, body_with(previous_interaction_id=first))
        assert found[:2] == (lost_status, code)
        assert first in found[2]


@pytest.mark.parametrize("chains_break", [False, True])
def test_a_lost_ancestor_breaks_the_chain_only_where_it_shall(chains_break: bool) -> None:
    with InteractionsServer(echo(), chains_break=chains_break) as server:
        first = ask_once(server.base_url)["id"]
        second = ask_once(server.base_url, previous_interaction_id=first)["id"]
        server.forget(first)
        answer = post(server.base_url, body_with(previous_interaction_id=second))
        assert answer.status_code == (404 if chains_break else 200)


def test_what_another_server_made_is_lost_here() -> None:
    with InteractionsServer(echo()) as one, InteractionsServer(echo()) as other:
        first = ask_once(one.base_url)["id"]
        ask_once(other.base_url)
        assert error_of(other.base_url, body_with(previous_interaction_id=first))[0] == 404
        assert other.faults == []


def test_an_id_that_is_none_is_refused_as_such() -> None:
    with InteractionsServer(echo()) as server:
        status, code, message = error_of(server.base_url, body_with(previous_interaction_id="resp_1"))
        assert (status, code) == (400, "invalid_request")
        assert "resp_1" in message
        assert server.faults == []


def test_what_was_not_to_be_stored_cannot_be_named() -> None:
    with InteractionsServer(echo()) as server:
        unkept = ask_once(server.base_url, store=False)["id"]
        assert error_of(server.base_url, body_with(previous_interaction_id=unkept))[0] == 404
        assert len(server.faults) == 1
        assert server.kept == []


def test_a_call_goes_on_with_its_results_alone() -> None:
    with InteractionsServer() as server:
        server.call(("lookup", {"id": 3}), ("lookup", {"id": 4}))
        server.say("Found.")
        asked = ask_once(server.base_url, "Look.", tools=[TOOL])
        assert asked["status"] == "requires_action"
        results = [result_of(step) for step in asked["steps"][:0:-1]]
        ask_once(server.base_url, results, tools=[TOOL], previous_interaction_id=asked["id"])
        calls = ["thought", "function_call", "function_call"]
        assert kinds(server.view(2).steps) == ["user_input", *calls, "function_result", "function_result"]
        assert server.view(2).sent == results
        assert server.faults == []


@pytest.mark.parametrize("answered", [0, 1, 3])
def test_a_call_of_the_chain_wants_exactly_one_result(answered: int) -> None:
    with InteractionsServer() as server:
        server.call(("lookup", {"id": 3}), ("lookup", {"id": 4}))
        asked = ask_once(server.base_url, "Look.", tools=[TOOL])
        calls = [*asked["steps"][1:], asked["steps"][1]]
        given = [result_of(call) for call in calls[:answered]] or [said("Never mind.")]
        body = body_with(given, previous_interaction_id=asked["id"])
        status, code, message = error_of(server.base_url, body)
        assert (status, code) == (400, "invalid_request")
        assert "number of function" in message
        assert len(server.faults) == 1


def test_a_result_that_the_chain_has_already_is_a_fault() -> None:
    with InteractionsServer() as server:
        server.call(("lookup", {"id": 3}))
        server.say("Found.")
        asked = ask_once(server.base_url, "Look.")
        results = [result_of(call_in(asked["steps"]))]
        done = ask_once(server.base_url, results, previous_interaction_id=asked["id"])
        assert error_of(server.base_url, body_with(results, previous_interaction_id=done["id"]))[0] == 400
        assert len(server.faults) == 1


def test_steps_of_the_model_that_the_chain_has_already_are_sent_twice() -> None:
    with InteractionsServer() as server:
        server.say(thought("Hm."), "Well.")
        server.say("Yes.")
        first = ask_once(server.base_url, "hi")
        again = [*first["steps"], said("hi")]
        body = body_with(again, previous_interaction_id=first["id"])
        assert "sent twice" in error_of(server.base_url, body)[2]
        ask_once(server.base_url, "hi", previous_interaction_id=first["id"])
        assert len(server.faults) == 1


def test_what_another_model_said_may_be_sent_behind_an_id() -> None:
    with InteractionsServer(echo()) as server:
        first = ask_once(server.base_url, "hi")["id"]
        other = {"type": "model_output", "content": [{"type": "text", "text": "I am another."}]}
        ask_once(server.base_url, [said("and you?"), other, said("well?")], previous_interaction_id=first)
        assert len(server.view(2).steps) == 5
        assert server.faults == []


@pytest.mark.parametrize("finish", ["failed", "cancelled", "in_progress", "requires_continuation"])
def test_an_interaction_in_another_state_is_not_continued(finish: str) -> None:
    with InteractionsServer() as server:
        server.say("Half", finish=finish)
        first = ask_once(server.base_url)["id"]
        status, _, message = error_of(server.base_url, body_with(previous_interaction_id=first))
        assert status == 400
        assert first in message
        assert finish in message
        assert len(server.faults) == 1


def test_states_that_can_be_continued_are_a_setting() -> None:
    with InteractionsServer(continuable=["failed"]) as server:
        server.say("Half", finish="failed")
        server.say("Whole")
        first = ask_once(server.base_url)["id"]
        ask_once(server.base_url, previous_interaction_id=first)
        assert server.faults == []


def test_an_answer_that_is_cut_or_breaks_has_failed() -> None:
    with InteractionsServer() as server:
        server.say("Hal", CUT)
        server.say("Hal", stream_error("Sorry."))
        with pytest.raises(httpx.RemoteProtocolError):
            post(server.base_url, body_with(stream=True))
        post(server.base_url, body_with(stream=True))
        assert [server.answer(number).status for number in (1, 2)] == ["failed", "failed"]


def test_an_answer_that_its_client_left_is_cancelled() -> None:
    with InteractionsServer() as server:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        url = f"{server.base_url}/v1/interactions"
        with httpx.stream("POST", url, json=body_with(stream=True)):
            gate.reached.wait()
        server.closed_early.wait()
        assert server.answer(1).status == "cancelled"


def test_a_gate_holds_the_answer_until_it_is_opened() -> None:
    with InteractionsServer() as server:
        gate = server.gate()
        server.say("Hel", gate, "lo")
        heard: list[bytes] = []
        body = body_with(stream=True)
        asking = threading.Thread(target=lambda: heard.append(post(server.base_url, body).content))
        asking.start()
        gate.reached.wait()
        assert heard == []
        early = error_of(server.base_url, body_with(previous_interaction_id=server.last_id))
        assert "in_progress" in early[2]
        gate.open()
        asking.join(10)
        assert heard[0].endswith(b"event: done\ndata: [DONE]\n\n")


def test_an_interaction_can_be_fetched_and_deleted() -> None:
    with InteractionsServer(echo()) as server, client_of(server.base_url) as client:
        first = ask_once(server.base_url, "hi")
        assert client.interactions.get(first["id"]).output_text == "1 steps; last: hi"
        url = f"{server.base_url}/v1/interactions/{first['id']}"
        assert httpx.get(url).json() == first
        assert kinds(httpx.get(f"{url}?include_input=true").json()["steps"]) == ["user_input", "model_output"]
        client.interactions.delete(first["id"])
        with pytest.raises(errors.NotFoundError):
            client.interactions.create(model=MODEL, input="hi", previous_interaction_id=first["id"])
        assert server.faults == []


def test_a_long_decode_goes_on_by_its_id_and_no_input() -> None:
    with InteractionsServer() as server:
        server.say(thought("Hm."), "part one, ", PAUSE, "part two", PAUSE, ask("lookup", {"id": 1}))
        whole = ask_once(server.base_url, "Long.")
        seen = []
        while whole["status"] == "requires_continuation":
            seen.append(whole["steps"][-1]["content"][0]["text"])
            keys = {"previous_interaction_id": whole["id"], "continuation_token": whole["continuation_token"]}
            whole = post(server.base_url, {"model": MODEL, **keys}).raise_for_status().json()
        assert seen == ["part one, ", "part two"]
        assert whole["status"] == "requires_action"
        outputs = ["thought", "model_output", "model_output", "thought", "function_call"]
        assert kinds(server.chain(whole["id"])) == ["user_input", *outputs]
        assert (server.view(3).sent, server.view(3).resumes) == ([], True)
        assert server.faults == []


def test_a_long_decode_that_is_not_stored_goes_on_with_its_input() -> None:
    with InteractionsServer() as server:
        server.say("part one", PAUSE, "part two")
        token = ask_once(server.base_url, "Long.", store=False)["continuation_token"]
        whole = ask_once(server.base_url, [said("Long.")], store=False, continuation_token=token)
        assert whole["steps"][0]["content"][0]["text"] == "part two"
        assert kinds(server.view(2).steps) == ["user_input", "model_output"]
        assert server.faults == []


def test_a_stream_tells_the_token_at_its_end() -> None:
    with InteractionsServer() as server:
        server.say("part one", PAUSE, "part two")
        post(server.base_url, body_with(stream=True))
        token = server.answer(1).token
        assert token
        body = {
            "model": MODEL,
            "stream": True,
            "previous_interaction_id": server.last_id,
            "continuation_token": token,
        }
        assert b"part two" in post(server.base_url, body).content
        assert server.faults == []


@pytest.mark.parametrize("store", [True, False])
def test_a_token_goes_with_its_own_request_alone(store: bool) -> None:
    with InteractionsServer() as server:
        server.say("part one", PAUSE, "part two")
        first = ask_once(server.base_url, "Long.", store=store)
        token = first["continuation_token"]
        other = body_with("Other.", store=store, continuation_token=token)
        unknown = body_with("Long.", store=store, continuation_token="ct_none")
        both = body_with("Long.", previous_interaction_id=first["id"], continuation_token=token)
        neither = {"model": MODEL, "continuation_token": token}
        for body in (other, unknown, both, neither):
            assert error_of(server.base_url, body)[0] == 400
        assert len(server.faults) == 4


def test_a_refusal_comes_before_the_rest_of_a_long_decode() -> None:
    with InteractionsServer() as server:
        server.say("part one", PAUSE, "part two")
        server.refuse("overloaded")
        first = ask_once(server.base_url, "Long.")
        keys = {"previous_interaction_id": first["id"], "continuation_token": first["continuation_token"]}
        assert post(server.base_url, {"model": MODEL, **keys}).status_code == 503
        assert post(server.base_url, {"model": MODEL, **keys}).status_code == 200


def test_the_official_client_goes_on_by_itself_when_told_to() -> None:
    with InteractionsServer() as server, client_of(server.base_url) as client:
        server.say("part one, ", PAUSE, "part two")
        whole: Any = client.interactions.create(model=MODEL, input="Long.", automatic_continuation=True)
        assert whole.output_text == "part one, part two"
        assert len(server.requests) == 2
        assert server.faults == []
