"""The judge of Responses bodies finds each fault once, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import openai
import pytest

from fakes.chat_clients import client_of
from fakes.responses_bodies import ResponsesJudge
from fakes.responses_clients import LOOKUP, body_of_items, output, send, user
from fakes.responses_server import Json, ResponsesServer, echo
from responses_judge import FILES, type_faults

CALL: Json = {"type": "function_call", "call_id": "call_a", "name": "lookup", "arguments": "{}"}
SAID: Json = {
    "type": "message",
    "id": "msg_a",
    "role": "assistant",
    "status": "completed",
    "phase": "final_answer",
    "content": [{"type": "output_text", "text": "Well.", "annotations": []}],
}
THOUGHT: Json = {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": "x"}
FULL: Json = body_of_items(
    user("Hello"),
    {"role": "assistant", "content": "Hi.", "phase": "commentary"},
    THOUGHT,
    SAID,
    CALL,
    output("call_a"),
    {"type": "compaction", "encrypted_content": "x"},
    {
        "role": "user",
        "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}],
    },
    stream=True,
    store=True,
    instructions="Be brief.",
    tools=[LOOKUP],
    tool_choice="auto",
    parallel_tool_calls=True,
    max_output_tokens=4096,
    reasoning={"effort": "medium", "summary": "auto", "context": "auto"},
    include=["reasoning.encrypted_content"],
    truncation="disabled",
    prompt_cache_key="chat-1",
    context_management=[{"type": "compaction", "compact_threshold": 200000}],
    text={"format": {"type": "text"}, "verbosity": "medium"},
    stream_options={"include_obfuscation": False},
)


def without(value: Json, key: str) -> Json:
    return {name: inner for name, inner in value.items() if name != key}


def tool(**keys: Json) -> Json:
    return body_of_items(user("Hello"), tools=[{**LOOKUP, **keys}])


SEEDED: dict[str, Json] = {
    "no object": [user("Hello")],
    "no model": without(body_of_items(user("Hello")), "model"),
    "nothing asked": {"model": "m"},
    "an empty text": {"model": "m", "input": ""},
    "input of a wrong type": {"model": "m", "input": 3},
    "messages instead of input": {"model": "m", "input": "Hello", "messages": []},
    "unknown key of the body": body_of_items(user("Hello"), top_k=3),
    "an item that is no object": {"model": "m", "input": ["Hello"]},
    "unknown key of an item": body_of_items({**user("Hello"), "mood": "calm"}),
    "unknown type of an item": body_of_items({"type": "memory", "text": "x"}),
    "unknown role": body_of_items({"role": "narrator", "content": "Hello"}),
    "the role of chat completions": body_of_items({"role": "tool", "content": "Hello"}),
    "no content": body_of_items({"role": "user"}),
    "empty content": body_of_items({"role": "user", "content": []}),
    "a part of chat completions": body_of_items({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    "the assistant's text as input": body_of_items({**SAID, "content": [{"type": "input_text", "text": "x"}]}),
    "the assistant's text without id": body_of_items(without(SAID, "id")),
    "the assistant's text without status": body_of_items(without(SAID, "status")),
    "unknown phase": body_of_items({**SAID, "phase": "middle"}),
    "a call without its id": body_of_items(without(CALL, "call_id")),
    "arguments as an object": body_of_items({**CALL, "arguments": {}}),
    "an unsayable name called": body_of_items({**CALL, "name": "look up"}),
    "an output without its call's id": body_of_items(without(output("call_a"), "call_id")),
    "an output as an object": body_of_items({**output("call_a"), "output": {"found": 1}}),
    "reasoning without a summary": body_of_items(without(THOUGHT, "summary")),
    "compaction without content": body_of_items({"type": "compaction"}),
    "the same id twice": body_of_items(SAID, user("Hello"), SAID),
    "compaction asked for in the middle": body_of_items({"type": "compaction_trigger"}, user("Hello")),
    "a picture of nothing": body_of_items(
        {"role": "user", "content": [{"type": "input_image", "detail": "auto"}]}
    ),
    "a tool with an inner function": body_of_items(
        user("Hello"), tools=[{"type": "function", "function": {"name": "lookup", "parameters": {}}}]
    ),
    "a tool without strict": body_of_items(user("Hello"), tools=[without(LOOKUP, "strict")]),
    "unknown key of a tool": tool(color="red"),
    "an unsayable name of a tool": tool(name="look up"),
    "the same tool twice": body_of_items(user("Hello"), tools=[LOOKUP, LOOKUP]),
    "a choice of a tool that is none": body_of_items(
        user("Hello"), tools=[LOOKUP], tool_choice={"type": "function", "name": "other"}
    ),
    "too small an answer": body_of_items(user("Hello"), max_output_tokens=15),
    "max_tokens": body_of_items(user("Hello"), max_tokens=100),
    "stream options without a stream": body_of_items(user("Hello"), stream_options={}),
    "unknown effort": body_of_items(user("Hello"), reasoning={"effort": "heroic"}),
    "unknown inclusion": body_of_items(user("Hello"), include=["everything"]),
    "a conversation and a cursor": body_of_items(
        user("Hello"), conversation="conv_1", previous_response_id="resp_1"
    ),
    "compaction by a text": body_of_items(
        user("Hello"), context_management=[{"type": "compaction", "compact_threshold": "many"}]
    ),
    "instructions as a list": body_of_items(user("Hello"), instructions=["Be brief."]),
}


@pytest.mark.parametrize("name", sorted(SEEDED))
def test_each_seeded_fault_is_found_once(name: str) -> None:
    found = ResponsesJudge().faults(SEEDED[name])
    assert len(found) == 1, [wrong.message for wrong in found]


def test_a_full_body_has_no_faults() -> None:
    assert ResponsesJudge().faults(FULL) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bodies_as_applications_send_them_have_no_faults(path: Path) -> None:
    assert ResponsesJudge().faults(json.loads(path.read_text())) == []


def test_all_these_bodies_were_looked_at() -> None:
    assert len(FILES) >= 6


def test_what_the_types_say_is_what_they_say_of_the_body_as_one_value() -> None:
    judge = ResponsesJudge()
    for name in ("unknown key of an item", "no content", "unknown effort", "max_tokens", "a tool without strict"):
        assert type_faults(SEEDED[name]), name
        assert judge.faults(SEEDED[name]), name
    assert type_faults(FULL) == []


def test_what_only_creation_takes_is_refused_when_tokens_are_counted_or_compacted() -> None:
    judge = ResponsesJudge()
    body = body_of_items(user("Hello"), store=True)
    assert judge.faults(body) == []
    assert len(judge.faults(body, "count")) == 1
    assert len(judge.faults(body, "compact")) == 1
    assert judge.faults(body_of_items(user("Hello"), tools=[LOOKUP]), "count") == []


def test_extra_keys_are_let_through_where_that_is_said() -> None:
    body = body_of_items({**user("Hello"), "mood": "calm"}, mood="calm")
    assert len(ResponsesJudge().faults(body)) == 2
    assert ResponsesJudge(extra_keys=["mood"]).faults(body) == []


def test_a_fault_is_refused_and_listed_and_the_script_is_not_used_up() -> None:
    with ResponsesServer() as server, client_of(server.base_url) as client:
        server.say("Hello.")
        with pytest.raises(openai.BadRequestError, match="top_k"):
            client.responses.create(model="m", input="Hello", extra_body={"top_k": 3})
        assert client.responses.create(model="m", input="Hello").output_text == "Hello."
        assert [len(request.faults) for request in server.requests] == [1, 0]
        assert len(server.faults) == 1


def test_without_a_judge_any_body_is_answered() -> None:
    with ResponsesServer(echo(), judge=False) as server:
        assert send(server.base_url, user("Hello"), top_k=3).status_code == 200
        assert server.faults == []


@pytest.mark.parametrize("content", [b"{", b'{"model": NaN}'], ids=["half", "no number"])
def test_a_body_that_is_no_json_is_refused(content: bytes) -> None:
    with ResponsesServer() as server:
        headers = {"content-type": "application/json"}
        got = httpx.post(f"{server.base_url}/responses", content=content, headers=headers)
        assert got.status_code == 400
        assert len(server.faults) == 1


def test_nothing_left_to_say_is_a_fault() -> None:
    with ResponsesServer() as server:
        assert send(server.base_url, user("Hello")).json()["error"]["code"] == "no_reply_left"
        assert server.faults == ["request 1: no reply is left in the script"]
