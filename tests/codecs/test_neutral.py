from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec_properties import check_read_or_refused, read_after_shortening
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    Adapted,
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    Decoded,
    File,
    Image,
    InvalidRequestError,
    Message,
    Notice,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    with_texts,
)

UNTIMED = settings(deadline=None)
CODEC = Neutral()
Wire = dict[str, Any]


def say(id: str, role: str = "user", content: object = "hi", **keys: object) -> Wire:
    return {"id": id, "role": role, "content": content, **keys}


def asks(id: str, *call_ids: str, arguments: object = "{}", **keys: object) -> Wire:
    calls = [{"id": one, "name": "look", "arguments": arguments} for one in call_ids]
    return say(id, "assistant", "", tool_calls=calls, **keys)


def read_one(wire: Wire) -> Message:
    return CODEC.decode([wire]).messages[0]


def write_again(decoded: Decoded, *messages: Message) -> list[Any]:
    return CODEC.encode(messages, decoded.originals).messages


def test_every_key_of_a_message_is_read() -> None:
    message = read_one(
        say(
            "x",
            "system",
            "grey harbour",
            kind="lorebook",
            required=True,
            pinned=True,
            ephemeral=True,
            relevance=1,
            name="Ilse",
            meta={"manualExcluded": True},
            token_count=1,
            ts="2020",
            parent="w",
            origin="elsewhere",
            item_id="i",
        )
    )
    assert message == Message(
        id="x",
        role="system",
        parts=(Text("grey harbour"),),
        name="Ilse",
        source="lorebook",
        pinned=True,
        required=True,
        ephemeral=True,
        relevance=1.0,
        meta={"manualExcluded": True},
    )


@pytest.mark.parametrize("kind", ["persona", "lorebook", "memory", "summary", "plugin", "character", "template"])
def test_the_kind_gives_the_source_whatever_the_role(kind: str) -> None:
    assert {read_one(say("x", role, kind=kind)).source for role in ("system", "user")} == {kind}


@pytest.mark.parametrize("kind", ["attachment", "homemade", "", None])
def test_any_other_kind_is_an_ordinary_message(kind: object) -> None:
    chat = [say("s", "system", kind=kind), say("u", kind=kind), say("a", "assistant"), say("v", kind=kind)]
    decoded = CODEC.decode(chat)
    assert [message.source for message in decoded.messages] == ["system", "history", "history", "input"]
    assert CODEC.encode(decoded.messages, decoded.originals).messages == chat


def test_what_stands_beside_the_talk_does_not_end_the_input() -> None:
    chat = [say("a", "assistant"), say("u"), say("k", kind="memory"), say("v"), say("p", "system", kind="persona")]
    assert [message.source for message in CODEC.decode(chat).messages] == [
        "history",
        "input",
        "memory",
        "input",
        "persona",
    ]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [({"n": 1, "é": "a b"}, '{"n":1,"é":"a b"}'), ("{broken", "{broken"), (None, "{}"), ({}, "{}")],
)
def test_arguments_are_read_as_their_json_text_and_go_out_as_they_came(arguments: object, text: str) -> None:
    raw = asks("a", "c", arguments=arguments)
    decoded = CODEC.decode([raw])
    assert decoded.messages[0].parts[-1] == ToolCall("c", "look", text)
    assert write_again(decoded, *decoded.messages)[0] is raw


@pytest.mark.parametrize("key", ["tool_call_id", "toolCallId", "callId", "call_id"])
def test_a_result_is_read_by_any_spelling_of_its_call_id(key: str) -> None:
    raw = say("r", "tool", "found", **{key: "c"})
    assert read_one(raw).parts == (ToolResult("c", "found"),)
    assert CODEC.decode([raw]).uncounted == ()


def test_results_hold_texts_parts_or_nothing() -> None:
    picture = {"type": "image", "media_type": "image/png", "data": "AAAA"}
    chat = [
        say("p", "tool", [{"type": "text", "text": "see"}, picture], tool_call_id="c"),
        say("n", "tool", None, tool_call_id="c", is_error=True),
    ]
    parts = [message.parts[0] for message in CODEC.decode(chat).messages]
    assert parts == [
        ToolResult("c", (Text("see"), Image(data="AAAA", media_type="image/png"))),
        ToolResult("c", (), is_error=True),
    ]


def test_thinking_comes_first_and_approvals_last() -> None:
    raw = asks(
        "a",
        "c",
        blocks=[
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "redacted_thinking", "data": "blob"},
            {"type": "dreaming"},
        ],
        reasoning="so",
        approval_requests=[{"approval_id": "p", "tool_call_id": "c"}],
    )
    assert read_one(raw).parts == (
        Reasoning("hm", "sig"),
        Reasoning(opaque="blob"),
        Reasoning(opaque="type\ndreaming"),
        Reasoning("so"),
        Text(""),
        ToolCall("c", "look", "{}"),
        ApprovalRequest("p", "c"),
    )


def test_an_approval_needs_no_result_beside_it() -> None:
    raw = {"id": "p", "role": "tool", "approval_responses": [{"approval_id": "p", "approved": True}]}
    assert read_one(raw).parts == (ApprovalResponse("p", True),)


def test_unknown_parts_and_keys_are_kept_and_the_keys_are_named() -> None:
    hologram = {"type": "hologram", "payload": "x"}
    raw = say("x", content=[hologram, "bare"], mood="calm")
    decoded = CODEC.decode([raw])
    assert decoded.messages[0].parts == (Unknown(hologram), Text("bare"))
    assert decoded.uncounted == ("mood",)
    assert write_again(decoded, *decoded.messages)[0] is raw


def test_a_body_comes_back_with_its_messages_replaced() -> None:
    body = {"model": "m", "messages": [say("a"), say("b")], "note": 1}
    decoded = CODEC.decode(body)
    assert decoded.model == "m"
    assert CODEC.encode(decoded.messages[:1], decoded.originals).request == {**body, "messages": [say("a")]}


def test_nothing_is_ever_repaired() -> None:
    chat = [say("r", "tool", "found", tool_call_id="c"), say("e", content=[]), asks("a", "d")]
    decoded = CODEC.decode(chat)
    assert CODEC.adapt(decoded.messages, decoded.originals, protected=()) == Adapted(decoded.messages)
    assert CODEC.encode(decoded.messages, decoded.originals).messages == chat


def test_a_shortened_text_keeps_everything_else() -> None:
    picture = {"type": "image", "media_type": "image/png", "data": "AAAA", "alt": "a kettle"}
    chat = [
        say("u", content=[{"type": "text", "text": "long", "lang": "en"}, picture], mood="calm"),
        say("r", "tool", "long", callId="c"),
    ]
    decoded = CODEC.decode(chat)
    user, result = decoded.messages
    assert write_again(decoded, with_texts(user, {(0,): "lo"}), with_texts(result, {(0,): "lo"})) == [
        say("u", content=[{"type": "text", "text": "lo", "lang": "en"}, picture], mood="calm"),
        say("r", "tool", "lo", callId="c"),
    ]


def test_reasoning_that_was_taken_out_is_gone_and_the_rest_stays() -> None:
    raw = asks("a", "c", blocks=[{"type": "thinking", "thinking": "hm"}], reasoning="so", mood="calm")
    decoded = CODEC.decode([raw])
    message = decoded.messages[0]
    silent = replace(message, parts=tuple(part for part in message.parts if not isinstance(part, Reasoning)))
    assert write_again(decoded, silent) == [asks("a", "c", mood="calm")]


def test_names_and_call_ids_that_changed_are_written() -> None:
    decoded = CODEC.decode([say("u", mood="calm"), say("r", "tool", "found", callId="c", mood="calm")])
    user, result = decoded.messages
    renamed = replace(result, parts=(ToolResult("d", "found"),))
    assert write_again(decoded, replace(user, name="Bo"), renamed) == [
        say("u", name="Bo", mood="calm"),
        say("r", "tool", "found", tool_call_id="d", mood="calm"),
    ]


def test_messages_from_elsewhere_are_written_in_full_and_read_back_alike() -> None:
    messages = [
        Message("k", "system", (Text("[summary]"),), source="summary", pinned=True, relevance=0.5),
        Message(
            "a", "assistant", (Reasoning("hm", "sig"), ToolCall("c", "look", "{}"), ApprovalRequest("p", "c"))
        ),
        Message("ok", "tool", (ApprovalResponse("p", True),)),
        Message("r", "tool", (ToolResult("c", (Text("see"), Image(url="https://x.test/a.png"))),)),
        Message("x", "tool", (ToolResult("c", "no", is_error=True),), required=True, ephemeral=True),
        Message("u", "user", (File(name="a.pdf", data="AAAA"), Audio(data="AAAA", format="mp3")), source="input"),
    ]
    written = CODEC.encode(messages).messages
    assert list(CODEC.decode(written).messages) == messages
    assert written[0] == say("k", "system", "[summary]", kind="summary", pinned=True, relevance=0.5)


def test_notices_are_never_written() -> None:
    assert CODEC.encode([Message("n", "system", (Notice("x"), Text("hi")))]).messages == [say("n", "system")]


def test_each_result_of_a_message_from_elsewhere_gets_a_message_of_its_own() -> None:
    parts = (ToolResult("c", "a"), ToolResult("d", "b", is_error=True), Text(" "), Text("and now?"))
    written = CODEC.encode([Message("x", "user", parts), Message("x.2", "user", (Text("taken"),))]).messages
    assert written == [
        say("x", "tool", "a", tool_call_id="c"),
        say("x.3", "tool", "b", tool_call_id="d", is_error=True),
        say("x.4", "user", [{"type": "text", "text": " "}, {"type": "text", "text": "and now?"}]),
        say("x.2", "user", "taken"),
    ]


def test_what_a_provider_compacted_leaves_and_is_named() -> None:
    message = Message("x", "assistant", (Compaction("p", "blob"), Text("hi")))
    adapted = CODEC.adapt([message], None, protected=("x",))
    assert adapted.messages == (Message("x", "assistant", (Text("hi"),)),)
    assert [repair.ids for repair in adapted.repairs] == [("x",)]
    assert CODEC.adapt(adapted.messages, None, protected=()) == Adapted(adapted.messages)


@pytest.mark.parametrize("raw", [{"type": "image", "source": {}}, {"type": "text"}, ["x"], "x"])
def test_an_unknown_part_is_unknown_again_when_it_is_read(raw: object) -> None:
    (written,) = CODEC.encode([Message("x", "user", (Unknown(raw),))]).messages
    part = CODEC.decode([written]).messages[0].parts[0]
    assert part == Unknown({"type": "unknown", "raw": raw})


def test_originals_of_another_codec_count_as_none() -> None:
    decoded = ChatCompletions().decode([{"role": "user", "content": "hi"}])
    assert CODEC.encode(decoded.messages, decoded.originals).messages == [say("m0")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ("hi", "messages[0]"),
        ({"role": "user", "content": "hi"}, "messages[0].id"),
        (say(""), "messages[0].id"),
        ({**say("x"), "id": 7}, "messages[0].id"),
        ({"id": "x", "content": "hi"}, "messages[0].role"),
        (say("x", "function"), "messages[0].role"),
        (say("x", content=4), "messages[0].content"),
        (say("x", content=[{"type": "image"}]), "messages[0].content[0].data"),
        (say("x", kind=4), "messages[0].kind"),
        (say("x", required="yes"), "messages[0].required"),
        (say("x", pinned=1), "messages[0].pinned"),
        (say("x", relevance=1.5), "messages[0].relevance"),
        (say("x", relevance=True), "messages[0].relevance"),
        (say("x", name=4), "messages[0].name"),
        (say("x", "tool"), "messages[0].tool_call_id"),
        (say("x", "tool", toolCallId=4), "messages[0].toolCallId"),
        (asks("x", "c", arguments=[1]), "messages[0].tool_calls[0].arguments"),
        (say("x", tool_calls=[{"id": "c", "name": "look"}]), "messages[0].tool_calls"),
        (say("x", "assistant", tool_calls=[{"id": "c", "function": {}}]), "messages[0].tool_calls[0].name"),
        (say("x", blocks=[4]), "messages[0].blocks[0]"),
        (say("x", approval_requests=[{"approval_id": "p"}]), "messages[0].approval_requests[0].tool_call_id"),
        (say("x", approval_responses=[{"approved": True}]), "messages[0].approval_responses[0].approval_id"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(wire: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode([wire])
    assert caught.value.path == path


def test_a_doubled_id_is_refused_naming_both_places() -> None:
    with pytest.raises(InvalidRequestError, match=r"messages\[0\] and messages\[2\]") as caught:
        CODEC.decode([say("x"), say("y"), say("x")])
    assert (caught.value.path, caught.value.ids) == ("messages[2].id", ("x",))


TEXTS = st.sampled_from(["", "  ", "ok", "a longer text", "é🙂"])
PARTS = st.one_of(
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    st.just({"type": "image", "media_type": "image/png", "data": "AAAA"}),
    st.just({"type": "hologram", "payload": ["x"]}),
)
CONTENTS = st.one_of(TEXTS, st.none(), st.lists(PARTS, max_size=3))
EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["persona", "memory", "attachment"]),
        "pinned": st.booleans(),
        "mood": TEXTS,
        "reasoning": TEXTS,
    },
)
MESSAGES = st.one_of(
    st.builds(
        lambda role, content, extras: say("", role, content, **extras),
        st.sampled_from(["system", "user", "assistant"]),
        CONTENTS,
        EXTRAS,
    ),
    st.builds(lambda names, extras: asks("", *names, **extras), st.lists(TEXTS, min_size=1, max_size=2), EXTRAS),
    st.builds(lambda content: say("", "tool", content, tool_call_id="c"), CONTENTS),
)
CHATS = st.lists(MESSAGES, max_size=10).map(
    lambda chat: [{**message, "id": f"x{at}"} for at, message in enumerate(chat)]
)


@UNTIMED
@given(CHATS)
def test_untouched_messages_come_back_as_the_very_objects(chat: list[Wire]) -> None:
    before = copy.deepcopy(chat)
    decoded = CODEC.decode(chat)
    out = write_again(decoded, *decoded.messages)
    assert all(wire is raw for wire, raw in zip(out, chat, strict=True))
    assert chat == before


@UNTIMED
@given(CHATS)
def test_writing_from_scratch_and_reading_again_gives_the_same_messages(chat: list[Wire]) -> None:
    messages = CODEC.decode(chat).messages
    again = CODEC.decode(CODEC.encode(messages).messages).messages
    assert [_without_blanks(message) for message in again] == [_without_blanks(message) for message in messages]


def _without_blanks(message: Message) -> Message:
    """An absent content and an empty one are written alike."""
    return replace(message, parts=tuple(part for part in message.parts if part != Text("")))


@UNTIMED
@given(CHATS, st.data())
def test_a_shortened_text_is_what_a_reader_finds_there(chat: list[Wire], data: st.DataObject) -> None:
    again, changed = read_after_shortening(CODEC, chat, data)
    assert again == changed


KEYS = st.sampled_from(
    ["id", "role", "content", "type", "tool_calls", "name", "messages", "kind", "blocks", "meta"]
)
WORDS = st.sampled_from(["user", "assistant", "tool", "text", "image", "thinking", "x", ""])
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 2), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=24,
)


@UNTIMED
@given(JSON)
def test_any_json_is_read_or_refused_and_never_changed(data: Any) -> None:
    check_read_or_refused(CODEC, data)
