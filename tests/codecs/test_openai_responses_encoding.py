from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from responses_judge import type_faults
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_sdk import (
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
    with_texts,
)

CODEC = OpenAIResponses()
Wire = dict[str, Any]


def system(id: str, text: str, **fields: Any) -> Message:
    return Message(id, "system", (Text(text),), **{"source": "system", **fields})


def user(id: str = "u", text: str = "hi") -> Message:
    return Message(id, "user", (Text(text),))


def item(role: str, content: object) -> Wire:
    return {"type": "message", "role": role, "content": content}


def request_of(*messages: Message, body: Wire | None = None) -> Wire:
    """The request for some messages behind those of a body."""
    decoded = CODEC.decode(body) if body is not None else None
    read = () if decoded is None else decoded.messages
    request = CODEC.encode((*read, *messages), None if decoded is None else decoded.originals).request
    assert request is not None
    return request


def items_of(*messages: Message) -> list[Any]:
    return CODEC.encode(messages).messages


def test_system_text_at_the_head_becomes_the_instructions_of_a_new_request() -> None:
    persona = Message("p", "developer", (Text("You are Ilse."),), source="persona")
    request = request_of(system("s", "Be brief."), persona, user(), system("late", "Now in French."))
    assert request == {
        "instructions": "Be brief.\n\nYou are Ilse.",
        "input": [item("user", "hi"), item("system", "Now in French.")],
    }


def test_developer_text_behind_the_head_stays_developer_text() -> None:
    late = Message("d", "developer", (Text("More."),), source="system")
    assert request_of(user(), late) == {"input": [item("user", "hi"), item("developer", "More.")]}


@pytest.mark.parametrize("source", ["summary", "plugin"])
def test_summaries_and_plugin_texts_stand_where_they_are(source: str) -> None:
    late = system("k", "[summary]", source=source)
    request = request_of(system("s", "Be brief."), late, system("t", "Be kind."), user())
    assert request["instructions"] == "Be brief."
    assert request["input"] == [item("system", "[summary]"), item("system", "Be kind."), item("user", "hi")]


def test_system_messages_with_more_than_text_are_items() -> None:
    shown = Message("s", "system", (Text("Look."), Image(url="https://x.test/a.png")), source="system")
    request = request_of(shown, user())
    assert "instructions" not in request
    assert type_faults({"model": "m", **request}) == []


def test_a_new_message_at_the_head_joins_the_instructions_that_were_there() -> None:
    body = {"model": "m", "instructions": "Be brief.", "input": [item("user", "hi")], "store": False}
    decoded = CODEC.decode(body)
    first, rest = decoded.messages
    more = system("x", "Be kind.", source="persona")
    request = CODEC.encode((first, more, rest), decoded.originals).request
    assert request == {**body, "instructions": "Be brief.\n\nBe kind."}
    assert body["instructions"] == "Be brief."


def test_a_body_without_instructions_gets_an_item_in_their_place() -> None:
    body = {"input": [item("user", "hi")]}
    decoded = CODEC.decode(body)
    request = CODEC.encode((system("x", "Be kind."), *decoded.messages), decoded.originals).request
    assert request == {"input": [item("system", "Be kind."), item("user", "hi")]}


def test_instructions_that_left_are_no_key_of_the_body() -> None:
    decoded = CODEC.decode({"instructions": "s", "input": [item("user", "hi")]})
    assert CODEC.encode(decoded.messages[1:], decoded.originals).request == {"input": [item("user", "hi")]}


def test_instructions_behind_other_messages_become_an_item_there() -> None:
    decoded = CODEC.decode({"instructions": "s", "input": [item("user", "hi")]})
    turned = CODEC.encode(tuple(reversed(decoded.messages)), decoded.originals)
    assert turned.request == {"input": [item("user", "hi"), item("system", "s")]}


def test_shortened_instructions_are_written_shortened() -> None:
    decoded = CODEC.decode({"instructions": "secret", "input": []})
    (message,) = decoded.messages
    assert CODEC.encode((with_texts(message, {(0,): "[gone]"}),), decoded.originals).request == {
        "instructions": "[gone]",
        "input": [],
    }


def test_texts_calls_and_results_of_one_message_become_items_in_their_order() -> None:
    answer = Message(
        "a",
        "assistant",
        (Reasoning("hm", "sig"), Text("first"), Text("second"), ToolCall("c", "f", "{}"), Text("third")),
    )
    assert items_of(answer, Message("r", "tool", (ToolResult("c", "found"),))) == [
        item("assistant", "first"),
        item("assistant", "second"),
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        item("assistant", "third"),
        {"type": "function_call_output", "call_id": "c", "output": "found"},
    ]


def test_results_beside_words_of_the_user_stay_in_order() -> None:
    mixed = Message("u", "user", (ToolResult("c", (Text("a"), Image(url="x", detail="odd"))), Text("and now?")))
    assert items_of(mixed) == [
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [
                {"type": "input_text", "text": "a"},
                {"type": "input_image", "image_url": "x", "detail": "auto"},
            ],
        },
        item("user", "and now?"),
    ]
    assert items_of(Message("t", "tool", (ToolResult("c", ()), Text("said")))) == [
        {"type": "function_call_output", "call_id": "c", "output": ""},
        item("user", "said"),
    ]


def test_pictures_and_files_are_written_with_what_holds_them() -> None:
    message = Message(
        "u",
        "user",
        (
            Image(data="AAAA", media_type="image/jpeg", detail="high"),
            File(name="a.pdf", media_type="application/pdf", data="AAAA"),
            File(data="AAAA"),
            File(file_id="file-1"),
            File(url="https://x.test/a.pdf"),
            File(name="n.txt", text="plain"),
        ),
    )
    (written,) = items_of(message)
    assert written["content"] == [
        {"type": "input_image", "image_url": "data:image/jpeg;base64,AAAA", "detail": "high"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
        {"type": "input_file", "file_data": "AAAA"},
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_file", "file_url": "https://x.test/a.pdf"},
        {"type": "input_text", "text": "plain"},
    ]
    assert type_faults({"model": "m", "input": [written]}) == []


def test_what_is_never_sent_makes_no_item_and_nothing_at_all_an_empty_text() -> None:
    silent = Message("n", "assistant", (Notice("x"), Reasoning("hm"), Compaction("other", "x")))
    assert items_of(silent) == []
    assert items_of(Message("e", "user")) == [item("user", "")]


def test_compactions_and_items_of_this_wire_are_written_whole() -> None:
    search = {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search"}}
    message = Message("a", "assistant", (Text("x"), Unknown(search), Compaction("openai", "sealed")))
    written = items_of(message)
    assert written == [item("assistant", "x"), search, {"type": "compaction", "encrypted_content": "sealed"}]
    assert written[1] is search


def test_originals_of_another_codec_are_none() -> None:
    decoded = ChatCompletions().decode([{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}])
    assert CODEC.encode(decoded.messages, decoded.originals).request == {
        "instructions": "s",
        "input": [item("user", "hi")],
    }


def answer(name: str, *texts: str, **keys: object) -> Wire:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {**item("assistant", parts), "id": name, "status": "completed", **keys}


REASONED: list[Wire] = [
    item("user", "a"),
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "reasoning", "id": "rs_2", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "d", "name": "g", "input": ""},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
    {"type": "function_call_output", "call_id": "c", "output": "x"},
    {"type": "custom_tool_call_output", "call_id": "d", "output": "y"},
    answer("msg_1", "nothing thought of"),
    {"type": "reasoning", "id": "rs_3", "summary": []},
    answer("msg_2", "one", "two", phase="final_answer"),
]


def without(*names: str) -> list[Any]:
    decoded = CODEC.decode(REASONED)
    return CODEC.encode([one for one in decoded.messages if one.id not in names], decoded.originals).messages


@pytest.mark.parametrize("gone", [("rs_1",), ("rs_2",), ("rs_1", "rs_2")])
def test_calls_whose_reasoning_is_gone_go_without_the_id_the_server_knows_them_by(gone: tuple[str, ...]) -> None:
    written = [one for one in without(*gone) if one["type"] != "reasoning"]
    assert written[1] == {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert written[2] == {"type": "custom_tool_call", "call_id": "d", "name": "g", "input": ""}
    assert written[3:] == [*REASONED[5:9], REASONED[10]]


def test_an_answer_whose_reasoning_is_gone_takes_the_easy_form() -> None:
    written = without("rs_3")
    assert written[:-2] == REASONED[:9]
    assert written[-2:] == [
        {**item("assistant", "one"), "phase": "final_answer"},
        {**item("assistant", "two"), "phase": "final_answer"},
    ]
    assert type_faults({"model": "m", "input": written}) == []


def test_a_shortened_answer_whose_reasoning_is_gone_is_both() -> None:
    decoded = CODEC.decode(REASONED[-2:])
    short = with_texts(decoded.messages[1], {(1,): "2"})
    assert CODEC.encode((short,), decoded.originals).messages == [
        {**item("assistant", "one"), "phase": "final_answer"},
        {**item("assistant", "2"), "phase": "final_answer"},
    ]


def test_reasoning_that_is_there_leaves_its_answer_alone_also_behind_a_splice() -> None:
    decoded = CODEC.splice(CODEC.decode(REASONED), 0, 1, [item("user", "b")])
    kept = [one for one in decoded.messages if one.id != "rs_1"]
    written: list[Any] = CODEC.encode(kept, decoded.originals).messages
    assert written[0] == item("user", "b")
    assert written[-2:] == REASONED[-2:]
    assert "id" not in written[2]


def test_reasoning_that_was_spliced_in_binds_what_stands_behind_it() -> None:
    decoded = CODEC.splice(CODEC.decode(REASONED), 1, 3, [{"type": "reasoning", "id": "rs_9", "summary": []}])
    kept = [one for one in decoded.messages if one.id != "rs_9"]
    written: list[Any] = CODEC.encode(kept, decoded.originals).messages
    assert written[1] == {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}


def test_a_role_that_changed_is_written() -> None:
    decoded = CODEC.decode([item("system", "a")])
    turned = replace(decoded.messages[0], role="developer")
    assert CODEC.encode((turned,), decoded.originals).messages == [item("developer", "a")]
