"""Thoughts of the fake Interactions server come back as they were made, or not at all."""

from __future__ import annotations

import base64

import pytest

from fakes.interactions_clients import TOOL, ask_once, body_with, call_in, error_of, result_of, said
from fakes.interactions_server import InteractionsServer, Json, echo, thought


def replayed(server: InteractionsServer, **keys: Json) -> list[Json]:
    """Let a tool be called, and give the whole conversation as it is sent again."""
    server.say(thought("Hm."), "I look.")
    server.call(("lookup", {"id": 3}))
    first = ask_once(server.base_url, "a", store=False, tools=[TOOL])
    before = [said("a"), *first["steps"], said("b")]
    second = ask_once(server.base_url, before, store=False, tools=[TOOL])
    return [*before, *second["steps"], result_of(call_in(second["steps"]))]


def refusals(server: InteractionsServer, steps: list[Json]) -> str:
    status, code, message = error_of(server.base_url, body_with(steps, store=False))
    assert (status, code) == (400, "invalid_request")
    return message


def test_steps_that_come_back_unchanged_are_taken() -> None:
    with InteractionsServer(echo(), strict_prefix=True) as server:
        ask_once(server.base_url, replayed(server), store=False)
        assert [step["type"] for step in server.view(3).steps].count("thought") == 2
        assert server.kept == []
        assert server.faults == []


def test_a_call_without_its_signature_is_refused() -> None:
    with InteractionsServer() as server:
        steps = replayed(server)
        lost = [step for step in steps if step["type"] != "thought"]
        assert "missing a thought_signature" in refusals(server, lost)
        stripped = [{key: step[key] for key in step if key != "signature"} for step in steps]
        assert "missing a thought_signature" in refusals(server, stripped)
        assert len(server.faults) == 2


@pytest.mark.parametrize("at", [0, 20, -10])
def test_an_altered_signature_is_refused(at: int) -> None:
    with InteractionsServer() as server:
        steps = replayed(server)
        said_to_be = bytearray(base64.b64decode(steps[1]["signature"]))
        said_to_be[at] ^= 1
        steps[1]["signature"] = base64.b64encode(said_to_be).decode()
        assert "Thought signature is not valid" in refusals(server, steps)
        assert len(server.faults) == 1


def test_an_altered_thought_and_an_altered_call_are_refused() -> None:
    with InteractionsServer() as server:
        steps = replayed(server)
        told = [{**steps[0]}, {**steps[1], "summary": []}, *steps[2:]]
        assert "summary" in refusals(server, told)
        called = [{**step, "arguments": {"id": 4}} if step["type"] == "function_call" else step for step in steps]
        assert "not as it was made" in refusals(server, called)


def test_alterations_pass_where_steps_are_not_compared() -> None:
    with InteractionsServer(echo(), strict_steps=False) as server:
        steps = replayed(server)
        ask_once(server.base_url, [{**steps[0]}, {**steps[1], "summary": []}, *steps[2:]])
        assert server.faults == []


@pytest.mark.parametrize("strict_prefix", [False, True])
def test_another_prefix_is_refused_only_where_it_shall_be(strict_prefix: bool) -> None:
    with InteractionsServer(strict_prefix=strict_prefix) as server:
        steps = replayed(server)
        server.say("Found.")
        shorter = steps[3:]
        if strict_prefix:
            assert "behind other steps" in refusals(server, shorter)
        else:
            ask_once(server.base_url, shorter)
            assert server.faults == []


def test_a_prefix_is_the_same_however_an_input_was_written() -> None:
    with InteractionsServer(echo(), strict_prefix=True) as server:
        server.say(thought("Hm."), "Well.")
        first = ask_once(server.base_url, "a")
        made = [{**step, "content": [{**step["content"][0], "annotations": []}]} for step in first["steps"][1:]]
        ask_once(server.base_url, [said("a"), first["steps"][0], *made, said("b")])
        assert server.faults == []


def test_keys_that_changed_refuse_old_signatures_which_is_no_fault() -> None:
    with InteractionsServer(echo()) as server:
        steps = replayed(server)
        server.rotate_keys()
        assert "Thought signature is not valid" in refusals(server, steps)
        assert server.faults == []


def test_a_batch_of_calls_is_signed_once_ahead_of_the_first() -> None:
    with InteractionsServer() as server:
        server.call(("lookup", {"id": 3}), ("lookup", {"id": 4}))
        made = ask_once(server.base_url, tools=[TOOL])["steps"]
        assert [step["type"] for step in made] == ["thought", "function_call", "function_call"]
        assert ["signature" in step for step in made] == [True, False, False]
