"""The checkers of the wires find what a server would refuse, and take what it would take."""

from __future__ import annotations

import pytest

from case_files import Json
from case_viewers import head_views, views_of
from case_views import Call
from case_wire_anthropic import anthropic_faults
from case_wire_gemini import contents_faults, steps_faults
from case_wire_responses import responses_faults
from case_wires import empty_contents, faults_of

WELL = {"role": "user", "content": "Well?"}
USE = {"type": "tool_use", "id": "c1", "name": "weigh", "input": {}}
ASKS = {"role": "assistant", "content": [USE]}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "31.4"}
ANSWERS = {"role": "user", "content": [RESULT]}
SECOND_USE = {**USE, "id": "c2"}
SECOND_RESULT = {**RESULT, "tool_use_id": "c2"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def said(*blocks: Json, role: str = "user") -> Json:
    return {"role": role, "content": list(blocks)}


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        ([{"role": "tool", "content": "x"}], "role"),
        ([{"role": "user", "content": ""}], "empty content"),
        ([{"role": "user", "content": []}], "empty content"),
        ([said({"text": "x"})], "without type"),
        ([said({"type": "text", "text": " "})], "blank text"),
        ([said({"type": "text"})], "without text"),
        ([said(USE)], "said by the user"),
        ([WELL, said(RESULT, role="assistant")], "said by the assistant"),
        ([WELL, said({**THOUGHT, "signature": ""}, role="assistant")], "without signature"),
        ([WELL, said({**USE, "input": "{}"}, role="assistant"), ANSWERS], "no object"),
        ([WELL, said({**USE, "id": "a b"}, role="assistant"), ANSWERS], "with the id"),
        ([WELL, ASKS, said({"type": "tool_result", "content": "x"})], "without tool_use_id"),
        ([WELL, ASKS, said({**RESULT, "content": [{"type": "tool_use"}]})], "inside a tool_result"),
        ([WELL, ASKS, said({**RESULT, "content": 3})], "neither text nor blocks"),
        ([said({"type": "image"})], "without source"),
        ([ASKS, ANSWERS], "speaks first"),
        ([WELL, said(THOUGHT, role="assistant")], "thinking alone"),
        ([WELL, ASKS], "no results"),
        ([WELL, ASKS, WELL], "results []"),
        ([WELL, ANSWERS], "calls []"),
        ([WELL, ASKS, said({"type": "text", "text": "x"}, RESULT)], "behind something else"),
        ([WELL, ASKS, WELL, ANSWERS], "behind something else"),
        (
            [
                WELL,
                said(USE, {**USE, "id": "c2"}, role="assistant"),
                ANSWERS,
                said({**RESULT, "tool_use_id": "c2"}),
            ],
            "two",
        ),
        ([WELL, ASKS, ANSWERS, ASKS, ANSWERS], "used 2 times"),
        ([said(*[{"type": "text", "text": "x", "cache_control": {}}] * 5)], "breakpoints"),
    ],
)
def test_what_anthropic_refuses_is_found(messages: list[Json], fault: str) -> None:
    assert any(fault in found for found in anthropic_faults(messages))


@pytest.mark.parametrize("system", [[{"type": "image"}], [{"type": "text", "text": " "}]])
def test_system_text_that_anthropic_refuses_is_found(system: Json) -> None:
    assert any("system" in found for found in anthropic_faults([WELL], system))


def test_what_anthropic_takes_has_no_faults() -> None:
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    answer = said(THOUGHT, {"type": "text", "text": "Heavy."}, role="assistant")
    messages = [
        WELL,
        WELL,
        ASKS,
        said({**RESULT, "content": [picture]}, {"type": "text", "text": "x"}),
        answer,
        WELL,
    ]
    assert anthropic_faults(messages, "Be brief.") == []
    assert anthropic_faults([said({"type": "compaction", "content": "x"}, role="assistant"), WELL]) == []


def item(text: str, role: str = "user") -> Json:
    return {"type": "message", "role": role, "content": text}


CALL = {"type": "function_call", "call_id": "c1", "name": "weigh", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "31.4"}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}


@pytest.mark.parametrize(
    ("items", "fault"),
    [
        ([item("x", "tool")], "role"),
        ([item("")], "empty content"),
        ([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}], "said by the user"),
        ([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}], "said by the assistant"),
        ([{"role": "user", "content": [{"type": "input_text"}]}], "without text"),
        ([{**CALL, "arguments": {}}, OUTPUT], "without arguments"),
        ([CALL, {"type": "function_call_output", "call_id": "c1"}], "without call_id or output"),
        ([{"type": "reasoning", "id": "rs"}, item("x", "assistant")], "without summary"),
        ([CALL], "no output"),
        ([OUTPUT, CALL], "no call"),
        ([CALL, {**OUTPUT, "type": "custom_tool_call_output"}], "no call"),
        ([REASONING], "without the item it led to"),
        ([REASONING, item("x")], "without the item it led to"),
        ([CALL, REASONING, OUTPUT], "without the item it led to"),
    ],
)
def test_what_responses_refuses_is_found(items: list[Json], fault: str) -> None:
    assert any(fault in found for found in responses_faults(items))


def test_what_responses_takes_has_no_faults() -> None:
    search = {"type": "web_search_call", "id": "ws", "status": "completed"}
    refusal = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert (
        responses_faults([item("x", "assistant"), item("x"), REASONING, CALL, item("x"), OUTPUT, search, refusal])
        == []
    )


def content(role: str, *parts: Json) -> Json:
    return {"role": role, "parts": list(parts)}


ASKED = content("user", {"text": "Well?"})
FUNCTION = {"functionCall": {"name": "weigh", "args": {}}}
RESPONSE = {"functionResponse": {"name": "weigh", "response": {"result": 31.4}}}


@pytest.mark.parametrize(
    ("contents", "fault"),
    [
        ([content("assistant", {"text": "x"})], "role"),
        ([content("user")], "no parts"),
        ([content("user", {"text": " "})], "nothing but blanks"),
        ([content("user", {"text": "x", "functionCall": {}})], "a part of"),
        ([content("user", {"thought": True})], "a part of"),
        ([content("user", FUNCTION)], "said by the user"),
        ([ASKED, content("model", RESPONSE)], "said by the model"),
        (
            [ASKED, content("model", FUNCTION), content("user", {"functionResponse": {"name": "weigh"}})],
            "no object",
        ),
        ([ASKED, ASKED], "twice in a row"),
        ([ASKED, content("model", FUNCTION), ASKED], "responses []"),
        ([ASKED, content("model", FUNCTION, FUNCTION), content("user", RESPONSE)], "responses ['weigh']"),
        ([content("user", RESPONSE)], "calls []"),
        ([content("model", FUNCTION), content("user", RESPONSE)], "follow neither"),
        ([ASKED, content("model", FUNCTION)], "at the end"),
    ],
)
def test_what_gemini_refuses_is_found(contents: list[Json], fault: str) -> None:
    assert any(fault in found for found in contents_faults(contents))


def test_what_gemini_takes_has_no_faults() -> None:
    thought = {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}
    turn = [content("model", thought, FUNCTION, FUNCTION), content("user", RESPONSE, RESPONSE)]
    assert contents_faults([content("model", {"text": "Hello."}), ASKED, *turn, ASKED]) == []


SAID = {"type": "user_input", "content": [{"type": "text", "text": "Well?"}]}
STEP = {"type": "function_call", "id": "f1", "name": "weigh", "arguments": {}}
DONE = {"type": "function_result", "call_id": "f1", "result": "31.4"}


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ([{"content": []}], "without type"),
        ([{"type": "user_input", "content": []}], "no content"),
        ([{"type": "user_input", "content": [{"type": "text", "text": " "}]}], "nothing but blanks"),
        ([SAID, {**STEP, "id": ""}, DONE], "without id"),
        ([SAID, {**STEP, "arguments": "{}"}, DONE], "no object"),
        ([SAID, STEP, {"type": "function_result", "result": "x"}], "without call_id"),
        ([SAID, SAID], "twice in a row"),
        ([STEP, DONE], "nothing was said before"),
        ([SAID, DONE], "without its call"),
        ([SAID, STEP, SAID, DONE], "before the results"),
        ([SAID, STEP], "no results"),
    ],
)
def test_what_interactions_refuses_is_found(steps: list[Json], fault: str) -> None:
    assert any(fault in found for found in steps_faults(steps))


def test_what_interactions_takes_has_no_faults() -> None:
    thought = {"type": "thought", "signature": "c2ln"}
    picture = {"type": "user_input", "content": [{"type": "image", "uri": "https://example.org/a.png"}]}
    second = {**STEP, "id": "f2"}
    answered = [DONE, {**DONE, "call_id": "f2", "result": {"metres": 3}}]
    assert steps_faults([SAID, thought, STEP, second, *answered, {"type": "google_search_call"}, picture]) == []


def test_neutral_has_no_server_but_unique_ids() -> None:
    assert faults_of([{"id": "a"}, {"id": "b"}], "neutral") == []
    assert faults_of([{"id": "a"}, {"id": "a"}], "neutral") != []


def test_thinking_alone_says_nothing_and_an_item_of_it_is_no_message() -> None:
    assert empty_contents([said(THOUGHT, role="assistant"), ANSWERS], "anthropic") == [0]
    assert empty_contents([REASONING, item(" ")], "responses") == [1]
    assert empty_contents([content("user", {"text": ""}), ASKED], "gemini") == [0]
    assert empty_contents([{"type": "thought", "signature": "c2ln"}, SAID], "interactions") == []


def test_one_thing_said_in_every_format_is_seen_alike() -> None:
    call = ("call", "weigh", "{}")
    chat = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}
    neutral = {"id": "c1", "name": "weigh", "arguments": {}}
    views = [
        *views_of([{"role": "assistant", "content": "", "tool_calls": [chat]}], "openai-chat"),
        *views_of([{"role": "assistant", "tool_calls": [neutral]}], "neutral"),
        *views_of([ASKS], "anthropic"),
        *views_of([CALL], "responses"),
        *views_of([content("model", FUNCTION)], "gemini"),
        *views_of([STEP], "interactions"),
    ]
    assert {view.atoms for view in views} == {(call,)}
    assert {view.role for view in views} == {"assistant"}
    response = {"functionResponse": {"name": "weigh", "response": {"output": "31.4"}}}
    results = [
        *views_of([{"role": "tool", "tool_call_id": "c1", "content": "31.4"}], "openai-chat"),
        *views_of([ANSWERS], "anthropic"),
        *views_of([OUTPUT], "responses"),
        *views_of([content("user", response)], "gemini"),
        *views_of([DONE], "interactions"),
    ]
    assert {view.atoms for view in results} == {(("text", "31.4"), ("result",))}
    assert {view.role for view in results} == {"tool"}


def test_the_head_is_seen_in_every_shape_it_has() -> None:
    shapes: list[Json] = ["Be brief.", [{"type": "text", "text": "Be brief."}], {"parts": [{"text": "Be brief."}]}]
    assert [view.words for shape in shapes for view in head_views(shape)] == [("Be brief.",)] * 3
    assert head_views(None) == []


def test_arguments_are_the_same_however_they_are_written() -> None:
    assert Call("c1", "f", '{"a": 1,"b":2}').atom == Call("c2", "f", '{"b":2,"a":1}').atom
    assert Call("c1", "f", "{broken").atom != Call("c1", "f", "{}").atom
