"""The judge finds each fault once, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import openai
import pytest

from fakes.chat_clients import TOOL, USER, body_with, client_of, post
from fakes.chat_server import ChatJudge, ChatServer, Json, echo

FILES = sorted((Path(__file__).parents[1] / "codecs" / "chat_files").glob("*.json"))
SYSTEM: Json = {"role": "system", "content": "Be brief."}
ANSWER: Json = {"role": "assistant", "content": "Well."}


def asks(*call_ids: str, **keys: Json) -> Json:
    calls = [{"id": one, "type": "function", "function": {"name": "look", "arguments": "{}"}} for one in call_ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **keys}


def result(call_id: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": "found"}


def without(value: Json, key: str) -> Json:
    return {name: inner for name, inner in value.items() if name != key}


def call_of(**function: Json) -> Json:
    return {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": function}]}


SEEDED: dict[str, Json] = {
    "no object": [USER],
    "no model": without(body_with(), "model"),
    "no messages": without(body_with(), "messages"),
    "messages that are none": body_with() | {"messages": "hello"},
    "nothing said": body_with() | {"messages": []},
    "a message that is no object": body_with("hello"),
    "unknown key of the body": body_with(top_k=3),
    "unknown key of a message": body_with({**USER, "mood": "calm"}),
    "unknown role": body_with({**USER, "role": "narrator"}),
    "no role": body_with(without(USER, "role")),
    "content of a wrong type": body_with({**USER, "content": 3}),
    "no content": body_with(without(USER, "content")),
    "content null without calls": body_with(USER, {**ANSWER, "content": None}),
    "content left out without calls": body_with(USER, {"role": "assistant"}),
    "empty list of parts": body_with({**USER, "content": []}),
    "a picture for the assistant": body_with(
        USER, {**ANSWER, "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]}
    ),
    "orphan result": body_with(USER, result("a")),
    "result behind a user message": body_with(USER, asks("a"), result("a"), USER, result("a")),
    "missing result": body_with(USER, asks("a", "b"), result("a")),
    "result after another role": body_with(USER, asks("a"), USER),
    "call at the end": body_with(USER, asks("a")),
    "result of an unknown call": body_with(USER, asks("a"), result("a"), result("z")),
    "two results for one call": body_with(USER, asks("a"), result("a"), result("a")),
    "result without id": body_with(USER, asks("a"), without(result("a"), "tool_call_id")),
    "no calls in the list": body_with(USER, {**ANSWER, "tool_calls": []}),
    "arguments that are no text": body_with(USER, call_of(name="look", arguments={}), result("a")),
    "a call with a bad name": body_with(USER, call_of(name="look up", arguments="{}"), result("a")),
    "no tools in the list": body_with(tools=[]),
    "a flat tool": body_with(tools=[{"type": "function", **TOOL["function"]}]),
    "a tool with a bad name": body_with(tools=[{"type": "function", "function": {"name": "x" * 65}}]),
    "two tools of one name": body_with(tools=[TOOL, TOOL]),
    "tool_choice without tools": body_with(tool_choice="auto"),
    "parallel_tool_calls without tools": body_with(parallel_tool_calls=True),
    "stream_options without stream": without(body_with(stream_options={"include_usage": True}), "stream"),
    "two output limits": body_with(max_tokens=3, max_completion_tokens=3),
    "a limit that is no number": body_with(max_tokens="3"),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_fault_is_found_once(name: str) -> None:
    judge = ChatJudge()
    first = judge.faults(SEEDED[name])
    assert len(first) == 1, first
    assert judge.faults(SEEDED[name]) == first


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bodies_after_the_official_types_have_no_fault(path: Path) -> None:
    assert ChatJudge().faults(json.loads(path.read_text())) == []


def test_results_may_come_in_any_order_and_ids_may_come_again() -> None:
    chat = [USER, asks("a", "b"), result("b"), result("a"), asks("a"), result("a"), ANSWER, USER]
    assert ChatJudge().faults(body_with(*chat, tools=[TOOL])) == []


def test_keys_beyond_the_types_pass_where_they_are_allowed() -> None:
    extra = asks("a", reasoning_content="Hm.")
    extra["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "c2ln"}}
    body = body_with(USER, extra, result("a"), top_k=3)
    assert len(ChatJudge().faults(body)) == 3
    assert ChatJudge(extra_keys={"reasoning_content", "extra_content", "top_k"}).faults(body) == []


@pytest.mark.parametrize(
    ("chat", "count"),
    [
        ([SYSTEM, USER, ANSWER, USER], 0),
        ([SYSTEM, USER, asks("a"), result("a"), ANSWER, USER], 0),
        ([USER, USER], 1),
        ([SYSTEM, ANSWER], 1),
        ([USER, ANSWER, ANSWER], 1),
        ([USER, SYSTEM], 1),
    ],
)
def test_templates_that_insist_want_turns_taken(chat: list[Json], count: int) -> None:
    assert ChatJudge().faults(body_with(*chat)) == []
    assert len(ChatJudge(strict_alternation=True).faults(body_with(*chat))) == count


def test_an_empty_text_is_a_fault_only_where_it_is_refused() -> None:
    body = body_with({**USER, "content": ""})
    assert ChatJudge().faults(body) == []
    assert len(ChatJudge(refuse_empty=True).faults(body)) == 1


def test_a_fault_is_answered_400_in_the_wires_shape_and_listed() -> None:
    with ChatServer(echo()) as server, client_of(server.base_url) as client:
        with pytest.raises(openai.BadRequestError, match="must be a response to a preceding message") as caught:
            client.chat.completions.create(model="m", messages=[USER, result("a")])
        assert caught.value.param == "messages.[1].role"
        assert caught.value.type == "invalid_request_error"
        assert len(server.faults) == 1
        assert server.faults[0].startswith("request 1: messages with role 'tool'")
        assert len(server.requests[0].faults) == 1


def test_a_faulty_request_uses_up_nothing_of_the_script() -> None:
    with ChatServer() as server:
        server.say("Hello")
        assert post(server.base_url, body_with() | {"messages": []}).status_code == 400
        assert post(server.base_url, body_with()).status_code == 200


def test_more_than_the_context_is_refused_with_its_code() -> None:
    with ChatServer(echo(), count=lambda message: 50, max_context=110) as server:
        assert post(server.base_url, body_with(USER, ANSWER)).status_code == 200
        error = post(server.base_url, body_with(USER, ANSWER, USER)).json()["error"]
        assert error["code"] == "context_length_exceeded"
        assert "110 tokens" in error["message"]
        assert "153 tokens" in error["message"]
        assert len(server.faults) == 1


@pytest.mark.parametrize(
    "raw", [b"{", b"\xff", b'{"model": NaN}', b"[" * 100_000], ids=["half", "latin", "NaN", "deep"]
)
def test_a_body_that_is_no_json_is_a_fault(raw: bytes) -> None:
    with ChatServer(echo()) as server:
        url = f"{server.base_url}/chat/completions"
        answer = httpx.post(url, content=raw, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 500)
        assert len(server.faults) == 1


def test_a_body_that_does_not_say_that_it_is_json_is_a_fault() -> None:
    with ChatServer(echo()) as server:
        url = f"{server.base_url}/chat/completions"
        assert httpx.post(url, content=json.dumps(body_with())).status_code == 400
        assert len(server.faults) == 1


def test_another_path_is_a_fault() -> None:
    with ChatServer(echo()) as server:
        assert post(f"{server.base_url}/v1", body_with()).status_code == 404
        assert server.faults == ["request 1: nothing at POST /v1/v1/chat/completions"]


def test_a_script_that_is_used_up_is_a_fault() -> None:
    with ChatServer() as server:
        error = post(server.base_url, body_with()).json()["error"]
        assert error["code"] == "no_reply_left"
        assert server.faults == ["request 1: no reply is left in the script"]


def test_a_handler_that_raises_is_a_fault_and_the_server_goes_on() -> None:
    def breaks(body: Json) -> Json:
        raise LookupError("no such reply")

    with ChatServer(breaks) as server:
        assert post(server.base_url, body_with()).status_code == 500
        server.say("Hello")
        assert post(server.base_url, body_with()).status_code == 200
        assert server.faults == ["request 1: no reply, because of LookupError('no such reply')"]
