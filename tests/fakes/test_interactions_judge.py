"""The judge of Interactions finds each fault once, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from google.genai import _interactions_errors as errors

from fakes.interactions_clients import MODEL, TOOL, ask_once, body_with, client_of, error_of, post, said
from fakes.interactions_server import SENTINEL, InteractionsJudge, InteractionsServer, Json, View, echo

FILES = sorted((Path(__file__).parents[1] / "codecs" / "gemini_files").glob("interactions-*.json"))
TEXT: Json = {"type": "text", "text": "hi"}
IMAGE: Json = {"type": "image", "mime_type": "image/png", "data": "aGk="}
THOUGHT: Json = {"type": "thought", "signature": SENTINEL}
OUTPUT: Json = {"type": "model_output", "content": [TEXT]}
LEGACY = "The legacy Interactions API schema is no longer supported"


def call(call_id: str, **keys: Json) -> Json:
    return {"type": "function_call", "id": call_id, "name": "look", "arguments": {}, **keys}


def result(call_id: str, **keys: Json) -> Json:
    return {"type": "function_result", "call_id": call_id, "name": "look", "result": "found", **keys}


def without(value: Json, key: str) -> Json:
    return {name: inner for name, inner in value.items() if name != key}


def config(**keys: Json) -> Json:
    return body_with(generation_config=keys)


SEEDED: dict[str, Json] = {
    "no object": [said("hi")],
    "no model": without(body_with(), "model"),
    "no input": without(body_with(), "input"),
    "an empty input": body_with(""),
    "no steps": body_with([]),
    "an input that is a number": body_with(3),
    "an agent in place of a model": {"agent": "a", "input": "hi"},
    "unknown key of the body": body_with(temperature=1),
    "tool_choice beside the config": body_with(tool_choice="auto"),
    "messages": body_with(messages=[]),
    "a system instruction of parts": body_with(system_instruction=[TEXT]),
    "steps and contents mixed": body_with([said("hi"), TEXT]),
    "one step without a list": body_with(said("hi")),
    "unknown step": body_with([{"type": "musing"}]),
    "a step without type": body_with([{"content": [TEXT]}]),
    "a step that is a text": body_with(["hi"]),
    "unknown key of a step": body_with([{**said("hi"), "mood": "calm"}]),
    "unknown key of a content": body_with([said("hi") | {"content": [{**TEXT, "mood": "calm"}]}]),
    "unknown content": body_with([said("hi") | {"content": [{"type": "smell"}]}]),
    "content that is a text": body_with([{"type": "user_input", "content": "hi"}]),
    "no content": body_with([{"type": "user_input"}]),
    "an empty list of contents": body_with([said("hi"), {"type": "model_output", "content": []}]),
    "an empty text": body_with([said("")]),
    "a picture without data": body_with([without(IMAGE, "data")]),
    "a picture of unknown resolution": body_with([{**IMAGE, "resolution": "superb"}]),
    "two inputs in a row": body_with([said("hi"), said("ho")]),
    "arguments that are a text": body_with([said("hi"), THOUGHT, call("a", arguments="{}"), result("a")]),
    "a call without id": body_with([said("hi"), THOUGHT, without(call("a"), "id")]),
    "a result without call_id": body_with([said("hi"), THOUGHT, call("a"), without(result("a"), "call_id")]),
    "a result without result": body_with([said("hi"), THOUGHT, call("a"), without(result("a"), "result")]),
    "a nested tool": body_with(tools=[{"type": "function", "function": {"name": "f"}}]),
    "a tool with a bad name": body_with(tools=[{**TOOL, "name": "look up"}]),
    "a tool without name": body_with(tools=[without(TOOL, "name")]),
    "two tools of one name": body_with(tools=[TOOL, TOOL]),
    "a list of function declarations": body_with(tools=[{"function_declarations": [TOOL]}]),
    "unknown key of the config": config(top_k=3),
    "the limit in camel case": config(maxOutputTokens=3),
    "a limit that is a text": config(max_output_tokens="many"),
    "an unknown thinking level": config(thinking_level="deep"),
    "an unknown tool choice": config(tool_choice="required"),
    "background without store": body_with(background=True, store=False),
    "legacy turns": body_with([{"role": "user", "content": "hi"}]),
    "legacy turn": body_with({"role": "user", "content": "hi"}),
    "legacy outputs": body_with(outputs=[]),
    "a token with an id and an input": body_with(previous_interaction_id="v1_12345678", continuation_token="ct"),
    "a token alone": {"model": MODEL, "continuation_token": "ct"},
}

ODD: dict[str, list[Json]] = {
    "a call before any input": [THOUGHT, call("a"), result("a")],
    "a call at the end": [said("hi"), THOUGHT, call("a")],
    "an orphan result": [said("hi"), result("a")],
    "a missing result": [said("hi"), THOUGHT, call("a"), call("b"), result("a")],
    "a result behind an input": [said("hi"), THOUGHT, call("a"), result("a"), said("ho"), result("a")],
    "an input before the result": [said("hi"), THOUGHT, call("a"), said("ho")],
    "a call before all results": [
        said("hi"),
        THOUGHT,
        call("a"),
        call("b"),
        result("a"),
        THOUGHT,
        call("c"),
        result("c"),
    ],
    "two results of one call": [said("hi"), THOUGHT, call("a"), result("a"), result("a")],
    "an unsigned call": [said("hi"), call("a"), result("a")],
    "a call whose thought is unsigned": [said("hi"), {"type": "thought"}, call("a"), result("a")],
    "an unsigned second run": [said("hi"), THOUGHT, call("a"), result("a"), call("b"), result("b")],
    "a foreign signature": [said("hi"), {"type": "thought", "signature": "c2lnbmF0dXJl"}, OUTPUT, said("ho")],
    "a signature that is no base64": [said("hi"), {"type": "thought", "signature": "?"}, OUTPUT, said("ho")],
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_fault_of_a_body_is_found_once(name: str) -> None:
    judge = InteractionsJudge()
    first = judge.faults(SEEDED[name])
    assert len(first) == 1, first
    assert judge.faults(SEEDED[name]) == first


@pytest.mark.parametrize("name", ODD)
def test_a_seeded_fault_of_a_conversation_is_found_once(name: str) -> None:
    with InteractionsServer(echo()) as server:
        status, code, _ = error_of(server.base_url, body_with(ODD[name]))
        assert (status, code) == (400, "invalid_request")
        assert len(server.faults) == 1, server.faults


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bodies_after_the_official_types_have_no_fault(path: Path) -> None:
    body = json.loads(path.read_text())
    given = body if isinstance(body, dict) and "input" in body else {"input": body}
    assert InteractionsJudge().faults({"model": MODEL, **given}) == []


def test_a_whole_conversation_with_every_kind_of_result_has_no_fault() -> None:
    steps = [
        said("hi"),
        THOUGHT,
        call("a", arguments={"anything": {"at": "all"}}),
        call("b"),
        call("c"),
        result("c", result={"kg": 3, "deep": [{"x": 1}]}),
        result("b", result=[TEXT, IMAGE]),
        result("a", is_error=True),
        THOUGHT,
        call("a"),
        result("a"),
        OUTPUT,
        {"type": "user_input", "content": [TEXT, IMAGE]},
    ]
    with InteractionsServer(echo()) as server:
        keys = {"thinking_level": "low", "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["lookup"]}}}
        ask_once(server.base_url, steps, tools=[TOOL], store=False, generation_config=keys, labels={"chat": "one"})
        assert server.faults == []


@pytest.mark.parametrize("revision", ["2025-11-01", "2026-05-19"])
def test_an_old_revision_is_refused_as_the_legacy_schema(revision: str) -> None:
    with InteractionsServer(echo()) as server:
        assert LEGACY in error_of(server.base_url, body_with(), **{"api-revision": revision})[2]
        assert post(server.base_url, body_with(), **{"api-revision": "2026-05-20"}).status_code == 200
        assert len(server.faults) == 1


def test_a_fault_is_an_exception_of_the_official_client_and_listed() -> None:
    with InteractionsServer(echo()) as server, client_of(server.base_url) as client:
        with pytest.raises(errors.BadRequestError, match="number of function results") as caught:
            client.interactions.create(model=MODEL, input=[said("hi"), result("a")])
        assert caught.value.status_code == 400
        assert len(server.faults) == 1
        assert server.faults[0].startswith("request 1: input[1]: a function_result for 'a'")
        assert len(server.requests[0].faults) == 1


def test_a_faulty_request_uses_up_nothing_of_the_script() -> None:
    with InteractionsServer() as server:
        server.say("Hello")
        assert post(server.base_url, body_with([])).status_code == 400
        assert post(server.base_url, body_with()).status_code == 200


def test_more_than_the_context_is_refused_counting_the_chain() -> None:
    with InteractionsServer(echo(), count=lambda one: 50, max_context=160) as server:
        first = ask_once(server.base_url)["id"]
        second = ask_once(server.base_url, previous_interaction_id=first)["id"]
        status, code, message = error_of(server.base_url, body_with(previous_interaction_id=second))
        assert (status, code) == (400, "invalid_request")
        assert "(253)" in message
        assert "(160)" in message
        assert server.view(3).tokens == 253
        assert len(server.faults) == 1


def test_a_server_without_judge_takes_everything() -> None:
    with InteractionsServer(lambda view: echo()(view), judge=False) as server:
        ask_once(server.base_url, [said("hi"), call("a")], mood="calm")
        assert server.faults == []


@pytest.mark.parametrize("raw", [b"{", b"\xff", b'{"model": NaN}'], ids=["half", "latin", "NaN"])
def test_a_body_that_is_no_json_is_a_fault(raw: bytes) -> None:
    with InteractionsServer(echo()) as server:
        url = f"{server.base_url}/v1/interactions"
        assert httpx.post(url, content=raw, headers={"content-type": "application/json"}).status_code == 400
        assert len(server.faults) == 1


def test_a_script_that_is_used_up_is_a_fault() -> None:
    with InteractionsServer() as server:
        assert error_of(server.base_url, body_with())[1] == "no_reply_left"
        assert server.faults == ["request 1: no reply is left in the script"]


def test_a_handler_that_raises_is_a_fault_and_the_server_goes_on() -> None:
    def breaks(view: View) -> Json:
        raise LookupError("no such reply")

    with InteractionsServer(breaks) as server:
        assert post(server.base_url, body_with()).status_code == 500
        server.say("Hello")
        assert post(server.base_url, body_with()).status_code == 200
        assert server.faults == ["request 1: no reply, because of LookupError('no such reply')"]
