from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from gemini_wire import step_faults
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
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

CODEC = GeminiInteractions()
Wire = dict[str, Any]
SEARCH = {"type": "google_search_call", "id": "g", "arguments": {"queries": ["q"]}, "signature": "c2ln"}
FOUND = {"type": "google_search_result", "call_id": "g", "result": [{"search_suggestions": "s"}]}


def text(words: str, **keys: object) -> Wire:
    return {"type": "text", "text": words, **keys}


def user(*content: object) -> Wire:
    return {"type": "user_input", "content": [text(one) if isinstance(one, str) else one for one in content]}


def output(*content: object) -> Wire:
    return {**user(*content), "type": "model_output"}


def thought(signature: str = "c2ln", **keys: object) -> Wire:
    return {"type": "thought", "signature": signature, **keys}


def asks(call_id: str, **arguments: object) -> Wire:
    return {"type": "function_call", "id": call_id, "name": "look", "arguments": arguments}


def answers(call_id: str, result: object = "found", **keys: object) -> Wire:
    return {"type": "function_result", "call_id": call_id, "name": "look", "result": result, **keys}


def written(decoded: Decoded, messages: tuple[Message, ...] | None = None) -> list[Any]:
    return CODEC.encode(decoded.messages if messages is None else messages, decoded.originals).messages


def groups(steps: list[Wire]) -> list[tuple[int, ...]]:
    return [group.positions for group in link_groups(CODEC.decode(steps).messages)]


def test_a_step_is_one_message() -> None:
    decoded = CODEC.decode([user("a"), thought(), asks("x", n=1), answers("x"), output("b"), user("c")])
    assert [(message.id, message.role) for message in decoded.messages] == [
        ("m0", "user"),
        ("m1", "assistant"),
        ("m2", "assistant"),
        ("m3", "tool"),
        ("m4", "assistant"),
        ("m5", "user"),
    ]
    assert decoded.messages[2].parts == (ToolCall("x", "look", '{"n":1}'),)
    assert [message.source for message in decoded.messages] == [*["history"] * 5, "input"]


def test_a_thought_leaves_with_the_calls_it_signs() -> None:
    steps = [
        user("a"),
        thought(),
        asks("x"),
        asks("y"),
        answers("x"),
        answers("y"),
        thought(),
        output("b"),
        user("c"),
    ]
    assert groups(steps) == [(0,), (1, 2, 3, 4, 5), (6, 7), (8,)]


def test_a_thought_is_its_summary_and_its_signature() -> None:
    picture = {"type": "image", "data": "AAAA", "mime_type": "image/png"}
    step = thought("c2ln", summary=[text("hm"), picture, text("so")])
    (reasoning,) = CODEC.decode([step]).messages[0].parts
    assert isinstance(reasoning, Reasoning)
    assert (reasoning.text, reasoning.opaque) == ("hm\nso", "c2ln")
    assert reasoning.tokens > 0


def test_every_kind_of_content_is_read() -> None:
    strange = {"type": "hologram"}
    content = [
        text("look"),
        {"type": "image", "mime_type": "image/png", "data": "AAAA", "resolution": "high"},
        {"type": "image", "uri": "https://x.test/a"},
        {"type": "audio", "mime_type": "audio/mp3", "data": "AAAA"},
        {"type": "document", "uri": "https://x.test/b"},
        {"type": "video", "mime_type": "video/mp4", "uri": "https://x.test/c", "name": "film"},
        strange,
    ]
    assert CODEC.decode([user(*content)]).messages[0].parts == (
        Text("look"),
        Image(data="AAAA", media_type="image/png", detail="high"),
        Image(url="https://x.test/a"),
        Audio(data="AAAA", format="mp3"),
        File(url="https://x.test/b"),
        File(name="film", media_type="video/mp4", url="https://x.test/c"),
        Unknown(strange),
    )


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("found", "found"),
        ({"wind": 7}, '{"wind":7}'),
        ([text("a"), {"type": "image", "data": "AAAA"}], (Text("a"), Image(data="AAAA"))),
        ([], ()),
    ],
)
def test_a_result_is_a_text_an_object_or_contents(result: object, content: object) -> None:
    decoded = CODEC.decode([asks("x"), answers("x", result, is_error=True)])
    assert decoded.messages[1].parts == (ToolResult("x", content, is_error=True),)  # type: ignore[arg-type]


def test_calls_and_results_of_hosted_tools_leave_together() -> None:
    steps = [user("a"), thought(), SEARCH, FOUND, output("b"), user("c")]
    assert groups(steps) == [(0,), (1, 2, 3), (4,), (5,)]
    messages = CODEC.decode(steps).messages
    assert [message.role for message in messages[2:4]] == ["assistant", "assistant"]
    assert messages[3].parts == (ToolResult("google_search_g", (Unknown(FOUND),)),)


def test_an_id_of_a_hosted_tool_never_meets_that_of_a_function() -> None:
    assert groups([user("a"), asks("g"), SEARCH, FOUND, answers("g")]) == [(0,), (1, 4), (2, 3)]


@pytest.mark.parametrize("step", [{"type": "mystery", "id": "x"}, {"type": "google_search_call"}])
def test_a_step_that_cannot_be_paired_is_unknown(step: Wire) -> None:
    (message,) = CODEC.decode([step]).messages
    assert (message.role, message.parts) == ("assistant", (Unknown(step),))


@pytest.mark.parametrize("given", ["hello", text("hello"), [text("hello"), {"type": "image", "data": "AAAA"}]])
def test_an_input_without_steps_is_one_user_message_and_comes_back(given: object) -> None:
    body = {"model": "gemini-x", "input": given}
    decoded = CODEC.decode(body)
    assert [(message.id, message.role) for message in decoded.messages] == [("m0", "user")]
    assert decoded.messages[0].parts[0] == Text("hello")
    encoded = CODEC.encode(decoded.messages, decoded.originals)
    assert encoded.request == body
    assert encoded.messages == (given if isinstance(given, list) else [user("hello")])


def test_an_input_without_steps_becomes_steps_when_something_is_added() -> None:
    decoded = CODEC.decode({"input": "hello"})
    aside = Message("s:1", "system", (Text("told"),), source="plugin")
    assert CODEC.encode((aside, *decoded.messages), decoded.originals).request == {
        "input": [user("told", "hello")]
    }
    longer = CODEC.splice(decoded, 1, 1, [output("b")])
    assert CODEC.encode(longer.messages, longer.originals).request == {"input": [user("hello"), output("b")]}


def test_a_body_tells_about_the_request() -> None:
    body = {
        "model": "gemini-x",
        "input": [user("a")],
        "system_instruction": "be brief",
        "tools": [{"type": "function", "name": "look"}],
        "generation_config": {"max_output_tokens": 9},
        "response_format": {"type": "text"},
    }
    decoded = CODEC.decode(body)
    assert (decoded.leading, decoded.messages[0].id, decoded.messages[0].parts) == (
        1,
        "system",
        (Text("be brief"),),
    )
    assert (decoded.model, decoded.max_output_tokens, decoded.response_format) == ("gemini-x", 9, {"type": "text"})
    assert decoded.tools == ({"type": "function", "name": "look"},)


def test_a_list_of_response_formats_is_counted_too() -> None:
    decoded = CODEC.decode({"input": "a", "response_format": [{"type": "text"}]})
    assert decoded.response_format == {"formats": [{"type": "text"}]}


def test_a_turn_that_goes_on_from_a_stored_one_may_have_no_input() -> None:
    body = {"model": "gemini-x", "previous_interaction_id": "v1_a", "continuation_token": "t"}
    decoded = CODEC.decode(body)
    assert decoded.messages == ()
    assert CODEC.encode((), decoded.originals).request == body


def test_a_result_for_a_call_the_provider_holds_stays() -> None:
    body = {"previous_interaction_id": "v1_a", "input": [answers("x"), user("b")]}
    decoded = CODEC.decode(body)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert (adapted.left_out, adapted.repairs) == ({}, ())
    assert CODEC.encode(adapted.messages, decoded.originals).request == body


def test_untouched_steps_are_the_objects_that_were_read() -> None:
    steps = [user("a"), thought(), SEARCH, FOUND, asks("x"), answers("x", {"a": 1}), output("b"), user("c")]
    before = copy.deepcopy(steps)
    assert all(new is old for new, old in zip(written(CODEC.decode(steps)), steps, strict=True))
    assert steps == before


def test_a_changed_text_loses_its_citations_and_nothing_else() -> None:
    picture = {"type": "image", "data": "AAAA"}
    decoded = CODEC.decode([output(text("long story", annotations=[{"type": "url_citation"}]), picture)])
    cut = with_texts(decoded.messages[0], {(0,): "long"})
    (step,) = written(decoded, (cut,))
    assert step == output("long", picture)
    assert step["content"][1] is picture


@pytest.mark.parametrize(
    ("result", "changed"),
    [
        ("long story", "cut"),
        ({"a": 1}, "cut"),
        (
            [{"type": "image", "data": "AAAA"}, text("long story")],
            [{"type": "image", "data": "AAAA"}, text("cut")],
        ),
    ],
)
def test_a_changed_result_keeps_the_other_keys_of_its_step(result: object, changed: object) -> None:
    decoded = CODEC.decode([user("a"), thought(), asks("x"), answers("x", result, is_error=False)])
    ((path, _),) = texts_of(decoded.messages[3])
    steps = written(decoded, (*decoded.messages[:3], with_texts(decoded.messages[3], {path: "cut"})))
    assert steps[3] == answers("x", changed, is_error=False)
    assert step_faults(steps) == []


def test_changed_and_added_system_text_is_one_instruction() -> None:
    decoded = CODEC.decode({"input": [user("a")], "system_instruction": "old"})
    head = replace(decoded.messages[0], parts=(Text("new"),))
    more = Message("p", "system", (Text("persona"),), source="persona")
    request = CODEC.encode((head, more, decoded.messages[1]), decoded.originals).request
    assert request == {"input": [user("a")], "system_instruction": "new\n\npersona"}
    assert CODEC.encode(decoded.messages[1:], decoded.originals).request == {"input": [user("a")]}


def test_media_of_other_formats_find_their_place() -> None:
    message = Message(
        "u",
        "user",
        (
            Image(url="data:image/webp;base64,AAAA"),
            Image(url="https://x.test/a.png", media_type="image/png"),
            Audio(data="AAAA", format="mp3"),
            File(name="n.txt", text="plain"),
            File(media_type="application/pdf", data="AAAA"),
            File(media_type="video/mp4", url="https://x.test/film"),
            Text(""),
        ),
    )
    steps = CODEC.encode((message,)).messages
    assert steps == [
        user(
            {"type": "image", "mime_type": "image/webp", "data": "AAAA"},
            {"type": "image", "mime_type": "image/png", "uri": "https://x.test/a.png"},
            {"type": "audio", "mime_type": "audio/mp3", "data": "AAAA"},
            "plain",
            {"type": "document", "mime_type": "application/pdf", "data": "AAAA"},
            {"type": "video", "mime_type": "video/mp4", "uri": "https://x.test/film"},
        )
    ]
    assert step_faults(steps) == []


def test_an_answer_of_another_format_becomes_a_step_for_each_thing_it_holds() -> None:
    answer = Message("c", "assistant", (Text("hm"), ToolCall("x", "look", "{}"), ToolCall("y", "find", '{"a":1}')))
    results = Message("r", "user", (ToolResult("x", "found"), ToolResult("y", (), is_error=True), Text("hurry")))
    steps = CODEC.encode((Message("u", "user", (Text("a"),)), answer, results)).messages
    assert steps == [
        user("a"),
        output("hm"),
        asks("x"),
        {"type": "function_call", "id": "y", "name": "find", "arguments": {"a": 1}},
        answers("x"),
        {"type": "function_result", "call_id": "y", "name": "find", "result": "", "is_error": True},
        user("hurry"),
    ]


def test_only_an_assistant_message_calls_functions() -> None:
    with pytest.raises(InvalidRequestError, match="only an assistant"):
        CODEC.encode((Message("u", "user", (ToolCall("x", "look", "{}"),)),))


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (7, ""),
        ({}, "input"),
        ({"input": 7}, "input"),
        (["text"], "input[0]"),
        ([{"content": []}], "input[0].type"),
        ([user("a"), text("b")], "input[1]"),
        ([{"type": "user_input", "content": "a"}], "input[0].content"),
        ([user({"type": "text"})], "input[0].content[0].text"),
        ([{**asks("x"), "arguments": "{}"}], "input[0].arguments"),
        ([{"type": "function_call", "name": "look", "arguments": {}}], "input[0].id"),
        ([{"type": "function_result", "call_id": "x"}], "input[0].result"),
        ([{"type": "function_result", "result": "a"}], "input[0].call_id"),
        ([thought(summary="hm")], "input[0].summary"),
        ({"input": "a", "tools": {}}, "tools"),
        ({"input": "a", "system_instruction": {}}, "system_instruction"),
        ({"input": "a", "generation_config": []}, "generation_config"),
        ({"input": "a", "generation_config": {"max_output_tokens": "9"}}, "generation_config.max_output_tokens"),
        ({"input": "a", "response_format": "json"}, "response_format"),
        ({"input": "a", "model": 7}, "model"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(data: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    assert caught.value.path == path


def test_keys_that_are_no_part_of_the_wire_are_kept_and_named() -> None:
    steps = [{**user("a"), "createdAt": 7}, {"type": "mystery", "own": 1}]
    decoded = CODEC.decode(steps)
    assert decoded.uncounted == ("createdAt",)
    assert written(decoded) == steps


@pytest.mark.parametrize(
    ("data", "mark"),
    [
        ([user("a")], Recognition.SURE),
        ([asks("x"), answers("x")], Recognition.SURE),
        ({"input": [output("a")]}, Recognition.SURE),
        ({"input": "a", "generation_config": {}}, Recognition.SURE),
        ({"input": "a", "system_instruction": "s"}, Recognition.SURE),
        ({"input": "a", "model": "gemini-3.8-flash"}, Recognition.MAYBE),
        ({"input": [text("a")], "model": "models/gemini-3.8-flash"}, Recognition.MAYBE),
        ({"input": "a", "model": "gpt-6-astra"}, Recognition.NO),
        ({"input": "a"}, Recognition.NO),
        ({"input": [{"type": "message", "role": "user", "content": "a"}], "model": "gpt-6-astra"}, Recognition.NO),
        ([{"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"}], Recognition.NO),
        ({"messages": [], "input": "a", "generation_config": {}}, Recognition.NO),
        ([], Recognition.NO),
        (None, Recognition.NO),
    ],
)
def test_steps_are_told_by_their_types(data: object, mark: Recognition) -> None:
    assert CODEC.recognize(data) is mark


def test_spliced_steps_keep_the_ids_of_all_others() -> None:
    decoded = CODEC.decode({"system_instruction": "s", "input": [user("a"), output("b"), user("c")]})
    longer = CODEC.splice(decoded, 3, 3, [thought(), SEARCH, FOUND])
    changed = CODEC.splice(longer, 1, 2, [output("B")], ids=["m1"])
    assert [message.id for message in changed.messages] == ["system", "m0", "m1", "m2", "m3", "m4", "m5"]
    assert changed.messages[3].source == "history"
    assert CODEC.encode(changed.messages, changed.originals).request == {
        "system_instruction": "s",
        "input": [user("a"), output("B"), user("c"), thought(), SEARCH, FOUND],
    }
    adapted = CODEC.adapt(changed.messages, changed.originals, protected=())
    assert adapted.messages == changed.messages
