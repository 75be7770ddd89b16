from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.store.stored_form import CorruptError, dump_message, load_message
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
    ToolCall,
    ToolResult,
    Unknown,
)
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.messages import EMPTY_META, Part, Role, Source

_WORDS = st.text(max_size=12) | st.sampled_from(["", "\0", "1 user history\n", "{", "\r\n", "\u2028", "🙂"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=6,
)
_OBJECTS = st.dictionaries(_WORDS, _JSON, max_size=3)
_NUMBERS = st.integers(0, 5000)
_CONTENT = st.one_of(
    st.builds(Text, _WORDS),
    st.builds(Image, _WORDS, _WORDS, _WORDS, _WORDS, _NUMBERS, _NUMBERS),
    st.builds(File, _WORDS, _WORDS, _WORDS, _WORDS, _WORDS, _WORDS),
    st.builds(Audio, _WORDS, _WORDS, _WORDS),
    st.builds(Unknown, _JSON),
)
_PARTS = st.one_of(
    _CONTENT,
    st.builds(ToolCall, _WORDS, _WORDS, _WORDS),
    st.builds(ToolResult, _WORDS, _WORDS | st.lists(_CONTENT, max_size=3).map(tuple), st.booleans()),
    st.builds(ApprovalRequest, _WORDS, _WORDS),
    st.builds(ApprovalResponse, _WORDS, st.booleans()),
    st.builds(Reasoning, _WORDS, _WORDS, _NUMBERS),
    st.builds(Compaction, _WORDS, _WORDS, st.lists(_WORDS, max_size=3).map(tuple)),
    st.builds(Notice, _WORDS, _OBJECTS),
)
MESSAGES = st.builds(
    Message,
    st.just("m"),
    st.sampled_from(get_args(Role)),
    st.lists(_PARTS, max_size=4).map(tuple) | _WORDS.map(lambda text: (Text(text),)),
    name=st.none() | _WORDS,
    source=st.sampled_from(get_args(Source)),
    pinned=st.booleans(),
    required=st.booleans(),
    ephemeral=st.booleans(),
    relevance=st.none() | st.floats(0, 1),
    meta=st.just(EMPTY_META) | _OBJECTS,
)
RESULT_WITH_NOTICE = '{"type":"tool_result","call_id":"a","content":[{"type":"notice","kind":"k"}]}'
COMPACTION_OF_TEXT = '{"type":"compaction","provider":"p","opaque":"o","covers":"ab"}'
DOCUMENT = '{"v":1,"role":"user","source":"history","parts":[]}'


def _all_of(message: Message) -> tuple[object, ...]:
    return message, dict(message.meta), [_inside(part) for part in message.parts]


def _inside(part: Part) -> object:
    if isinstance(part, Notice):
        return dict(part.data)
    return part.raw if isinstance(part, Unknown) else part


@settings(max_examples=150)
@given(MESSAGES)
def test_every_message_comes_back_as_it_was(message: Message) -> None:
    text = dump_message(message)
    assert "\0" not in text
    assert _all_of(load_message("m", text)) == _all_of(message)


@given(st.text(), st.sampled_from(get_args(Role)), st.sampled_from(get_args(Source)))
def test_a_message_of_one_text_is_stored_as_that_text(text: str, role: Role, source: Source) -> None:
    message = Message("m", role, (Text(text),), source=source)
    if "\0" not in text:
        assert dump_message(message) == f"1 {role} {source}\n{text}"
    assert load_message("m", dump_message(message)) == message


def test_lone_surrogates_and_nul_are_escaped_and_come_back() -> None:
    message = Message("m", "user", (Text("a\0b \ud83d end"), Unknown({"x": "\udc00"})))
    text = dump_message(message)
    assert text.encode().isascii()
    assert load_message("m", text) == message


def test_a_read_message_is_equal_in_everything_a_constructor_sets() -> None:
    message = load_message("m", "1 user input\nhello")
    assert message == Message("m", "user", (Text("hello"),), source="input")
    assert repr(message) == repr(Message("m", "user", (Text("hello"),), source="input"))


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        (None, "no text"),
        (b"1 user history\nhi", "no text"),
        ("", "Expecting value"),
        ("2 user history\nhi", "Extra data"),
        ("1 nobody history\nhi", "Extra data"),
        ("[]", "object was expected"),
        ("[" * 100_000, "deeply"),
        (DOCUMENT.replace('"v":1', '"v":2'), "version 2"),
        (DOCUMENT.replace('"v":1,', ""), "version None"),
        (DOCUMENT.replace('"user"', '"root"'), "'root'"),
        (DOCUMENT.replace('"user"', "[]"), r"\[\]"),
        (DOCUMENT.replace('"history"', '"nowhere"'), "'nowhere'"),
        (DOCUMENT.replace("[]", "{}"), "`parts`"),
        (DOCUMENT.replace("[]", '["text"]'), "no object"),
        (DOCUMENT.replace("[]", '[{"type":"spell"}]'), "'spell'"),
        (DOCUMENT.replace("[]", '[{"type":"text"}]'), "incomplete"),
        (DOCUMENT.replace("[]", '[{"type":"text","text":1}]'), "text was expected"),
        (DOCUMENT.replace("[]", '[{"type":"text","text":"","x":1}]'), r"\['x'\]"),
        (DOCUMENT.replace("[]", '[{"type":"image","width":1.5}]'), "whole number"),
        (DOCUMENT.replace("[]", f"[{RESULT_WITH_NOTICE}]"), "cannot hold"),
        (DOCUMENT.replace("[]", f"[{COMPACTION_OF_TEXT}]"), "list of ids"),
        (DOCUMENT.replace("[]", '[{"type":"notice","kind":"k","data":[]}]'), "object was expected"),
        (DOCUMENT.replace("}", ',"pinned":1}'), "true or false"),
        (DOCUMENT.replace("}", ',"relevance":"high"}'), "number was expected"),
        (DOCUMENT.replace("}", ',"meta":7}'), "object was expected"),
        (DOCUMENT.replace("}", ',"extra":7}'), "extra"),
    ],
)  # fmt: skip
def test_what_this_program_never_wrote_is_not_read(stored: object, why: str) -> None:
    with pytest.raises(CorruptError, match=why):
        load_message("m", stored)


_CIRCLE: dict[str, Any] = {}
_CIRCLE["self"] = _CIRCLE


@pytest.mark.parametrize(
    "changed",
    [
        {"role": "root"},
        {"source": "nowhere"},
        {"name": 7},
        {"pinned": 1},
        {"relevance": "high"},
        {"meta": {1: "one"}},
        {"meta": {"set": {1}}},
        {"meta": _CIRCLE},
        {"parts": ("text",)},
        {"parts": (Text(7),)},  # type: ignore[arg-type]
        {"parts": (Image(width=1.5),)},  # type: ignore[arg-type]
        {"parts": (ToolResult("a", (Notice("k"),)),)},  # type: ignore[arg-type]
        {"parts": (Compaction("p", "o", (7,)),)},  # type: ignore[arg-type]
        {"parts": (Unknown(object()),)},
    ],
)
def test_what_could_not_be_read_again_is_not_written(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="'m'"):
        dump_message(replace(Message("m", "user", (Text("x"), Text("y"))), **changed))


def test_only_what_is_unusual_is_written() -> None:
    message = Message("m", "assistant", (ToolCall("a", "look", "{}"), Image(url="https://example.org/a.png")))
    assert json.loads(dump_message(message)) == {
        "v": 1,
        "role": "assistant",
        "source": "history",
        "parts": [
            {"type": "tool_call", "call_id": "a", "name": "look", "arguments": "{}"},
            {"type": "image", "url": "https://example.org/a.png"},
        ],
    }
