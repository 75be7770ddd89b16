from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec_properties import check_read_or_refused, read_after_shortening
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_sdk import (
    Adapted,
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
    Repair,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    labelled,
    texts_of,
    with_texts,
)

UNTIMED = settings(deadline=None)
CODEC = ChatCompletions()
Wire = dict[str, Any]


def say(role: str, content: object, **keys: object) -> Wire:
    return {"role": role, "content": content, **keys}


def call(call_id: str, arguments: object = "{}", **keys: object) -> Wire:
    return {"id": call_id, "type": "function", "function": {"name": "look", "arguments": arguments}, **keys}


def asks(*calls: Wire, content: object = None, **keys: object) -> Wire:
    return say("assistant", content, tool_calls=list(calls), **keys)


def answers(call_id: str, content: object = "found") -> Wire:
    return say("tool", content, tool_call_id=call_id)


def read_one(wire: Wire) -> Message:
    return CODEC.decode([wire]).messages[0]


def write_again(decoded: Decoded, messages: tuple[Message, ...] | None = None) -> list[Any]:
    return CODEC.encode(decoded.messages if messages is None else messages, decoded.originals).messages


def repairs_of(decoded: Decoded) -> tuple[Repair, ...]:
    every = {message.id for message in decoded.messages}
    return CODEC.adapt(decoded.messages, decoded.originals, protected=every).repairs


def fault_of(data: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    return caught.value


TWO_TEXTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "[image left out]"}]


def test_ids_are_own_ids_where_free_and_positions_elsewhere() -> None:
    chat = [
        say("user", "a"),
        say("user", "b", id="m0"),
        say("user", "c", id="m0"),
        say("user", "d", id=""),
        say("user", "e", id=7),
    ]
    assert [message.id for message in CODEC.decode(chat).messages] == ["m0-2", "m0", "m2", "m3", "m4"]


def test_sources_tell_system_history_and_the_trailing_input() -> None:
    chat = [say("developer", "s"), say("user", "a"), say("assistant", "b"), say("user", "c"), say("user", ["d"])]
    assert [message.source for message in CODEC.decode(chat).messages] == [
        "system",
        "history",
        "history",
        "input",
        "input",
    ]


def test_a_message_that_is_not_trailing_is_never_input() -> None:
    chat = [say("user", "a"), asks(call("c")), answers("c")]
    assert {message.source for message in CODEC.decode(chat).messages} == {"history"}


def test_every_kind_of_part_is_read() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
    paper = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}
    strange = {"type": "hologram", "payload": {"text": "hi"}}
    message = read_one(
        say(
            "user",
            [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": "data:image/png;base64,AAAA"},
                sound,
                paper,
                {"type": "file", "file": {"file_id": "file-1"}},
                strange,
            ],
        )
    )
    assert message.parts == (
        Text("look"),
        Image(url="https://x.test/a.png", detail="low"),
        Image(url="data:image/png;base64,AAAA"),
        Audio(data="AAAA", format="mp3"),
        File(name="a.pdf", media_type="application/pdf", data="AAAA"),
        File(file_id="file-1"),
        Unknown(strange),
    )


def test_an_answer_is_read_in_the_order_reasoning_content_refusal_calls() -> None:
    message = read_one(asks(call("c", "{broken"), content="hm", refusal="no", reasoning_content="think"))
    assert message.parts == (Reasoning("think"), Text("hm"), Text("no"), ToolCall("c", "look", "{broken"))


def test_a_spoken_answer_is_read_by_its_id() -> None:
    assert read_one({"role": "assistant", "audio": {"id": "audio_1"}}).parts == (Audio(audio_id="audio_1"),)


def test_reasoning_that_stands_in_two_keys_is_read_once() -> None:
    details = [
        {"type": "reasoning.text", "text": "think", "signature": "sig"},
        {"type": "reasoning.encrypted", "data": "blob"},
        {"type": "reasoning.odd", "payload": ["x"]},
    ]
    message = read_one(say("assistant", "a", reasoning="think", reasoning_details=details))
    assert message.parts[:2] == (Reasoning("think", "sig"), Reasoning(opaque="blob"))
    assert isinstance(message.parts[2], Reasoning)
    assert "reasoning.odd" in message.parts[2].opaque
    assert message.parts[3:] == (Text("a"),)


def test_custom_calls_and_retired_function_calls_are_calls() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    chat = [
        asks(custom),
        answers("c1"),
        say("assistant", None, function_call={"name": "look", "arguments": "{}"}),
        say("function", "found", name="look"),
    ]
    decoded = CODEC.decode(chat)
    asked, _, retired, found = decoded.messages
    assert asked.parts == (ToolCall("c1", "sql", "select 1"),)
    assert retired.parts == (ToolCall("function:look", "look", "{}"),)
    assert (found.role, found.parts) == ("tool", (ToolResult("function:look", "found"),))
    assert CODEC.adapt(decoded.messages, decoded.originals, protected=()).messages == decoded.messages


def test_meta_is_handed_on_and_unknown_keys_are_named_once() -> None:
    chat = [
        say("user", "a", id="x", meta={"manualExcluded": True}, mood="calm"),
        say("user", "b", mood="calm", color="red", name="Ilse", cache_control={"type": "ephemeral"}),
    ]
    decoded = CODEC.decode(chat)
    assert decoded.messages[0].meta == {"manualExcluded": True}
    assert decoded.messages[1].name == "Ilse"
    assert decoded.uncounted == ("color", "mood")


def test_a_body_gives_what_it_says_about_the_request() -> None:
    body = {
        "model": "gpt-4o",
        "messages": [say("user", "hi")],
        "tools": [{"type": "function", "function": {"name": "look"}}],
        "functions": [{"name": "old"}],
        "response_format": {"type": "json_object"},
        "max_completion_tokens": 9,
        "max_tokens": 5,
    }
    decoded = CODEC.decode(body)
    assert decoded.model == "gpt-4o"
    assert decoded.tools == (body["tools"][0], {"type": "function", "function": {"name": "old"}})  # type: ignore[index]
    assert decoded.response_format == {"type": "json_object"}
    assert decoded.max_output_tokens == 9


def test_a_bare_list_says_nothing_about_the_request() -> None:
    decoded = CODEC.decode([say("user", "hi")])
    assert (decoded.tools, decoded.response_format, decoded.max_output_tokens, decoded.model) == (None,) * 4
    assert CODEC.encode(decoded.messages, decoded.originals).request is None


def test_a_body_comes_back_with_its_messages_replaced_and_its_keys_in_order() -> None:
    body = {"temperature": 0, "messages": [say("user", "a"), say("user", "b")], "model": "m", "top": 1}
    before = copy.deepcopy(body)
    decoded = CODEC.decode(body)
    encoded = CODEC.encode(decoded.messages[1:], decoded.originals)
    assert encoded.request == {"temperature": 0, "messages": [say("user", "b")], "model": "m", "top": 1}
    assert list(encoded.request or ()) == list(body)
    assert body == before


def test_flags_and_source_of_the_host_do_not_change_what_goes_out() -> None:
    chat = [say("user", "a")]
    decoded = CODEC.decode(chat)
    flagged = replace(decoded.messages[0], pinned=True, source="persona", meta={"x": 1})
    assert write_again(decoded, (flagged,))[0] is chat[0]


def test_a_shortened_text_keeps_the_other_keys_of_its_part_and_message() -> None:
    cached = {"type": "text", "text": "long text", "cache_control": {"type": "ephemeral"}}
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}, "extra": 1}
    decoded = CODEC.decode([say("user", [cached, picture], mood="calm")])
    changed = with_texts(decoded.messages[0], {(0,): "lo[…]"})
    assert write_again(decoded, (changed,)) == [say("user", [{**cached, "text": "lo[…]"}, picture], mood="calm")]


def test_a_text_put_in_front_of_a_message_makes_its_content_a_list() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}, "extra": 1}
    decoded = CODEC.decode([say("user", "hi", mood="calm"), say("user", [picture])])
    changed = tuple(replace(message, parts=(Text("note"), *message.parts)) for message in decoded.messages)
    note = {"type": "text", "text": "note"}
    assert write_again(decoded, changed) == [
        say("user", [note, {"type": "text", "text": "hi"}], mood="calm"),
        say("user", [note, picture]),
    ]


def test_a_shortened_result_keeps_its_shape() -> None:
    chat = [asks(call("c"), call("d")), answers("c", "long"), answers("d", [{"type": "text", "text": "long"}])]
    decoded = CODEC.decode(chat)
    asked, plain, listed = decoded.messages
    changed = (asked, with_texts(plain, {(0,): "lo"}), with_texts(listed, {(0, 0): "lo"}))
    assert write_again(decoded, changed)[1:] == [
        answers("c", "lo"),
        answers("d", [{"type": "text", "text": "lo"}]),
    ]


def test_a_result_that_answers_another_call_says_so() -> None:
    decoded = CODEC.decode([asks(call("c")), answers("c")])
    renamed = replace(decoded.messages[1], parts=(ToolResult("d", "found"),))
    assert write_again(decoded, (renamed,)) == [answers("d")]


def test_a_shortened_refusal_stays_a_refusal() -> None:
    decoded = CODEC.decode([say("assistant", "hm", refusal="never ever")])
    changed = with_texts(decoded.messages[0], {(1,): "never"})
    assert write_again(decoded, (changed,)) == [say("assistant", "hm", refusal="never")]


def test_reasoning_and_a_call_that_were_taken_out_are_gone_from_the_wire() -> None:
    decoded = CODEC.decode([asks(call("c"), call("d", extra_content={"a": 1}), content="hm", reasoning="think")])
    message = decoded.messages[0]
    without = replace(message, parts=(message.parts[1], message.parts[3]))
    assert write_again(decoded, (without,)) == [asks(call("d", extra_content={"a": 1}), content="hm")]
    silent = replace(message, parts=(message.parts[1],))
    assert write_again(decoded, (silent,)) == [say("assistant", "hm")]


def test_names_and_roles_that_changed_are_written() -> None:
    decoded = CODEC.decode([say("system", "a", name="Ilse"), say("user", "b")])
    first, second = decoded.messages
    changed = (replace(first, role="developer", name=None), replace(second, name="Bo"))
    assert write_again(decoded, changed) == [say("developer", "a"), say("user", "b", name="Bo")]


def test_messages_from_elsewhere_are_written_from_scratch() -> None:
    written = CODEC.encode(
        [
            Message("s", "developer", (Text("be brief"),)),
            Message("k", "system", (Text("[summary]"),), source="summary"),
            Message("u", "user", (Text("look"), Image(data="AAAA", media_type="image/jpeg")), name="Bo"),
            Message("a", "assistant", (Reasoning("hm", "sig"), ToolCall("c", "look", "{}"), Notice("n"))),
            Message("r", "tool", (ToolResult("c", (Text("one"), Text("two"))),)),
            Message("e", "assistant", (Reasoning("hm"),)),
        ]
    )
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}
    assert written.request is None
    assert written.messages == [
        say("developer", "be brief"),
        say("system", "[summary]"),
        say("user", [{"type": "text", "text": "look"}, picture], name="Bo"),
        asks(call("c")),
        answers("c", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        say("assistant", ""),
    ]


def test_files_and_sounds_from_elsewhere_are_written_where_the_wire_has_a_place() -> None:
    parts = (
        File(name="a.pdf", media_type="application/pdf", data="AAAA"),
        File(file_id="file-1"),
        File(text="plain words"),
        Audio(data="AAAA", format="mp3"),
        Unknown({"type": "hologram"}),
    )
    spoken = Message("a", "assistant", (Audio(audio_id="audio_1"),))
    user, assistant = CODEC.encode([Message("u", "user", parts), spoken]).messages
    assert user == say(
        "user",
        [
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
            {"type": "file", "file": {"file_id": "file-1"}},
            {"type": "text", "text": "plain words"},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
            {"type": "hologram"},
        ],
    )
    assert assistant == say("assistant", "", audio={"id": "audio_1"})


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (Message("x", "tool", (ToolResult("c", (Text("a"), Image(data="AAAA"))),)), [answers("c", TWO_TEXTS)]),
        (Message("x", "tool", (ToolResult("c", ()),)), [answers("c", "")]),
        (
            Message("x", "tool", (ToolResult("c", "a"), ToolResult("d", "b"))),
            [answers("c", "a"), answers("d", "b")],
        ),
        (Message("x", "tool", (ToolResult("c", "a"), Text("hm"))), [answers("c", "a"), say("user", "hm")]),
        (Message("x", "user", (ToolResult("c", "a"), Text("hm"))), [answers("c", "a"), say("user", "hm")]),
        (Message("x", "user", (ToolResult("c", "a"), Text(""))), [answers("c", "a")]),
        (Message("x", "user", (ToolCall("c", "look", "{}"), Text("hm"))), [asks(call("c")), say("user", "hm")]),
        (Message("x", "user", (File(url="https://x.test/a.pdf"),)), [say("user", "[file left out]")]),
        (Message("x", "user", (File(name="a.pdf"),)), [say("user", "[file a.pdf left out]")]),
        (Message("x", "user", (Audio(audio_id="audio_1"),)), [say("user", "[audio left out]")]),
        (Message("x", "tool"), []),
        (Message("x", "tool", (ApprovalResponse("p", True),)), []),
    ],
    ids=lambda value: f"{value.role}-{len(value.parts)}" if isinstance(value, Message) else "",
)
def test_whatever_another_codec_reads_can_be_written(message: Message, written: list[Wire]) -> None:
    assert CODEC.encode([message]).messages == written


def test_results_in_one_message_go_behind_their_calls_and_words_behind_them() -> None:
    messages = [
        Message("a", "assistant", (ToolCall("c", "look", "{}"),)),
        Message("b", "assistant", (ToolCall("d", "look", "{}"),)),
        Message("r", "user", (Text("here"), ToolResult("d", "two"), ToolResult("c", "one"))),
    ]
    adapted = CODEC.adapt(messages, None, protected=())
    assert (adapted.left_out, adapted.repairs) == ({}, ())
    assert CODEC.encode(adapted.messages).messages == [
        asks(call("c"), call("d")),
        answers("d", "two"),
        answers("c", "one"),
        say("user", "here"),
    ]


def test_an_answer_that_another_wire_split_into_items_is_one_message() -> None:
    messages = [
        Message("t", "assistant", (Text("first"),)),
        Message("a", "assistant", (Text("let me see"),)),
        Message("b", "assistant", (ToolCall("c", "look", "{}"),)),
        Message("d", "assistant", (ToolCall("d", "look", "{}"),)),
        Message("q", "tool", (ToolResult("d", "two"),)),
        Message("r", "tool", (ToolResult("c", "one"),)),
        Message("e", "assistant", (Text("so"),)),
    ]
    assert CODEC.adapt(messages, None, protected=()) == Adapted(tuple(messages))
    assert CODEC.encode(messages).messages == [
        say("assistant", "first"),
        asks(call("c"), call("d"), content="let me see"),
        answers("d", "two"),
        answers("c", "one"),
        say("assistant", "so"),
    ]


def test_answers_that_this_codec_read_are_never_joined() -> None:
    chat = [say("assistant", "a"), asks(call("c")), answers("c"), say("assistant", "b")]
    decoded = CODEC.decode(chat)
    assert write_again(decoded) == chat


def test_a_call_and_its_result_in_one_answer_become_three_messages() -> None:
    parts = (Text("let me see"), ToolCall("s", "search", "{}"), ToolResult("s", "found"), Text("there it is"))
    assert CODEC.encode([Message("x", "assistant", parts)]).messages == [
        asks(
            {"id": "s", "type": "function", "function": {"name": "search", "arguments": "{}"}},
            content="let me see",
        ),
        answers("s", "found"),
        say("assistant", "there it is"),
    ]


def test_originals_of_another_codec_count_as_none() -> None:
    message = Message("u", "user", (Text("hi"), Compaction("p", "blob")))
    assert CODEC.encode([message], originals=object()).messages == [say("user", "hi")]


@pytest.mark.parametrize(
    ("raw", "wire", "sentence"),
    [
        (asks(call("k", {"sku": 1, "name": "é"})), asks(call("k", '{"sku":1,"name":"é"}')), "arguments of call k"),
        (asks(call("k", None)), asks(call("k", "{}")), "arguments of call k"),
        (
            asks({"id": "k", "function": {"name": "look", "arguments": "{}"}}),
            asks(call("k")),
            "type function",
        ),
        (say("assistant", "a", tool_calls=[]), say("assistant", "a"), "empty tool_calls"),
        (say("assistant", "a", tool_calls=None), say("assistant", "a"), "empty tool_calls"),
        (
            say("user", ["a", {"type": "text", "text": "b"}]),
            say("user", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
            "bare texts",
        ),
        (asks(call("k"), content=[]), asks(call("k")), "as null"),
        (
            say("assistant", None, reasoning_content="hm"),
            say("assistant", "", reasoning_content="hm"),
            "reasoning alone",
        ),
        (
            say("assistant", None, function_call={"name": "look", "arguments": {}}),
            say("assistant", None, function_call={"name": "look", "arguments": "{}"}),
            "function_call",
        ),
    ],
)
def test_a_shape_the_wire_refuses_is_mended_on_a_copy(raw: Wire, wire: Wire, sentence: str) -> None:
    before = copy.deepcopy(raw)
    decoded = CODEC.decode([raw])
    assert write_again(decoded) == [wire]
    assert raw == before
    (repair,) = repairs_of(decoded)
    assert repair.ids == ("m0",)
    assert sentence in repair.text


@pytest.mark.parametrize("key", ["toolCallId", "callId", "call_id"])
def test_other_spellings_of_the_call_id_are_renamed_and_named(key: str) -> None:
    decoded = CODEC.decode([asks(call("c")), say("tool", "found", **{key: "c"})])
    assert write_again(decoded)[1] == answers("c")
    assert repairs_of(decoded) == (Repair(("m1",), f"renamed {key} to tool_call_id"),)
    assert decoded.uncounted == ()


@pytest.mark.parametrize("content", [None, []])
def test_a_result_without_content_goes_out_with_an_empty_text(content: object) -> None:
    decoded = CODEC.decode([asks(call("c")), answers("c", content)])
    assert write_again(decoded)[1] == answers("c", "")
    assert [repair.ids for repair in repairs_of(decoded)] == [("m1",)]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("hi", ""),
        ({"model": "m"}, "messages"),
        ({"messages": {}}, "messages"),
        ({"messages": [], "tools": {}}, "tools"),
        ({"messages": [], "functions": "f"}, "functions"),
        ({"messages": [], "model": 4}, "model"),
        ({"messages": [], "response_format": "json"}, "response_format"),
        ({"messages": [], "max_tokens": 0}, "max_tokens"),
        ({"messages": [], "max_completion_tokens": True}, "max_completion_tokens"),
        (["hi"], "messages[0]"),
        ([{"content": "hi"}], "messages[0].role"),
        ([say("model", "hi")], "messages[0].role"),
        ([say("user", 4)], "messages[0].content"),
        ([say("user", {"text": "hi"})], "messages[0].content"),
        ([say("user", [4])], "messages[0].content[0]"),
        ([say("user", [{"type": "text"}])], "messages[0].content[0].text"),
        ([say("user", [{"type": "image_url"}])], "messages[0].content[0].image_url"),
        ([say("user", [{"type": "image_url", "image_url": {}}])], "messages[0].content[0].image_url.url"),
        ([say("user", [{"type": "input_audio", "input_audio": 1}])], "messages[0].content[0].input_audio"),
        ([say("user", [{"type": "file"}])], "messages[0].content[0].file"),
        ([say("user", "hi", name=1)], "messages[0].name"),
        ([say("user", "hi", tool_calls=[call("c")])], "messages[0].tool_calls"),
        ([say("assistant", "a", tool_calls={})], "messages[0].tool_calls"),
        ([say("assistant", "a", tool_calls=["c"])], "messages[0].tool_calls[0]"),
        ([asks({"id": "c"})], "messages[0].tool_calls[0].function"),
        ([asks({"id": "c", "name": "look"})], "messages[0].tool_calls[0].function"),
        ([asks({"type": "function", "function": {"name": "f"}})], "messages[0].tool_calls[0].id"),
        ([asks({"id": "c", "function": {}})], "messages[0].tool_calls[0].function.name"),
        ([asks({"id": "c", "type": "odd", "function": {}})], "messages[0].tool_calls[0].type"),
        ([say("assistant", "a", refusal=1)], "messages[0].refusal"),
        ([say("assistant", "a", reasoning=1)], "messages[0].reasoning"),
        ([say("assistant", "a", reasoning_details=["x"])], "messages[0].reasoning_details[0]"),
        ([say("assistant", "a", audio={})], "messages[0].audio.id"),
        ([answers(7)], "messages[0].tool_call_id"),  # type: ignore[arg-type]
        ([say("function", "a")], "messages[0].name"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(data: object, path: str) -> None:
    error = fault_of(data)
    assert error.path == path
    assert " must be " in str(error)


def test_an_error_never_shows_content() -> None:
    assert "secret" not in str(fault_of([say("secret role", "secret")]))


TEXTS = st.sampled_from(["", "  ", "ok", "a longer text", "é🙂", "<|endoftext|>"])
IDS = st.sampled_from(["a", "b", "c"])
PARTS = st.one_of(
    TEXTS.map(lambda text: {"type": "text", "text": text}),
    TEXTS.map(lambda text: {"type": "text", "text": text, "cache_control": {}}),
    st.just({"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}),
    st.just({"type": "hologram", "payload": ["x"]}),
)
CONTENTS = st.one_of(TEXTS, st.none(), st.lists(PARTS, max_size=3))
EXTRAS = st.fixed_dictionaries({}, optional={"name": TEXTS, "mood": TEXTS, "refusal": TEXTS, "reasoning": TEXTS})
MESSAGES = st.one_of(
    st.builds(say, st.sampled_from(["system", "developer", "user", "assistant"]), CONTENTS),
    st.builds(lambda content, extras: say("assistant", content, **extras), CONTENTS, EXTRAS),
    st.builds(
        lambda content, ids, extras: asks(*(call(one) for one in ids), content=content, **extras),
        CONTENTS,
        st.lists(IDS, min_size=1, max_size=3),
        EXTRAS,
    ),
    st.builds(answers, IDS, CONTENTS),
)
CHATS = st.lists(MESSAGES, max_size=12)


@UNTIMED
@given(CHATS)
def test_what_needs_no_repair_comes_back_as_the_very_object(chat: list[Wire]) -> None:
    before = copy.deepcopy(chat)
    decoded = CODEC.decode(chat)
    mended = {name for repair in repairs_of(decoded) if "behind" not in repair.text for name in repair.ids}
    for message, raw, wire in zip(decoded.messages, chat, write_again(decoded), strict=True):
        assert (wire is raw) == (message.id not in mended)
    assert chat == before


@UNTIMED
@given(CHATS, st.data())
def test_a_shortened_text_is_what_a_reader_finds_there(chat: list[Wire], data: st.DataObject) -> None:
    again, changed = read_after_shortening(CODEC, chat, data)
    assert [message.parts for message in again] == [message.parts for message in changed]


@UNTIMED
@given(CHATS)
def test_writing_from_scratch_keeps_every_text_and_call(chat: list[Wire]) -> None:
    decoded = CODEC.decode(chat)
    plain = [message for message in decoded.messages if message.role != "tool" or _is_text_only(message)]
    again = CODEC.decode(CODEC.encode(plain).messages)
    assert _words(again.messages) == _words(plain)


def _is_text_only(message: Message) -> bool:
    return all(
        isinstance(part, ToolResult)
        and (isinstance(part.content, str) or all(isinstance(inner, Text) for inner in part.content))
        for part in message.parts
    )


def _words(messages: Sequence[Message]) -> tuple[list[str], list[ToolCall]]:
    texts = [text for message in messages for _, text in texts_of(message) if text]
    return texts, [part for message in messages for part in message.parts if isinstance(part, ToolCall)]


KEYS = st.sampled_from(
    ["role", "content", "type", "text", "tool_calls", "id", "function", "name", "arguments", "messages", "kind"]
)
WORDS = st.sampled_from(["user", "assistant", "tool", "text", "image_url", "function", "x", ""])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), WORDS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=24,
)


@UNTIMED
@given(JSON)
def test_any_json_is_read_or_refused_and_never_changed(data: Any) -> None:
    check_read_or_refused(CODEC, data)


def test_a_labelled_summary_is_known_again_and_no_system_text() -> None:
    summary = labelled("Crates were weighed.", plugin="summarize", summary=True)
    read = ChatCompletions().decode(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": summary},
            {"role": "system", "content": [{"type": "text", "text": labelled("x", plugin="tap", summary=False)}]},
            {"role": "user", "content": summary},
        ]
    )
    assert [message.source for message in read.messages] == ["system", "summary", "plugin", "input"]
