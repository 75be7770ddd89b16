"""What changes a hash, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuation.turns import JSON, NOTICES, SYSTEM, TOOLS, histories
from factories import calls, message, result
from trimtab.continuation import (
    EMPTY_HISTORY,
    extend_history,
    history_hash,
    message_digest,
    system_prompt_hash,
    toolset_hash,
)
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    InvalidRequestError,
    Message,
    Notice,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

TALK = [message("u1"), calls("a1", "c1", text="Let me see."), result("r1", "c1"), message("a2", "assistant")]


def turned(value: object) -> object:
    """The same JSON value with the keys of each object the other way round."""
    if isinstance(value, Mapping):
        return {key: turned(inner) for key, inner in reversed([*value.items()])}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


def test_hashes_are_made_as_the_manual_of_the_module_says() -> None:
    """A change here means that what is stored no longer holds: it needs a new scheme."""
    link = sha256(b"trimtab history").digest()
    for text in ('["u1","user",null,[["text","u1"]]]', '["a2","assistant",null,[["text","a2"]]]'):
        link = sha256(link + sha256(text.encode()).digest()).digest()
    tools = '[{"name":"look","parameters":{"properties":{},"type":"object"},"type":"function"}]'
    system = '[["","system",null,[["text","You keep the books of a harbour."]]]]'
    assert history_hash([TALK[0], TALK[3]]) == f"sha256-1:{link.hex()}"
    assert toolset_hash(TOOLS) == f"sha256-1:{sha256(b'trimtab tools ' + tools.encode()).hexdigest()}"
    assert system_prompt_hash(SYSTEM) == (
        f"sha256-1:{sha256(b'trimtab system prompt ' + system.encode()).hexdigest()}"
    )


def test_the_forms_of_all_parts_are_settled() -> None:
    """A change here means that what is stored no longer holds: it needs a new scheme."""
    parts: tuple[Part, ...] = (
        Text("é"),
        ToolCall("c", "look", "{}"),
        ToolResult("c", (Text("x"), Image("u", "d", "m", "low")), is_error=True),
        Reasoning("hm", "sig"),
        File("n", "m", "d", "t", "u", "f"),
        Audio("d", "wav", "a"),
        ApprovalRequest("p", "c"),
        ApprovalResponse("p", approved=True),
        Compaction("openai", "o"),
        Unknown({"b": [None, 1.5], "a": "x"}),
    )
    assert history_hash([Message("m", "assistant", parts, name="Ada")]) == (
        "sha256-1:7f35a99138500def0dcd1bebacdbaa199ec6b33108706cde184a05550b5b0041"
    )
    assert EMPTY_HISTORY == "sha256-1:60dd0e98efec5dcd1c71cd127cabc73662bdfc4934ff4b8171b2f45e4245d142"


def test_a_history_is_hashed_from_the_hash_of_its_beginning() -> None:
    for cut in range(len(TALK) + 1):
        assert extend_history(history_hash(TALK[:cut]), TALK[cut:]) == history_hash(TALK)


@pytest.mark.parametrize("hash", ["", "sha256-1:", "sha256-1:zz", "sha256-1:00", "sha256-2:" + "00" * 32])
def test_a_hash_of_another_scheme_is_not_extended(hash: str) -> None:
    with pytest.raises(ValueError, match=r"hex|scheme"):
        extend_history(hash, TALK)


@pytest.mark.parametrize(
    "changed",
    [
        [replace(TALK[0], parts=(Text("u1."),)), *TALK[1:]],
        [replace(TALK[0], id="u9"), *TALK[1:]],
        [replace(TALK[0], role="assistant"), *TALK[1:]],
        [replace(TALK[0], name="Ada"), *TALK[1:]],
        [replace(TALK[0], name=""), *TALK[1:]],
        TALK[1:],
        TALK[:-1],
        [TALK[0], TALK[3]],
        [TALK[1], TALK[0], *TALK[2:]],
        [*TALK, TALK[0]],
        [TALK[0], TALK[1], result("r1", "c2"), TALK[3]],
        [TALK[0], TALK[1], result("r1", "c1", "lost"), TALK[3]],
        [TALK[0], TALK[1], replace(TALK[2], parts=(ToolResult("c1", "found", is_error=True),)), TALK[3]],
        [TALK[0], TALK[1], replace(TALK[2], parts=(ToolResult("c1", (Text("found"),)),)), TALK[3]],
    ],
    ids=[
        "edited",
        "another id",
        "another role",
        "named",
        "named by an empty name",
        "first deleted",
        "last deleted",
        "group excluded",
        "other order",
        "one more",
        "other call",
        "result edited",
        "result failed",
        "result in parts",
    ],
)
def test_any_change_of_what_is_sent_changes_the_history(changed: list[Message]) -> None:
    assert history_hash(changed) != history_hash(TALK)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Reasoning("hm", "sig-1"), Reasoning("hm", "sig-2")),
        (Reasoning("hm"), Text("hm")),
        (ToolCall("c", "look", '{"a":1}'), ToolCall("c", "look", '{"a": 1}')),
        (Image(data="AAAA"), Image(url="AAAA")),
        (Image(data="AAAA", detail="low"), Image(data="AAAA", detail="high")),
        (Compaction("openai", "x"), Compaction("openai", "y")),
        (Unknown({"a": 1}), Unknown({"a": 1.0})),
        (Unknown({"a": True}), Unknown({"a": 1})),
        (Unknown([1, 2]), Unknown([2, 1])),
    ],
)
def test_a_part_that_is_sent_otherwise_hashes_otherwise(one: Part, other: Part) -> None:
    assert message_digest(Message("a", "assistant", (one,))) != message_digest(Message("a", "assistant", (other,)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Reasoning("hm", "sig", tokens=0), Reasoning("hm", "sig", tokens=40)),
        (Image(data="AAAA"), Image(data="AAAA", width=800, height=600)),
        (Compaction("openai", "x"), Compaction("openai", "x", covers=("u1",))),
        (Unknown({"a": 1, "b": [2]}), Unknown(MappingProxyType({"b": (2,), "a": 1}))),
    ],
)
def test_what_only_the_host_knows_of_a_part_is_in_no_hash(one: Part, other: Part) -> None:
    assert message_digest(Message("a", "assistant", (one,))) == message_digest(Message("a", "assistant", (other,)))


@pytest.mark.parametrize(
    "change",
    [
        {"pinned": True},
        {"required": True},
        {"relevance": 0.5},
        {"source": "input"},
        {"meta": {"providerState": {"cursor": "resp_9"}}},
        {"parts": (*TALK[0].parts, Notice("note", {"read": True}))},
    ],
)
def test_what_is_not_sent_of_a_message_is_in_no_hash(change: dict[str, Any]) -> None:
    assert history_hash([replace(TALK[0], **change), *TALK[1:]]) == history_hash(TALK)


def test_ephemeral_messages_and_notices_stand_outside_the_history() -> None:
    fleeting = message("e", "user", "It rains.", ephemeral=True)
    remark = Message("n", "assistant", (Notice("continuation_transition"),))
    assert history_hash([fleeting, TALK[0], remark, *TALK[1:], fleeting]) == history_hash(TALK)


def test_the_system_prompt_is_its_texts_in_their_order_whatever_their_ids() -> None:
    first, second = message("s1", "system", "Be kind."), message("s2", "developer", "Be brief.")
    whole = system_prompt_hash([first, second])
    assert whole == system_prompt_hash([replace(first, id="x1"), replace(second, id="x2", pinned=True)])
    assert whole != system_prompt_hash([second, first])
    assert whole != system_prompt_hash([first])
    assert whole != system_prompt_hash([first, message("s2", "developer", "Be brief!")])
    assert whole != system_prompt_hash([first, message("s2", "system", "Be brief.")])


def test_no_tools_are_no_tools() -> None:
    assert toolset_hash(None) == toolset_hash([])
    assert toolset_hash(None) != toolset_hash(TOOLS)


def test_a_tool_is_its_whole_schema() -> None:
    def tool(**parameters: object) -> dict[str, object]:
        return {"name": "look", "parameters": {"type": "object", **parameters}}

    known = toolset_hash([tool(required=["a", "b"])])
    assert known != toolset_hash([tool(required=["a"])])
    assert known != toolset_hash([tool(required=["b", "a"])])
    assert known != toolset_hash([tool(required=["a", "b"])] * 2)


@pytest.mark.parametrize("value", [float("nan"), b"x", {1, 2}, object(), {"a": {1: 2, "b": 3}}])
def test_a_value_that_json_cannot_hold_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(InvalidRequestError) as tools:
        toolset_hash([*TOOLS, value])
    assert tools.value.path == "tools[1]"
    with pytest.raises(InvalidRequestError) as history:
        history_hash([Message("m7", "user", (Unknown(value),))])
    assert history.value.ids == ("m7",)


def test_a_value_without_end_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(InvalidRequestError):
            toolset_hash([value])


def test_half_an_emoji_can_be_hashed_and_is_not_its_replacement() -> None:
    half, replaced = message("u", "user", "\ud83d"), message("u", "user", "\N{REPLACEMENT CHARACTER}")
    assert history_hash([half]) != history_hash([replaced])


@given(st.lists(JSON, max_size=4), st.randoms())
def test_neither_the_order_of_tools_nor_that_of_their_keys_counts(tools: list[object], random: Any) -> None:
    mixed = [turned(tool) for tool in tools]
    random.shuffle(mixed)
    assert toolset_hash(mixed) == toolset_hash(tools)


@given(histories())
def test_equal_histories_have_equal_hashes(history: list[Message]) -> None:
    again = [replace(one, parts=tuple(replace(part) for part in one.parts)) for one in history]
    assert history_hash(again) == history_hash(history)


@given(histories(min_size=1), st.data())
def test_every_change_of_a_history_changes_its_hash(history: list[Message], data: st.DataObject) -> None:
    known = history_hash(history)
    at = data.draw(st.integers(0, len(history) - 1))
    one = history[at]
    for other in (
        [*history[:at], *history[at + 1 :]],
        [*history[:at], replace(one, parts=(*one.parts, Text("!"))), *history[at + 1 :]],
        [*history[:at], replace(one, parts=one.parts[1:]), *history[at + 1 :]],
        [*history[:at], replace(one, id="other"), *history[at + 1 :]],
        [*history[:at], replace(one, name=f"{one.name}!"), *history[at + 1 :]],
        [*history[:at], message("new"), *history[at:]],
    ):
        assert history_hash(other) != known


SHORT = st.lists(st.text('a",[', max_size=2), max_size=2)
SAYINGS = st.lists(SHORT.map(lambda texts: Message("m", "user", tuple(map(Text, texts)))), max_size=2)


@given(SAYINGS, SAYINGS)
def test_two_histories_share_a_hash_exactly_when_they_hold_the_same(
    one: list[Message], other: list[Message]
) -> None:
    assert (history_hash(one) == history_hash(other)) == (one == other)


@given(histories(min_size=1), NOTICES, st.data())
def test_notices_anywhere_change_no_hash(history: list[Message], notice: Notice, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(history) - 1))
    noted = replace(history[at], parts=(notice, *history[at].parts))
    assert history_hash([*history[:at], noted, *history[at + 1 :]]) == history_hash(history)
