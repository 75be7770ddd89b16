"""Rules without exceptions, for chats of every other format and for histories with every fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from conversations import neutral_chats
from gemini_wire import content_faults, step_faults, unsigned_contents, unsigned_steps
from trimtab_plugins.codecs.gemini_contents import GeminiContents
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Notice,
    Reasoning,
    Text,
    TokenBudgetExceededError,
    ToolCall,
    ToolResult,
    TrimtabError,
    Unknown,
    link_groups,
    protection_reasons,
)

Wire = dict[str, Any]
Codec = GeminiContents | GeminiInteractions
UNTIMED = settings(deadline=None, max_examples=120)
CODECS: list[Codec] = [GeminiContents(), GeminiInteractions()]
BOTH = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)

CALL_IDS = st.sampled_from("abc")
NAMES = st.sampled_from(["look", "find"])
WORDS = st.sampled_from(["hi", "hello there", " "])
CONTENT = st.sampled_from(
    [
        Text(""),
        Text("hello there"),
        Image(url="https://x.test/a.png"),
        Image(data="AAAA", media_type="image/png"),
        Image(),
        File(file_id="f1"),
        File(data="AAAA", media_type="application/pdf"),
        File(text="plain"),
        Audio(audio_id="s1"),
        Audio(data="AAAA", format="mp3"),
        Unknown({"type": "hologram"}),
    ]
)
ARGUMENTS = st.sampled_from(["{}", "{broken", "[1]", '{"a":NaN}', '{"a":"\\ud800"}', ""])
CALL = st.builds(ToolCall, CALL_IDS, NAMES, ARGUMENTS)
RESULT_CONTENT = st.one_of(st.sampled_from(["found", ""]), st.lists(CONTENT, max_size=2).map(tuple))
RESULT = st.builds(ToolResult, CALL_IDS, RESULT_CONTENT, st.booleans())
THOUGHT = st.sampled_from([Reasoning("hm"), Reasoning("", "sig"), Reasoning()])
OTHER = st.sampled_from(
    [Notice("x"), ApprovalRequest("p", "a"), ApprovalResponse("p", True), Compaction("o", "z")]
)
PARTS = {
    "user": st.one_of(CONTENT, CONTENT, RESULT, OTHER),
    "assistant": st.one_of(CONTENT, CALL, CALL, THOUGHT, OTHER, RESULT),
    "tool": st.one_of(RESULT, RESULT, OTHER),
    "system": CONTENT,
}
ROLES = st.sampled_from(["user", "user", "assistant", "assistant", "assistant", "tool", "tool", "system"])


def body_of(codec: Codec, messages: Sequence[Message]) -> Wire:
    encoded = codec.encode(messages)
    return encoded.request or {_key(codec): encoded.messages}


def _key(codec: Codec) -> str:
    return "contents" if isinstance(codec, GeminiContents) else "input"


def faults(codec: Codec, body: object) -> list[str]:
    found = content_faults(body) if isinstance(codec, GeminiContents) else step_faults(body)
    # A protected text of blanks is the caller's own, and an empty one in what was read is Google's.
    return [fault for fault in found if "an empty text" not in fault]


def unsigned(codec: Codec, body: Wire) -> list[str]:
    return unsigned_contents(body) if isinstance(codec, GeminiContents) else unsigned_steps(body)


@st.composite
def foreign_messages(draw: st.DrawFn) -> list[Message]:
    return [draw(_foreign_message(f"m{at}")) for at in range(draw(st.integers(0, 14)))]


@st.composite
def _foreign_message(draw: st.DrawFn, name: str) -> Message:
    role = draw(ROLES)
    source = draw(st.sampled_from(["system", "summary", "plugin", "persona"])) if role == "system" else "history"
    parts = tuple(draw(st.lists(PARTS[role], max_size=4)))
    return Message(name, role, parts, draw(st.sampled_from([None, None, "bob"])), source)  # type: ignore[arg-type]


@st.composite
def contents(draw: st.DrawFn) -> list[Wire]:
    return [_content(draw, draw(st.sampled_from(["user", "model"]))) for _ in range(draw(st.integers(0, 12)))]


def _content(draw: st.DrawFn, role: str) -> Wire:
    linked = {"user": "functionResponse", "model": "functionCall"}[role]
    parts: list[Wire] = []
    for kind in draw(st.lists(st.sampled_from(["text", "thought", linked, linked]), max_size=3)):
        if kind == linked:
            inner = {"name": draw(NAMES), **({"args": {}} if role == "model" else {"response": {"output": "x"}})}
            parts.append({linked: {**inner, "id": draw(CALL_IDS)} if draw(st.booleans()) else inner})
        elif kind == "thought" and role == "model":
            parts.append({"text": "hm", "thought": True})
        else:
            parts.append({"text": draw(WORDS)})
    return {"role": role, "parts": parts}


def steps() -> st.SearchStrategy[list[Wire]]:
    said = st.lists(WORDS.map(lambda words: {"type": "text", "text": words}), max_size=2)
    spoken = st.builds(lambda kind, content: {"type": kind, "content": content}, SPEAKERS, said)
    thought = st.sampled_from([{"type": "thought"}, {"type": "thought", "signature": "c2ln"}])
    call = CALL_IDS.map(lambda one: {"type": "function_call", "id": one, "name": "look", "arguments": {}})
    result = CALL_IDS.map(lambda one: {"type": "function_result", "call_id": one, "result": "x"})
    search = CALL_IDS.map(lambda one: {"type": "google_search_call", "id": one, "arguments": {}})
    found = CALL_IDS.map(lambda one: {"type": "google_search_result", "call_id": one, "result": []})
    return st.lists(st.one_of(spoken, spoken, thought, call, call, result, result, search, found), max_size=14)


SPEAKERS = st.sampled_from(["user_input", "model_output"])


def check_foreign(codec: Codec, messages: Sequence[Message], protected: set[str]) -> None:
    adapted = codec.adapt(messages, None, protected=protected)
    assert protected.isdisjoint(adapted.left_out)
    assert {one.id for one in adapted.messages} | set(adapted.left_out) == {one.id for one in messages}
    if adapted.refused:
        return
    again = codec.adapt(adapted.messages, None, protected=protected)
    assert (again.messages, again.left_out, again.refused) == (adapted.messages, {}, {})
    body = body_of(codec, adapted.messages)
    assert faults(codec, body) == []
    assert unsigned(codec, body) == []
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    _check_read_back(codec, body)


def _check_read_back(codec: Codec, body: Wire) -> None:
    """What was written reads as a conversation that needs no repair, and is written alike."""
    read = codec.decode(body)
    everyone = {message.id for message in read.messages}
    adapted = codec.adapt(read.messages, read.originals, protected=everyone)
    assert (adapted.messages, adapted.repairs, adapted.refused) == (read.messages, (), {})
    assert codec.encode(read.messages, read.originals).request == body


@BOTH
@UNTIMED
@given(chat=neutral_chats())
def test_neutral_chats_become_what_the_server_takes(codec: Codec, chat: list[Wire]) -> None:
    messages = Neutral().decode(chat).messages
    check_foreign(codec, messages, set())
    check_foreign(codec, messages, set(protection_reasons(messages, link_groups(messages))))


@BOTH
@UNTIMED
@given(messages=foreign_messages(), pins=st.sets(st.integers(0, 13), max_size=3))
def test_messages_of_any_format_become_what_the_server_takes(
    codec: Codec, messages: list[Message], pins: set[int]
) -> None:
    pinned = {f"m{at}" for at in pins}
    check_foreign(codec, messages, set(protection_reasons(messages, link_groups(messages), pins=pinned)))


@BOTH
@UNTIMED
@given(data=st.data())
def test_histories_with_every_fault_become_what_the_server_takes(codec: Codec, data: st.DataObject) -> None:
    items = data.draw(contents() if isinstance(codec, GeminiContents) else steps())
    read = codec.decode(items)
    for protected in (set[str](), set(protection_reasons(read.messages, link_groups(read.messages)))):
        adapted = codec.adapt(read.messages, read.originals, protected=protected)
        assert protected.isdisjoint(adapted.left_out)
        if adapted.refused:
            continue
        again = codec.adapt(adapted.messages, read.originals, protected=protected)
        assert (again.messages, again.left_out, again.refused) == (adapted.messages, {}, {})
        out = codec.encode(adapted.messages, read.originals).messages
        assert faults(codec, out) == []
        assert adapted.left_out or adapted.repairs or out == items


@BOTH
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_a_fit_into_any_budget_is_valid_once_one_is(codec: Codec, data: st.DataObject) -> None:
    items = data.draw(contents() if isinstance(codec, GeminiContents) else steps())
    try:
        total = fit(codec, items, 1_000_000).tokens_before
    except TrimtabError:
        return
    for limit in range(3, total + 8, max(1, total // 5)):
        try:
            fitted = fit(codec, items, limit)
        except TokenBudgetExceededError:
            continue
        assert faults(codec, fitted.messages) == []
        assert fitted.tokens_after <= limit


def fit(codec: Codec, items: list[Wire], limit: int) -> trimtab.Fit:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_codec(codec.name, codec, replace=True)
    return trimtab.fit(
        items, model="gemini-2.5-flash", context_limit=limit, reserve=0, format=codec.name, registry=registry
    )


@pytest.mark.parametrize(
    "broken",
    [
        [{"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}],
        [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}],
        [{"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "b"}]}],
        [{"role": "user", "parts": []}],
        [{"role": "user", "parts": [{"text": "a", "own": 1}]}],
    ],
)
def test_the_judge_of_contents_refuses_what_a_server_does(broken: list[Wire]) -> None:
    assert content_faults(broken)


@pytest.mark.parametrize(
    "broken",
    [
        [{"type": "function_call", "id": "x", "name": "f", "arguments": {}}],
        [{"type": "user_input", "content": []}],
        [{"type": "user_input", "content": [{"type": "text", "text": "a"}]}] * 2,
        [{"type": "function_result", "call_id": "x", "result": "a"}],
        [{"type": "user_input", "content": [{"type": "hologram"}]}],
        [{"type": "mystery"}, {"type": "thought"}],
    ],
)
def test_the_judge_of_steps_refuses_what_a_server_does(broken: list[Wire]) -> None:
    assert step_faults(broken)
