from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codec_properties import read_after_shortening
from responses_judge import FILES, body_in, order_faults, type_faults
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    Decoded,
    File,
    Image,
    InvalidRequestError,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    link_groups,
    protection_reasons,
    with_texts,
)

UNTIMED = settings(deadline=None)
CODEC = OpenAIResponses()
Wire = dict[str, Any]
EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def say(role: str, content: object, **keys: object) -> Wire:
    return {"role": role, "content": content, **keys}


def call(call_id: str, arguments: object = "{}", **keys: object) -> Wire:
    return {"type": "function_call", "call_id": call_id, "name": "look", "arguments": arguments, **keys}


def output(call_id: str, value: object = "found", **keys: object) -> Wire:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **keys}


def read_one(item: Wire) -> Message:
    return CODEC.decode([item]).messages[0]


def write_again(decoded: Decoded, messages: tuple[Message, ...] | None = None) -> list[Any]:
    return CODEC.encode(decoded.messages if messages is None else messages, decoded.originals).messages


def fault_of(data: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    return caught.value


def shortened(item: Wire, path: tuple[int, ...], text: str) -> Wire:
    """The item after the text at a path of its message was replaced."""
    decoded = CODEC.decode([item])
    (written,) = write_again(decoded, (with_texts(decoded.messages[0], {path: text}),))
    assert isinstance(written, dict)
    return written


@EVERY_FILE
def test_a_body_is_valid_and_comes_back_equal_with_its_very_items(path: Path) -> None:
    body = body_in(path)
    assert type_faults(body) == []
    decoded = CODEC.decode(body)
    encoded = CODEC.encode(decoded.messages, decoded.originals)
    assert encoded.request == body == body_in(path)
    assert encoded.request is not None
    assert list(encoded.request) == list(body)
    if isinstance(body["input"], list):
        assert all(one is other for one, other in zip(encoded.messages, body["input"], strict=True))


@EVERY_FILE
def test_what_a_server_takes_needs_no_repair_and_hides_no_key(path: Path) -> None:
    decoded = CODEC.decode(body_in(path))
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert (adapted.messages, adapted.left_out, adapted.repairs) == (decoded.messages, {}, ())
    assert decoded.uncounted == ()


def test_the_judge_sees_a_key_nobody_knows_and_a_result_without_its_call() -> None:
    assert type_faults({"model": "m", "input": [say("user", "a", mood="calm")]}) != []
    assert type_faults({"model": "m", "input": [say("user", "a")], "tools": [{"type": "function"}]}) != []
    assert order_faults([output("c"), call("d"), {"type": "reasoning", "id": "r"}, say("user", "a")]) != []


def test_instructions_are_a_system_message_in_front_without_an_index() -> None:
    decoded = CODEC.decode({"instructions": "be brief", "input": [say("user", "hi")]})
    assert [message.id for message in decoded.messages] == ["instructions", "m0"]
    assert decoded.messages[0] == Message("instructions", "system", (Text("be brief"),), source="system")
    assert decoded.leading == 1


@pytest.mark.parametrize(
    "body", [{"input": []}, {"input": [], "instructions": None}, {"input": [], "instructions": ""}]
)
def test_no_instructions_make_no_message(body: Wire) -> None:
    decoded = CODEC.decode(body)
    assert (decoded.messages, decoded.leading) == ((), 0)
    assert CODEC.encode((), decoded.originals).request == body


def test_an_item_called_instructions_keeps_its_name() -> None:
    decoded = CODEC.decode({"instructions": "s", "input": [say("user", "a", id="instructions")]})
    assert [message.id for message in decoded.messages] == ["instructions-2", "instructions"]


def test_a_plain_text_is_one_user_message_and_comes_back_as_a_text() -> None:
    body = {"model": "m", "input": "hi"}
    decoded = CODEC.decode(body)
    assert [(message.id, message.role, message.source) for message in decoded.messages] == [
        ("m0", "user", "input")
    ]
    assert CODEC.encode(decoded.messages, decoded.originals).request == body
    short = with_texts(decoded.messages[0], {(0,): "h"})
    assert CODEC.encode((short,), decoded.originals).request == {"model": "m", "input": "h"}


def test_a_plain_text_that_gets_company_becomes_an_item() -> None:
    decoded = CODEC.decode({"input": "hi"})
    insert = Message("p:1", "system", (Text("note"),), source="plugin")
    request = CODEC.encode((insert, *decoded.messages), decoded.originals).request
    assert request == {
        "input": [
            {"type": "message", "role": "system", "content": "note"},
            {"type": "message", "role": "user", "content": "hi"},
        ]
    }


def test_ids_are_own_ids_where_free_and_positions_elsewhere() -> None:
    items = [say("user", "a"), call("c", id="fc_1"), output("c", id="fc_1"), say("user", "b", id=7)]
    assert [message.id for message in CODEC.decode(items).messages] == ["m0", "fc_1", "m2", "m3"]


def test_sources_tell_system_history_and_the_trailing_input() -> None:
    items = [say("developer", "s"), say("user", "a"), call("c"), output("c"), say("user", "b"), say("user", "d")]
    sources = [message.source for message in CODEC.decode(items).messages]
    assert sources == ["system", "history", "history", "history", "input", "input"]


def test_every_kind_of_part_is_read() -> None:
    held = {"type": "input_image", "detail": "auto", "file_id": "file-1"}
    strange = {"type": "hologram", "payload": {"text": "hi"}}
    message = read_one(
        say(
            "user",
            [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "detail": "low", "image_url": "https://x.test/a.png"},
                held,
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
                {"type": "input_file", "file_url": "https://x.test/a.pdf", "file_id": None},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
                strange,
            ],
        )
    )
    assert message.parts == (
        Text("look"),
        Image(url="https://x.test/a.png", detail="low"),
        Unknown(held),
        File(name="a.pdf", media_type="application/pdf", data="AAAA"),
        File(url="https://x.test/a.pdf"),
        Audio(data="AAAA", format="mp3"),
        Unknown(strange),
    )


def test_answers_and_refusals_are_texts() -> None:
    content = [{"type": "output_text", "text": "a", "annotations": []}, {"type": "refusal", "refusal": "no"}]
    assert read_one(say("assistant", content)).parts == (Text("a"), Text("no"))
    assert read_one(say("assistant", "b", phase="commentary")).parts == (Text("b"),)


def test_reasoning_holds_its_texts_and_what_is_encrypted() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "a"}],
        "content": [{"type": "reasoning_text", "text": "b"}],
        "encrypted_content": "sealed",
    }
    message = read_one(item)
    assert (message.role, message.parts) == ("assistant", (Reasoning("a\nb", "sealed"),))


def test_a_compaction_is_the_providers() -> None:
    message = read_one({"type": "compaction", "encrypted_content": "sealed"})
    assert (message.role, message.parts) == ("assistant", (Compaction("openai", "sealed"),))


def test_calls_and_results_of_every_kind_find_each_other() -> None:
    decoded = CODEC.decode(body_in(next(path for path in FILES if path.stem == "hosted")))
    groups = {group.ids for group in link_groups(decoded.messages) if len(group.ids) > 1}
    assert groups == {
        ("mcpr_publish", "mcprr_publish"),
        ("sh_1", "m10"),
        ("apc_1", "m12"),
        ("lsh_1", "call_local"),
        ("cu_1", "m16"),
        ("cu_2", "m18"),
        ("ctc_1", "m22"),
        ("m23", "m24"),
        ("ts_1", "tso_1"),
        ("prog_1", "progo_1"),
        ("fc_prog1", "m31"),
    }


@pytest.mark.parametrize(
    ("item", "part"),
    [
        (call("c", "{broken"), ToolCall("c", "look", "{broken")),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "select 1"},
            ToolCall("c", "sql", "select 1"),
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            ToolCall("c", "shell", '{"commands":["ls"]}'),
        ),
        (
            {"type": "computer_call", "call_id": "c", "actions": [{"type": "wait"}]},
            ToolCall("c", "computer", '[{"type":"wait"}]'),
        ),
        ({"type": "apply_patch_call", "call_id": "c"}, ToolCall("c", "apply_patch", "{}")),
        ({"type": "program", "call_id": "c", "code": "return 1"}, ToolCall("c", "program", "return 1")),
    ],
)
def test_calls_are_read_with_what_they_ask_for(item: Wire, part: ToolCall) -> None:
    message = read_one(item)
    assert (message.role, message.parts) == ("assistant", (part,))


@pytest.mark.parametrize(
    ("item", "content"),
    [
        (output("c", "found"), "found"),
        (output("c", [{"type": "input_text", "text": "a"}]), (Text("a"),)),
        ({"type": "custom_tool_call_output", "call_id": "c", "output": "b"}, "b"),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": None}, ""),
        ({"type": "local_shell_call_output", "id": "c", "output": "{}"}, "{}"),
        ({"type": "local_shell_call_output", "id": "x", "call_id": "c", "output": "{}"}, "{}"),
        (
            {
                "type": "shell_call_output",
                "call_id": "c",
                "output": [{"stdout": "a", "stderr": "b", "outcome": {}}],
            },
            (Text("a"), Text("b")),
        ),
        (
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "x", "image_url": "https://x.test/s"},
            },
            (Image(url="https://x.test/s"),),
        ),
        ({"type": "tool_search_output", "call_id": "c", "tools": [{"type": "x"}]}, (Unknown([{"type": "x"}]),)),
        ({"type": "program_output", "call_id": "c", "result": "2"}, "2"),
    ],
)
def test_results_are_read_with_what_came_out(item: Wire, content: object) -> None:
    message = read_one(item)
    assert (message.role, message.parts) == ("tool", (ToolResult("c", content),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("item", "role"),
    [
        ({"type": "web_search_call", "id": "ws_1"}, "assistant"),
        ({"type": "item_reference", "id": "x"}, "assistant"),
        ({"id": "x"}, "assistant"),
        ({"type": "hologram_call", "beam": 3}, "assistant"),
        ({"type": "hologram_call_output", "beam": 3}, "tool"),
        ({"type": "shell_call", "action": {}}, "assistant"),
        ({"type": "tool_search_output", "call_id": None, "tools": []}, "tool"),
        ({"type": "configuration_update", "reasoning": {"effort": "low"}}, "developer"),
        ({"type": "additional_tools", "role": "developer", "tools": []}, "developer"),
        ({"type": "compaction_trigger"}, "developer"),
    ],
)
def test_what_the_wire_does_not_pair_is_kept_whole(item: Wire, role: str) -> None:
    message = read_one(item)
    assert (message.role, message.parts) == (role, (Unknown(item),))


def test_an_approval_belongs_to_its_request_and_ends_an_open_step() -> None:
    asked = {"type": "mcp_approval_request", "id": "q", "server_label": "s", "name": "f", "arguments": "{}"}
    given_ = {"type": "mcp_approval_response", "id": "r", "approval_request_id": "q", "approve": True}
    messages = CODEC.decode([say("user", "a"), asked, given_]).messages
    assert messages[1].parts == (ApprovalRequest("q", "q"), Unknown(asked))
    assert messages[2].parts == (ApprovalResponse("q", True), Unknown(given_))
    reasons = protection_reasons(messages, link_groups(messages))
    assert reasons == {"m0": "current-input", "q": "open-step", "r": "open-step"}


def test_reasoning_its_calls_and_their_results_are_one_group() -> None:
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    messages = CODEC.decode([thought, call("a"), call("b"), output("a"), output("b"), say("user", "x")]).messages
    assert [group.ids for group in link_groups(messages)] == [("rs", "m1", "m2", "m3", "m4"), ("m5",)]


def test_a_body_gives_what_it_says_about_the_request() -> None:
    decoded = CODEC.decode(body_in(next(path for path in FILES if path.stem == "conversation")))
    assert (decoded.model, decoded.max_output_tokens) == ("gpt-4.1", 400)
    assert [tool["type"] for tool in decoded.tools or () if isinstance(tool, dict)][-1] == "web_search"
    assert decoded.response_format is not None
    assert decoded.response_format["name"] == "answer"


def test_a_bare_list_and_a_plain_text_format_say_nothing_about_the_request() -> None:
    for data in (
        [say("user", "a")],
        {"input": "a", "text": {"format": {"type": "text"}}},
        {"input": "a", "text": {}},
    ):
        decoded = CODEC.decode(data)
        assert (decoded.tools, decoded.response_format, decoded.max_output_tokens, decoded.model) == (None,) * 4
    decoded = CODEC.decode([say("user", "a")])
    assert CODEC.encode(decoded.messages, decoded.originals).request is None
    assert CODEC.encode((), CODEC.decode([]).originals).request is None


def test_meta_is_handed_on_and_unknown_keys_are_named() -> None:
    items = [say("user", "a", meta={"manualExcluded": True}, mood="calm"), call("c", color="red"), output("c")]
    decoded = CODEC.decode(items)
    assert decoded.messages[0].meta == {"manualExcluded": True}
    assert decoded.uncounted == ("color", "mood")


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (7, ""),
        ({}, "input"),
        ({"input": 7}, "input"),
        ({"input": [], "instructions": ["a"]}, "instructions"),
        ({"input": [], "model": 1}, "model"),
        ({"input": [], "tools": {}}, "tools"),
        ({"input": [], "text": []}, "text"),
        ({"input": [], "text": {"format": "json"}}, "text.format"),
        ({"input": [], "max_output_tokens": 0}, "max_output_tokens"),
        ({"input": ["a"]}, "input[0]"),
        ({"input": [{}]}, "input[0].type"),
        ([{"type": 3}], "messages[0].type"),
        ([{"id": "x", "beam": 3}], "messages[0].type"),
        ([say("narrator", "a")], "messages[0].role"),
        ([say("tool", "a")], "messages[0].role"),
        ([say("user", 7)], "messages[0].content"),
        ([say("user", [{"type": "input_text"}])], "messages[0].content[0].text"),
        ([{**call("c"), "call_id": None}], "messages[0].call_id"),
        ([{"type": "reasoning", "summary": [{}]}], "messages[0].summary[0].text"),
        ([{"type": "compaction"}], "messages[0].encrypted_content"),
        ([output("c", [7])], "messages[0].output[0]"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(data: object, path: str) -> None:
    assert fault_of(data).path == path


@pytest.mark.parametrize(
    ("item", "mended", "sentence"),
    [
        (call("c", {"a": 1}), call("c", '{"a":1}'), "wrote the arguments"),
        (call("c", None), call("c", "{}"), "wrote the arguments"),
        (output("c", {"a": 1}), output("c", '{"a":1}'), "wrote the output"),
        (output("c", None), output("c", ""), "empty text"),
        (
            {"type": "function_call_output", "toolCallId": "c", "output": "x"},
            {"type": "function_call_output", "output": "x", "call_id": "c"},
            "renamed toolCallId",
        ),
        (
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": None},
            {"type": "custom_tool_call", "call_id": "c", "name": "n", "input": ""},
            "wrote the input",
        ),
        (
            {"type": "reasoning", "id": "r", "encrypted_content": "x"},
            {"type": "reasoning", "id": "r", "encrypted_content": "x", "summary": []},
            "empty summary",
        ),
    ],
)
def test_shapes_that_histories_hold_are_mended_on_a_copy_and_named(
    item: Wire, mended: Wire, sentence: str
) -> None:
    before = copy.deepcopy(item)
    decoded = CODEC.decode([item])
    assert write_again(decoded) == [mended]
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=[decoded.messages[0].id])
    assert [sentence in repair.text for repair in adapted.repairs] == [True]
    assert item == before


def test_a_shortened_text_keeps_the_other_keys_of_its_part() -> None:
    part = {"type": "input_text", "text": "long", "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert shortened(say("user", [part]), (0,), "lo") == say("user", [{**part, "text": "lo"}])
    assert shortened(say("user", "long"), (0,), "lo") == say("user", "lo")


def test_a_shortened_answer_loses_what_counts_places_in_the_old_one() -> None:
    part = {"type": "output_text", "text": "long", "annotations": [{"type": "file_path"}], "logprobs": [{}]}
    written = shortened(say("assistant", [part], id="msg_1", status="completed"), (0,), "lo")
    assert written["content"] == [{"type": "output_text", "text": "lo", "annotations": []}]
    assert (written["id"], written["status"]) == ("msg_1", "completed")


def test_a_shortened_refusal_is_a_refusal() -> None:
    item = say("assistant", [{"type": "refusal", "refusal": "long"}])
    assert shortened(item, (0,), "lo") == say("assistant", [{"type": "refusal", "refusal": "lo"}])


def test_shortened_results_keep_their_shape() -> None:
    assert shortened(output("c", "long"), (0,), "lo") == output("c", "lo")
    parts = [{"type": "input_image", "image_url": "https://x.test/a"}, {"type": "input_text", "text": "long"}]
    assert shortened(output("c", parts), (0, 1), "lo")["output"] == [
        parts[0],
        {"type": "input_text", "text": "lo"},
    ]
    chunk = {"stdout": "long", "stderr": "e", "outcome": {"type": "timeout"}}
    printed = {"type": "shell_call_output", "call_id": "c", "output": [chunk, chunk]}
    assert shortened(printed, (0, 2), "lo")["output"] == [chunk, {**chunk, "stdout": "lo"}]


def test_parts_that_leave_or_change_are_written_anew_and_others_stay() -> None:
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_image", "detail": "low", "image_url": "x"}]
    decoded = CODEC.decode([say("user", parts)])
    (old,) = decoded.messages
    fewer = replace(old, parts=(old.parts[1], Text("new")))
    less = replace(old, parts=old.parts[1:])
    other = replace(old, parts=(File(file_id="file-1"), old.parts[1]))
    (written,) = write_again(decoded, (fewer,))
    assert written["content"] == [parts[1], {"type": "input_text", "text": "new"}]
    assert write_again(decoded, (less,))[0]["content"] == parts[1:]
    assert write_again(decoded, (other,))[0]["content"][0] == {"type": "input_file", "file_id": "file-1"}


def test_flags_and_sources_are_the_hosts_own_and_change_nothing() -> None:
    item = say("user", "a")
    decoded = CODEC.decode([item])
    pinned = replace(decoded.messages[0], pinned=True, source="history", required=True)
    assert write_again(decoded, (pinned,))[0] is item
    assert write_again(decoded, (replace(pinned, role="developer"),)) == [say("developer", "a")]


TEXTS = st.sampled_from(["", " ", "ok", "two words", "はい"])
IDS = st.sampled_from(["a", "b", "c"])
PARTS = st.one_of(
    st.builds(lambda text: {"type": "input_text", "text": text}, TEXTS),
    st.just({"type": "input_image", "detail": "auto", "image_url": "https://x.test/a.png"}),
)
ITEMS = st.one_of(
    st.builds(say, st.sampled_from(["system", "user", "assistant"]), TEXTS),
    st.builds(lambda parts: say("user", parts, type="message"), st.lists(PARTS, max_size=3)),
    st.builds(call, IDS),
    st.builds(output, IDS, st.one_of(TEXTS, st.lists(PARTS, max_size=2))),
    st.builds(
        lambda name, out, err: {
            "type": "shell_call_output",
            "call_id": name,
            "output": [{"stdout": out, "stderr": err}],
        },
        IDS,
        TEXTS,
        TEXTS,
    ),
    st.just({"type": "web_search_call", "id": "ws"}),
)
LISTS = st.lists(ITEMS, max_size=10)


@UNTIMED
@given(LISTS)
def test_reading_and_writing_gives_the_same_objects_and_changes_none(items: list[Wire]) -> None:
    before = copy.deepcopy(items)
    decoded = CODEC.decode(items)
    assert all(one is other for one, other in zip(write_again(decoded), items, strict=True))
    assert items == before
    assert len({message.id for message in decoded.messages}) == len(items)


@UNTIMED
@given(LISTS, st.data())
def test_a_shortened_text_is_what_a_reader_finds_there(items: list[Wire], data: st.DataObject) -> None:
    again, changed = read_after_shortening(CODEC, items, data)
    assert [message.parts for message in again] == [message.parts for message in changed]


@UNTIMED
@given(LISTS, LISTS, st.data())
def test_splicing_reads_like_reading_the_whole(items: list[Wire], more: list[Wire], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(items)))
    stop = data.draw(st.integers(start, len(items)))
    decoded = CODEC.decode({"instructions": "s", "input": items})
    spliced = CODEC.splice(decoded, start, stop, more)
    whole = {"instructions": "s", "input": [*items[:start], *more, *items[stop:]]}
    assert CODEC.encode(spliced.messages, spliced.originals).request == whole
    assert [one.parts for one in spliced.messages] == [one.parts for one in CODEC.decode(whole).messages]


KEYS = st.sampled_from(["role", "content", "type", "text", "call_id", "output", "id", "summary", "input", "tools"])
WORDS = st.sampled_from(
    ["user", "assistant", "message", "input_text", "function_call", "reasoning", "program", ""]
)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), WORDS)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=24,
)


@UNTIMED
@given(st.one_of(JSON, st.lists(st.dictionaries(KEYS, JSON, max_size=4), max_size=4)))
def test_any_json_is_read_or_refused_and_never_changed(data: Any) -> None:
    before = copy.deepcopy(data)
    CODEC.recognize(data)
    try:
        decoded = CODEC.decode(data)
    except InvalidRequestError:
        pass
    else:
        adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
        CODEC.encode(adapted.messages, decoded.originals)
        CODEC.encode(CODEC.adapt(decoded.messages, None, protected=()).messages)
        assert len({message.id for message in decoded.messages}) == len(decoded.messages)
    assert data == before
