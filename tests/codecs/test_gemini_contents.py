from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from gemini_wire import content_faults
from trimtab_plugins.codecs.gemini_contents import GeminiContents
from trimtab_sdk import (
    Audio,
    Decoded,
    File,
    Image,
    InvalidRequestError,
    Message,
    Reasoning,
    Recognition,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    link_groups,
    texts_of,
    with_texts,
)

CODEC = GeminiContents()
Wire = dict[str, Any]


def user(*parts: object) -> Wire:
    return {"role": "user", "parts": [_part(part) for part in parts]}


def model(*parts: object) -> Wire:
    return {"role": "model", "parts": [_part(part) for part in parts]}


def _part(part: object) -> object:
    return {"text": part} if isinstance(part, str) else part


def asks(name: str, **keys: object) -> Wire:
    return {"functionCall": {"name": name, "args": {}, **keys}}


def answers(name: str, response: object = None, **keys: object) -> Wire:
    return {"functionResponse": {"name": name, "response": response or {"output": "found"}, **keys}}


def parts_of(wire: Wire) -> tuple[object, ...]:
    return CODEC.decode([wire]).messages[0].parts


def written(decoded: Decoded, messages: tuple[Message, ...] | None = None) -> list[Any]:
    return CODEC.encode(decoded.messages if messages is None else messages, decoded.originals).messages


def fault_of(data: object) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    return caught.value


def call_ids(contents: list[Wire]) -> list[list[str]]:
    return [
        [part.call_id for part in message.parts if isinstance(part, ToolCall | ToolResult)]
        for message in CODEC.decode(contents).messages
    ]


def test_a_content_is_one_message_with_its_position_as_id() -> None:
    decoded = CODEC.decode([user("a"), model("b"), {"parts": [{"text": "c"}]}])
    assert [(message.id, message.role, message.source) for message in decoded.messages] == [
        ("m0", "user", "history"),
        ("m1", "assistant", "history"),
        ("m2", "user", "input"),
    ]


@pytest.mark.parametrize("role", ["user", "function", "tool"])
def test_a_content_of_responses_alone_is_a_tool_message(role: str) -> None:
    contents = [user("a"), model(asks("look")), {"role": role, "parts": [answers("look")]}]
    assert CODEC.decode(contents).messages[2].role == "tool"


def test_words_beside_responses_belong_to_the_step() -> None:
    decoded = CODEC.decode([user("a"), model(asks("look")), user(answers("look"), "hurry")])
    assert decoded.messages[2].role == "tool"
    assert decoded.messages[0].source == "history"


def test_words_beside_a_response_to_nothing_are_the_users() -> None:
    assert CODEC.decode([user(answers("look"), "hurry")]).messages[0].role == "user"


def test_every_kind_of_part_is_read() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    parts = parts_of(
        user(
            "look",
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "mediaResolution": {"level": "LOW"}},
            {"inline_data": {"mime_type": "audio/mp3", "data": "AAAA"}},
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA", "displayName": "a.pdf"}},
            {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://x.test/a"}},
            {"file_data": {"mime_type": "video/mp4", "file_uri": "https://x.test/b"}},
            code,
        )
    )
    assert parts == (
        Text("look"),
        Image(data="AAAA", media_type="image/png", detail="low"),
        Audio(data="AAAA", format="mp3"),
        File(name="a.pdf", media_type="application/pdf", data="AAAA"),
        Image(url="https://x.test/a", media_type="image/jpeg"),
        File(media_type="video/mp4", url="https://x.test/b"),
        Unknown(code),
    )


def test_thoughts_and_lone_signatures_are_reasoning() -> None:
    parts = parts_of(
        model(
            {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
            {"text": "seven", "thoughtSignature": "c2ln"},
            {"text": "", "thought_signature": "bGFzdA=="},
            {"thoughtSignature": "YWxvbmU="},
        )
    )
    assert parts == (
        Reasoning("hm", "c2ln"),
        Text("seven"),
        Reasoning("", "bGFzdA=="),
        Reasoning("", "YWxvbmU="),
    )


@pytest.mark.parametrize(
    ("response", "text", "is_error"),
    [
        ({"output": "found"}, "found", False),
        ({"result": "found"}, "found", False),
        ({"error": "locked"}, "locked", True),
        ({"wind": 7}, '{"wind":7}', False),
        ({"output": "a", "more": 1}, '{"output":"a","more":1}', False),
        ({}, "", False),
    ],
)
def test_a_response_reads_as_its_text_or_its_json(response: Wire, text: str, is_error: bool) -> None:
    answer = {"functionResponse": {"name": "look", "response": response}}
    decoded = CODEC.decode([user("a"), model(asks("look")), user(answer)])
    assert decoded.messages[2].parts == (ToolResult("look#1", text, is_error),)


def test_calls_without_ids_pair_by_name_and_order() -> None:
    contents = [
        user("a"),
        model(asks("look"), asks("look"), asks("find")),
        user(answers("find"), answers("look"), answers("look")),
        model("b"),
        model(asks("look")),
        user(answers("look")),
    ]
    assert call_ids(contents) == [
        [],
        ["look#1", "look#2", "find#1"],
        ["find#1", "look#1", "look#2"],
        [],
        ["look#3"],
        ["look#3"],
    ]


def test_an_id_goes_before_a_name_and_calls_without_one_before_those_with_one() -> None:
    contents = [model(asks("look", id="x"), asks("look")), user(answers("look"), answers("look", id="x"))]
    assert call_ids(contents) == [["x", "look#1"], ["look#1", "x"]]


def test_a_response_of_another_id_answers_no_call_that_has_one() -> None:
    assert call_ids([model(asks("look", id="x")), user(answers("look", id="y"))]) == [["x"], ["y"]]


def test_a_response_without_id_answers_the_latest_turn() -> None:
    contents = [model(asks("look")), user("b"), model(asks("look")), user(answers("look"))]
    assert call_ids(contents) == [["look#1"], [], ["look#2"], ["look#2"]]


def test_made_ids_avoid_those_of_the_wire() -> None:
    assert call_ids([model(asks("look", id="look#1"), asks("look"))]) == [["look#1", "look#2"]]


def test_the_system_instruction_is_a_leading_message() -> None:
    decoded = CODEC.decode(
        {"systemInstruction": {"parts": [{"text": "a"}, {"text": "b"}]}, "contents": [user("c")]}
    )
    assert decoded.leading == 1
    first = decoded.messages[0]
    assert (first.id, first.role, first.source, first.parts) == (
        "system",
        "system",
        "system",
        (Text("a"), Text("b")),
    )


@pytest.mark.parametrize("blank", ["", {"parts": []}, {"parts": [{"text": " "}]}, None])
def test_a_blank_system_instruction_is_no_message_and_stays(blank: object) -> None:
    body = {"systemInstruction": blank, "contents": [user("c")]}
    decoded = CODEC.decode(body)
    assert decoded.leading == 0
    assert CODEC.encode(decoded.messages, decoded.originals).request == body


def test_a_body_tells_about_the_request_in_either_spelling() -> None:
    tools = [{"functionDeclarations": [{"name": "look"}]}]
    camel = {"maxOutputTokens": 9, "responseJsonSchema": {"type": "object"}}
    snake = {"max_output_tokens": 9, "response_json_schema": {"type": "object"}}
    for key, settings in (("generationConfig", camel), ("generation_config", snake)):
        decoded = CODEC.decode({"contents": [], "model": "gemini-x", "tools": tools, key: settings})
        assert decoded.tools == tuple(tools)
        assert (decoded.max_output_tokens, decoded.response_format) == (9, {"type": "object"})
        assert decoded.model == "gemini-x"


def test_untouched_contents_are_the_objects_that_were_read() -> None:
    contents = [user("a"), model(asks("look")), user(answers("look")), model("b"), user("c")]
    before = copy.deepcopy(contents)
    out = written(CODEC.decode(contents))
    assert all(new is old for new, old in zip(out, contents, strict=True))
    assert contents == before


def test_a_changed_text_keeps_the_other_keys_of_its_part() -> None:
    contents = [model({"text": "long story", "thoughtSignature": "c2ln"}, {"inlineData": {"data": "AAAA"}})]
    decoded = CODEC.decode(contents)
    cut = with_texts(decoded.messages[0], {(0,): "long"})
    part, media = written(decoded, (cut,))[0]["parts"]
    assert part == {"text": "long", "thoughtSignature": "c2ln"}
    assert media is contents[0]["parts"][1]


@pytest.mark.parametrize(
    ("response", "changed"),
    [
        ({"result": "long story"}, {"result": "cut"}),
        ({"error": "no"}, {"error": "cut"}),
        ({"a": 1}, {"output": "cut"}),
    ],
)
def test_a_changed_response_stays_an_object(response: Wire, changed: Wire) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    answer = {"functionResponse": {"name": "look", "response": response, "parts": [picture]}}
    decoded = CODEC.decode([user("a"), model(asks("look")), user(answer)])
    (path, _), *_ = texts_of(decoded.messages[2])
    out = written(decoded, (*decoded.messages[:2], with_texts(decoded.messages[2], {path: "cut"})))
    assert out[2]["parts"][0]["functionResponse"] == {"name": "look", "response": changed, "parts": [picture]}
    assert content_faults(out) == []


def test_a_changed_system_instruction_keeps_its_shape() -> None:
    for raw, changed in (
        ("a", "b"),
        ({"role": "user", "parts": [{"text": "a"}]}, {"role": "user", "parts": [{"text": "b"}]}),
    ):
        decoded = CODEC.decode({"system_instruction": raw, "contents": [user("c")]})
        head = replace(decoded.messages[0], parts=(Text("b"),))
        request = CODEC.encode((head, *decoded.messages[1:]), decoded.originals).request
        assert request == {"system_instruction": changed, "contents": [user("c")]}


def test_more_system_text_joins_the_instruction() -> None:
    decoded = CODEC.decode({"systemInstruction": {"parts": [{"text": "a"}]}, "contents": [user("c")]})
    more = Message("p", "system", (Text("persona"),), source="persona")
    request = CODEC.encode((decoded.messages[0], more, decoded.messages[1]), decoded.originals).request
    assert request == {
        "systemInstruction": {"parts": [{"text": "a"}, {"text": "persona"}]},
        "contents": [user("c")],
    }


def test_without_its_message_the_instruction_is_gone() -> None:
    decoded = CODEC.decode({"systemInstruction": "a", "contents": [user("c")]})
    assert CODEC.encode(decoded.messages[1:], decoded.originals).request == {"contents": [user("c")]}


def test_a_plugins_text_stands_at_the_front_of_the_next_user_content() -> None:
    decoded = CODEC.decode([user("a"), model("b"), user("c")])
    summary = Message("s:1", "system", (Text("told"),), source="summary")
    out = written(decoded, (summary, *decoded.messages[1:]))
    assert out == [model("b"), user("told", "c")]


def test_a_plugins_text_behind_the_last_user_content_stands_at_its_front() -> None:
    decoded = CODEC.decode([user("a"), model(asks("look")), user(answers("look"))])
    aside = Message("s:1", "system", (Text("told"),), source="plugin")
    assert written(decoded, (*decoded.messages, aside))[0] == user("told", "a")


def test_a_plugins_text_never_stands_before_responses() -> None:
    decoded = CODEC.decode([user(answers("look"), "a")])
    aside = Message("s:1", "system", (Text("told"),), source="plugin")
    assert written(decoded, (aside, *decoded.messages))[0] == user(answers("look"), "told", "a")


def test_without_a_user_content_a_plugins_text_is_system_text() -> None:
    decoded = CODEC.decode([model("b")])
    aside = Message("s:1", "system", (Text("told"),), source="plugin")
    encoded = CODEC.encode((*decoded.messages, aside), decoded.originals)
    assert encoded.request == {"contents": [model("b")], "systemInstruction": {"parts": [{"text": "told"}]}}


def test_made_ids_are_never_written_beside_results_of_others() -> None:
    decoded = CODEC.decode([user("a"), model(asks("look"))])
    result = Message("r", "tool", (ToolResult("look#1", "found"),))
    assert written(decoded, (*decoded.messages, result))[2] == user(answers("look"))


def test_media_of_other_formats_find_their_place() -> None:
    message = Message(
        "u",
        "user",
        (
            Image(url="data:image/webp;base64,AAAA"),
            Image(url="https://x.test/a.png"),
            Audio(data="AAAA", format="mp3"),
            File(name="n.txt", text="plain"),
            File(media_type="application/pdf", data="AAAA"),
            Text(""),
        ),
    )
    contents = CODEC.encode((message,)).messages
    assert contents == [
        user(
            {"inlineData": {"mimeType": "image/webp", "data": "AAAA"}},
            {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://x.test/a.png"}},
            {"inlineData": {"mimeType": "audio/mp3", "data": "AAAA"}},
            "plain",
            {"inlineData": {"mimeType": "application/pdf", "data": "AAAA"}},
        )
    ]
    assert content_faults(contents) == []


def test_a_picture_in_a_result_stands_in_the_parts_of_the_response() -> None:
    messages = (
        Message("u", "user", (Text("a"),)),
        Message("c", "assistant", (ToolCall("x", "chart", "{}"),)),
        Message("r", "tool", (ToolResult("x", (Text("see"), Image(data="AAAA")), is_error=True),)),
    )
    contents = CODEC.encode(messages).messages
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    assert contents[2] == user(
        {"functionResponse": {"id": "x", "name": "chart", "response": {"error": "see"}, "parts": [picture]}}
    )
    assert content_faults(contents) == []


def test_only_an_assistant_message_calls_functions() -> None:
    with pytest.raises(InvalidRequestError, match="only an assistant"):
        CODEC.encode((Message("u", "user", (ToolCall("x", "look", "{}"),)),))


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("text", ""),
        ({"contents": "text"}, "contents"),
        ({}, "contents"),
        (["text"], "contents[0]"),
        ([{"role": "assistant", "parts": []}], "contents[0].role"),
        ([{"role": "user", "parts": "text"}], "contents[0].parts"),
        ([user(7)], "contents[0].parts[0]"),
        ([user({"text": 7})], "contents[0].parts[0].text"),
        ([user(asks("look"))], "contents[0].parts[0]"),
        ([model(answers("look"))], "contents[0].parts[0]"),
        ([model({"functionCall": {"args": {}}})], "contents[0].parts[0].functionCall.name"),
        ([model({"functionCall": {"name": "look", "args": "{}"}})], "contents[0].parts[0].functionCall.args"),
        ([user(answers("look", "text"))], "contents[0].parts[0].functionResponse.response"),
        ([user({"inlineData": {"mimeType": "image/png"}})], "contents[0].parts[0].inlineData.data"),
        ({"contents": [], "tools": {}}, "tools"),
        ({"contents": [], "generationConfig": {"maxOutputTokens": 0}}, "generationConfig.maxOutputTokens"),
        ({"contents": [], "generation_config": []}, "generation_config"),
        ({"contents": [], "systemInstruction": 7}, "systemInstruction"),
        ({"contents": [], "model": 7}, "model"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(data: object, path: str) -> None:
    assert fault_of(data).path == path


def test_keys_that_are_no_part_of_the_wire_are_kept_and_named() -> None:
    contents = [{**user("a"), "createdAt": 7}]
    decoded = CODEC.decode(contents)
    assert decoded.uncounted == ("createdAt",)
    assert written(decoded) == contents


@pytest.mark.parametrize(
    ("data", "mark"),
    [
        ([user("a")], Recognition.SURE),
        ([{"parts": [{"text": "a"}]}], Recognition.SURE),
        ({"contents": []}, Recognition.SURE),
        ({"contents": "a", "model": "gemini-x"}, Recognition.SURE),
        ([], Recognition.NO),
        ([{"role": "user", "content": "a"}], Recognition.NO),
        ([{"role": "user", "parts": [{"type": "text", "text": "a"}]}], Recognition.NO),
        ([{"role": "assistant", "parts": []}], Recognition.NO),
        ({"messages": [], "contents": []}, Recognition.NO),
        ([7], Recognition.NO),
        (None, Recognition.NO),
    ],
)
def test_contents_are_told_by_their_parts(data: object, mark: Recognition) -> None:
    assert CODEC.recognize(data) is mark


def test_appended_contents_answer_calls_of_before() -> None:
    decoded = CODEC.decode([user("a"), model(asks("look"))])
    longer = CODEC.splice(decoded, 2, 2, [user(answers("look")), user("b")])
    assert [group.ids for group in link_groups(longer.messages)] == [("m0",), ("m1", "m2"), ("m3",)]
    assert written(longer) == [user("a"), model(asks("look")), user(answers("look")), user("b")]
    assert [message.source for message in longer.messages] == ["history", "history", "history", "input"]


def test_a_replaced_call_still_finds_its_response() -> None:
    body = {"systemInstruction": "s", "contents": [user("a"), model(asks("look")), user(answers("find"))]}
    decoded = CODEC.decode(body)
    changed = CODEC.splice(decoded, 1, 2, [model(asks("find"))], ids=["m1"])
    assert [group.ids for group in link_groups(changed.messages)] == [("system",), ("m0",), ("m1", "m2")]
    assert CODEC.encode(changed.messages, changed.originals).request == {
        "systemInstruction": "s",
        "contents": [user("a"), model(asks("find")), user(answers("find"))],
    }


def test_a_removed_content_frees_its_place_only() -> None:
    decoded = CODEC.decode([user("a"), model("b"), user("c")])
    shorter = CODEC.splice(decoded, 1, 2, [])
    longer = CODEC.splice(shorter, 2, 2, [model("d")])
    assert [message.id for message in longer.messages] == ["m0", "m2", "m3"]
    assert written(longer) == [user("a", "c"), model("d")]
