"""The judge of Messages finds each fault once, and nothing where there is none."""

from __future__ import annotations

import httpx
import pytest

from fakes.messages_clients import HEADERS, TOOL, assistant, body_with, error_of, post, user
from fakes.messages_server import NEW_VERSION, OLD_VERSION, Json, MessagesJudge, MessagesServer, echo

TEXT: Json = {"type": "text", "text": "hi"}
IMAGE: Json = {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}
DOCUMENT: Json = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}}
THOUGHT: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CITED: Json = {
    **TEXT,
    "citations": [
        {
            "type": "char_location",
            "cited_text": "d",
            "document_index": 0,
            "document_title": "t",
            "start_char_index": 0,
            "end_char_index": 1,
        }
    ],
}
ENABLED: Json = {"type": "enabled", "budget_tokens": 1024}
U, A = user("hi"), assistant("yes")


def call(call_id: str, **keys: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}, **keys}


def result(call_id: str, **keys: Json) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "found", **keys}


def served(call_id: str) -> Json:
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {"query": "q"}}


def pages(call_id: str) -> Json:
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def blocks(*given: Json, role: str = "user") -> Json:
    return {"role": role, "content": list(given)}


def without(value: Json, key: str) -> Json:
    return {name: inner for name, inner in value.items() if name != key}


def said(*given: Json) -> Json:
    """Give a body in which the assistant says these blocks, and the user goes on."""
    return body_with(U, blocks(*given, role="assistant"), U)


SEEDED: dict[str, Json] = {
    "no object": [U],
    "no model": without(body_with(), "model"),
    "an empty model": body_with(model=""),
    "no limit": without(body_with(), "max_tokens"),
    "a negative limit": body_with(max_tokens=-1),
    "a limit that is a text": body_with(max_tokens="many"),
    "no messages": without(body_with(), "messages"),
    "an empty list of messages": {**body_with(), "messages": []},
    "messages that are a text": {**body_with(), "messages": "hi"},
    "unknown key of the body": body_with(mood="calm"),
    "a key of a beta": body_with(thread={"type": "create"}),
    "stop in place of stop_sequences": body_with(stop=["x"]),
    "a message that is a text": body_with("hi"),
    "unknown role": body_with(U, {"role": "tool", "content": "x"}),
    "unknown key of a message": body_with({**U, "name": "n"}),
    "content that is a number": body_with({"role": "user", "content": 3}),
    "unknown block": body_with(blocks({"type": "smell"})),
    "unknown key of a block": body_with(blocks({**TEXT, "mood": "calm"})),
    "unknown key of an assistant's text": said({**TEXT, "mood": "calm"}),
    "an empty text": body_with(user("")),
    "an empty block": body_with(blocks(TEXT, {**TEXT, "text": ""})),
    "a blank block": body_with(blocks({**TEXT, "text": " \n"})),
    "no blocks": body_with(blocks()),
    "no text inside a result": body_with(
        U, blocks(call("a"), role="assistant"), blocks(result("a", content=[{**TEXT, "text": ""}]))
    ),
    "an empty block of the system prompt": body_with(system=[TEXT, {**TEXT, "text": ""}]),
    "a picture in the system prompt": body_with(system=[IMAGE]),
    "an assistant who speaks first": body_with(A, U),
    "nobody but the system": body_with({"role": "system", "content": "s"}),
    "a picture of the assistant": said(IMAGE, TEXT),
    "a picture of an unknown kind": body_with(
        blocks({"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "aGk="}})
    ),
    "a thought of the user": body_with(blocks(THOUGHT, TEXT)),
    "a call of the user": body_with(blocks(call("a"))),
    "a thought without signature": said(without(THOUGHT, "signature"), TEXT),
    "a thought with a cache mark": said({**THOUGHT, "cache_control": {"type": "ephemeral"}}, TEXT),
    "a thought at the end": said(TEXT, THOUGHT),
    "a call whose input is a text": body_with(
        U, blocks(call("a", input="{}"), role="assistant"), blocks(result("a"))
    ),
    "a call with a bad id": body_with(U, blocks(call("a b"), role="assistant"), blocks(result("a b"))),
    "a result without its call's id": body_with(
        U, blocks(call("a"), role="assistant"), blocks(without(result("a"), "tool_use_id"))
    ),
    "a tool without schema": body_with(tools=[without(TOOL, "input_schema")]),
    "a tool whose schema is no object": body_with(tools=[{**TOOL, "input_schema": {"type": "array"}}]),
    "a tool with a bad name": body_with(tools=[{**TOOL, "name": "look up"}]),
    "a tool with a long name": body_with(tools=[{**TOOL, "name": "x" * 129}]),
    "two tools of one name": body_with(tools=[TOOL, TOOL]),
    "a tool of another provider": body_with(tools=[{"type": "function", "function": TOOL}]),
    "a choice without tools": body_with(tool_choice={"type": "auto"}),
    "a choice of no tool": body_with(tools=[TOOL], tool_choice={"type": "tool", "name": "other"}),
    "a choice that is a text": body_with(tools=[TOOL], tool_choice="auto"),
    "a forced tool while thinking": body_with(
        tools=[TOOL], tool_choice={"type": "any"}, thinking=ENABLED, max_tokens=2000
    ),
    "unknown thinking": body_with(thinking={"type": "deep"}),
    "thinking without budget": body_with(thinking={"type": "enabled"}),
    "a small budget": body_with(thinking={**ENABLED, "budget_tokens": 1000}, max_tokens=2000),
    "a budget above the limit": body_with(thinking=ENABLED),
    "the binding of thoughts without its beta": body_with(
        thinking={"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
    ),
    "a temperature while thinking": body_with(thinking=ENABLED, max_tokens=2000, temperature=0.5),
    "a temperature above 1": body_with(temperature=1.5),
    "an unknown effort": body_with(output_config={"effort": "superb"}),
    "unknown key of the metadata": body_with(metadata={"user": "u"}),
    "an unknown lifetime": body_with(cache_control={"type": "ephemeral", "ttl": "2h"}),
}

ODD: dict[str, list[Json]] = {
    "a call at the end": [U, blocks(call("a"), role="assistant")],
    "a call without result": [U, blocks(call("a"), role="assistant"), U],
    "a missing result": [U, blocks(call("a"), call("b"), role="assistant"), blocks(result("a"))],
    "a text before the result": [U, blocks(call("a"), role="assistant"), blocks(TEXT, result("a"))],
    "a text between the results": [
        U,
        blocks(call("a"), call("b"), role="assistant"),
        blocks(result("a"), TEXT, result("b")),
    ],
    "results in two messages": [
        U,
        blocks(call("a"), call("b"), role="assistant"),
        blocks(result("a")),
        blocks(result("b")),
    ],
    "a system message before the result": [
        U,
        blocks(call("a"), role="assistant"),
        {"role": "system", "content": "s"},
        blocks(result("a")),
    ],
    "an orphan result": [U, A, blocks(result("a"))],
    "a result at the start": [blocks(result("a"))],
    "a result twice": [U, blocks(call("a"), role="assistant"), blocks(result("a"), result("a"))],
    "an id twice": [
        U,
        blocks(call("a"), role="assistant"),
        blocks(result("a")),
        blocks(call("b"), call("b"), role="assistant"),
        blocks(result("b")),
    ],
    "a search without its pages": [U, blocks(served("s"), TEXT, role="assistant"), U],
    "pages without their search": [U, blocks(pages("s"), TEXT, role="assistant"), U],
}

GOOD: dict[str, Json] = {
    "a text": body_with(),
    "blocks": body_with(blocks(IMAGE, TEXT), system=[TEXT], tools=[TOOL], tool_choice={"type": "none"}),
    "two messages of one role": body_with(U, U, A, A, U),
    "a system message in between": body_with(U, {"role": "system", "content": "s"}, A, U),
    "calls and results": body_with(
        U, blocks(TEXT, call("a"), call("b"), role="assistant"), blocks(result("b"), result("a"), TEXT)
    ),
    "calls in two messages of one turn": body_with(
        U, blocks(call("a"), role="assistant"), A, blocks(result("a")), A, U
    ),
    "a result without content": body_with(
        U, blocks(call("a"), role="assistant"), blocks(without(result("a"), "content"))
    ),
    "a search that was paused": body_with(
        U, blocks(served("s"), role="assistant"), blocks(pages("s"), TEXT, role="assistant"), U
    ),
    "a search that is paused now": body_with(U, blocks(served("s"), role="assistant")),
    "a tool of the server": body_with(tools=[{"type": "web_search_20250305", "name": "web_search"}]),
    "thinking": body_with(thinking=ENABLED, max_tokens=2000, temperature=1),
    "a warming": body_with(max_tokens=0),
    "sampling of the older version": body_with(temperature=0.5, top_p=0.9, top_k=5),
    "a document of the assistant": said(DOCUMENT, TEXT),
    "citations of the user": body_with(blocks(CITED)),
}

OLD_ONLY = ("sampling of the older version", "a document of the assistant", "citations of the user", "thinking")


@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_fault_of_a_body_is_found_once(name: str) -> None:
    judge = MessagesJudge()
    first = judge.faults(SEEDED[name])
    assert len(first) == 1, first
    assert judge.faults(SEEDED[name]) == first


@pytest.mark.parametrize("name", ODD)
def test_odd_calls_and_results_are_found_once(name: str) -> None:
    found = MessagesJudge().faults(body_with(*ODD[name]))
    assert len(found) == 1, found


@pytest.mark.parametrize("name", GOOD)
def test_a_good_body_has_no_fault(name: str) -> None:
    assert MessagesJudge().faults(GOOD[name]) == []
    assert bool(MessagesJudge().faults(GOOD[name], version=NEW_VERSION)) == (name in OLD_ONLY)


def test_the_sentences_are_those_of_the_wire() -> None:
    judge = MessagesJudge()
    missing = judge.faults(body_with(*ODD["a missing result"]))[0].message
    assert missing.startswith(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b"
    )
    orphan = judge.faults(body_with(*ODD["an orphan result"]))[0].message
    assert orphan.startswith("messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a")
    assert "text content blocks must be non-empty" in judge.faults(SEEDED["an empty text"])[0].message
    assert "all messages must have non-empty content" in judge.faults(SEEDED["no blocks"])[0].message


def test_a_beta_takes_the_types_of_the_beta() -> None:
    judge = MessagesJudge()
    thinking = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
    assert judge.faults(body_with(thinking=thinking), betas=["x"]) == []
    assert judge.faults(body_with(thinking=thinking)) != []
    assert judge.faults(body_with(mood="calm"), betas=["x"]) != []


def test_a_count_has_no_limit_and_no_stream() -> None:
    judge = MessagesJudge()
    assert judge.faults(without(body_with(), "max_tokens"), counting=True) == []
    assert len(judge.faults(body_with(), counting=True)) == 1


def test_a_model_may_refuse_keys_and_system_messages() -> None:
    judge = MessagesJudge(refuses={"temperature"}, mid_system=False)
    assert len(judge.faults(body_with(temperature=1))) == 1
    assert len(judge.faults(GOOD["a system message in between"])) == 1


def test_a_version_is_asked_for_and_must_be_known() -> None:
    with MessagesServer(echo()) as server:
        bare = httpx.post(f"{server.base_url}/v1/messages", json=body_with(), headers={"x-api-key": "k"})
        assert "anthropic-version: header is required" in bare.text
        assert error_of(server.base_url, body_with(), anthropic_version="2020-01-01")[0] == 400
        for version in (OLD_VERSION, NEW_VERSION):
            assert post(server.base_url, body_with(), anthropic_version=version).status_code == 200
        assert len(server.faults) == 2


def test_a_fault_is_answered_400_and_listed_with_its_request() -> None:
    with MessagesServer(echo()) as server:
        assert error_of(server.base_url, body_with(A, U))[:2] == (400, "invalid_request_error")
        assert server.faults == ['request 1: messages: first message must use the "user" role']
        assert server.requests[0].faults == ['messages: first message must use the "user" role']


def test_a_body_that_is_no_json_is_refused() -> None:
    with MessagesServer(echo()) as server:
        for given in (b"{oops", b'{"max_tokens": NaN}'):
            headers = {**HEADERS, "content-type": "application/json"}
            answer = httpx.post(f"{server.base_url}/v1/messages", content=given, headers=headers)
            assert answer.json()["error"]["type"] == "invalid_request_error"
        assert len(server.faults) == 2


def test_without_a_judge_everything_goes_through() -> None:
    with MessagesServer(echo(), judge=False) as server:
        assert post(server.base_url, body_with(A, mood="calm"), anthropic_version="none").status_code == 200
        assert server.faults == []
