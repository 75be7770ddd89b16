from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec_properties import check_read_or_refused
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_plugins.codecs.sharegpt import ShareGPT
from trimtab_sdk import (
    Decoded,
    InvalidRequestError,
    Message,
    Recognition,
    Text,
    ToolCall,
    ToolResult,
    link_groups,
    plain_text,
)

UNTIMED = settings(deadline=None)
CODEC = ShareGPT()
Json = dict[str, Any]


def turn(speaker: str, value: object = "hi") -> Json:
    return {"from": speaker, "value": value}


def notes(decoded: Decoded) -> list[str]:
    return [repair.text for repair in CODEC.adapt(decoded.messages, decoded.originals, protected=()).repairs]


def test_turns_are_messages_and_speakers_are_roles() -> None:
    turns = [turn("system", "s"), turn("human", "a"), turn("gpt", "b"), turn("user", "c")]
    expected = (
        Message("m0", "system", (Text("s"),), source="system"),
        Message("m1", "user", (Text("a"),)),
        Message("m2", "assistant", (Text("b"),)),
        Message("m3", "user", (Text("c"),), source="input"),
    )
    assert CODEC.decode(turns).messages == expected
    assert CODEC.decode({"conversations": turns}).messages == expected
    assert CODEC.decode([{"conversations": turns}]).messages == expected


def test_a_system_text_beside_the_turns_is_the_first_message() -> None:
    decoded = CODEC.decode({"system": "s", "tools": "[]", "id": "x", "conversations": [turn("human")]})
    assert decoded.messages[0] == Message("system", "system", (Text("s"),), source="system")
    assert notes(decoded) == ["not part of the talk, and passed over: 1 key id, 1 key tools"]


def test_a_call_and_the_result_behind_it_are_a_pair() -> None:
    asked = turn("function_call", '{"name": "look", "arguments": {"shelf": 9}}')
    decoded = CODEC.decode([turn("human"), asked, turn("observation", "found"), turn("gpt", "there")])
    assert decoded.messages[1:3] == (
        Message("m1", "assistant", (ToolCall("call-1-0", "look", '{"shelf":9}'),)),
        Message("m2", "tool", (ToolResult("call-1-0", "found"),)),
    )
    assert notes(decoded) == []


def test_many_calls_and_as_many_results_are_pairs_in_their_order() -> None:
    asked = turn("function_call", '[{"name": "a"}, {"name": "b", "arguments": "x"}]')
    messages = CODEC.decode([asked, turn("tool", "one"), turn("tool", "two")]).messages
    assert len(link_groups(messages)) == 1
    assert messages[0].parts == (ToolCall("call-0-0", "a", "{}"), ToolCall("call-0-1", "b", "x"))
    assert [plain_text(message) for message in messages[1:]] == ["one", "two"]


@pytest.mark.parametrize(
    "asked",
    [
        "look on shelf 9",
        "[1]",
        '{"arguments": {}}',
        '{"name": ""}',
        '[{"name": "a"}, {"name": "b"}]',
        '{"name": "a", "arguments": "\\ud800"}',
        "[" * 100_000,
        "1" * 5_000,
    ],
)
def test_what_is_no_call_or_has_no_result_of_its_own_stays_the_text_it_is(asked: str) -> None:
    decoded = CODEC.decode([turn("function_call", asked), turn("tool", "found")])
    assert [(message.role, plain_text(message)) for message in decoded.messages] == [
        ("assistant", asked),
        ("assistant", "[tool result]\nfound"),
    ]
    assert notes(decoded) == ["1 results of tools became texts, since no call is told apart"]


def test_a_call_that_nothing_answers_stays_the_text_it_is() -> None:
    asked = '{"name": "look", "arguments": {}}'
    assert CODEC.decode([turn("function_call", asked), turn("gpt")]).messages[0].parts == (Text(asked),)


def test_of_many_conversations_one_must_be_picked() -> None:
    many = [{"conversations": [turn("human")]}] * 3
    assert CODEC.recognize(many) is Recognition.SURE
    with pytest.raises(InvalidRequestError, match="holds 3 conversations; pick one"):
        CODEC.decode(many)


def test_what_is_written_is_neutral() -> None:
    decoded = CODEC.decode([turn("human"), turn("function_call", '{"name": "f"}'), turn("tool", "x"), turn("gpt")])
    again = Neutral().decode(CODEC.encode(decoded.messages, decoded.originals).messages)
    assert again.messages == decoded.messages


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("hi", ""),
        ({}, "conversations"),
        ({"conversations": {}}, "conversations"),
        ({"conversations": [turn("human")], "system": 4}, "system"),
        ({"conversations": ["hi"]}, "conversations[0]"),
        (["hi"], "messages[0]"),
        ([turn("human"), turn("narrator")], "messages[1].from"),
        ([{"value": "hi"}], "messages[0].from"),
        ([turn("human", 4)], "messages[0].value"),
        ([{"from": "human"}], "messages[0].value"),
        ([turn(["human"])], "messages[0].from"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(data: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    assert caught.value.path == path


def test_only_such_turns_are_recognized() -> None:
    turns = [turn("human")]
    assert [CODEC.recognize(data) for data in (turns, {"conversations": turns})] == [Recognition.SURE] * 2
    others: list[object] = [
        None,
        [],
        {},
        "hi",
        {"conversations": []},
        {"conversations": [{}]},
        [{"role": "user"}],
        [1],
    ]
    assert [CODEC.recognize(other) for other in others] == [Recognition.NO] * len(others)


SPEAKERS = st.sampled_from(["system", "human", "gpt", "tool", "function_call", "observation", "x"])
VALUES = st.sampled_from(["", "hi", '{"name": "f"}', '[{"name": "f"}, {"name": "g"}]', "[]", "{}"])
TURNS = st.lists(st.builds(turn, SPEAKERS, VALUES), max_size=10)
JSON = st.recursive(
    st.one_of(VALUES, st.none(), st.integers(0, 1)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["from", "value", "conversations", "system"]), inner, max_size=3),
    ),
    max_leaves=12,
)


@UNTIMED
@given(st.one_of(TURNS, JSON))
def test_any_json_is_read_or_refused_and_never_changed(data: Any) -> None:
    check_read_or_refused(CODEC, data)


@UNTIMED
@given(TURNS.filter(lambda turns: all(turn["from"] != "x" for turn in turns)))
def test_every_value_is_in_a_message_and_groups_are_whole(turns: list[Json]) -> None:
    messages = CODEC.decode(turns).messages
    assert len(messages) == len(turns)
    for one, message in zip(turns, messages, strict=True):
        calls = any(isinstance(part, ToolCall) for part in message.parts)
        assert calls or one["value"] in plain_text(message)
    assert all(not group.orphan and not group.open_calls for group in link_groups(messages))
