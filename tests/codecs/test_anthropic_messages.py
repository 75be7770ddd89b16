"""Reading, writing, recognizing and pricing of Anthropic messages."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anthropic_wire import anthropic_faults, body_errors
from factories import calls, message, result
from judge import tokens
from trimtab_plugins.codecs.anthropic_messages import AnthropicMessages
from trimtab_sdk import (
    Aspect,
    Audio,
    Compaction,
    Cost,
    Decoded,
    File,
    Image,
    InvalidRequestError,
    Message,
    Notice,
    Part,
    Reasoning,
    Recognition,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
    with_texts,
)

CODEC = AnthropicMessages()
FILES = sorted((Path(__file__).parent / "anthropic_files").glob("*.json"))
Wire = dict[str, Any]
FRAMING = CODEC.framing("o200k_base")
APPROXIMATE: frozenset[Aspect] = frozenset({"framing"})
PARTS: frozenset[Aspect] = frozenset({"framing", "parts"})
IMAGES: frozenset[Aspect] = frozenset({"framing", "images"})
BARE = 3 + len("user")


def body_in(name: str) -> Wire:
    path = next(path for path in FILES if path.stem == name)
    body: Wire = json.loads(path.read_text(encoding="utf-8"))
    return body


def by_id(decoded: Decoded) -> dict[str, Message]:
    return {message.id: message for message in decoded.messages}


def say(role: str, content: object, **keys: object) -> Wire:
    return {"role": role, "content": content, **keys}


def text(words: str, **keys: object) -> Wire:
    return {"type": "text", "text": words, **keys}


def encode_one(one: Message) -> Any:
    return CODEC.encode([one]).messages[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_taken_by_the_wire_and_comes_back_as_the_same_objects(path: Path) -> None:
    body = json.loads(path.read_text(encoding="utf-8"))
    assert body_errors({"model": "m", "stream": True, **body}, beta=path.stem == "compacted") == []
    assert anthropic_faults(body["messages"], body.get("system")) == []
    decoded = CODEC.decode(body)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert (adapted.messages, adapted.left_out, adapted.repairs) == (decoded.messages, {}, ())
    encoded = CODEC.encode(adapted.messages, decoded.originals)
    assert encoded.request == body
    assert list(encoded.request or ()) == list(body)
    assert all(sent is read for sent, read in zip(encoded.messages, body["messages"], strict=True))


def test_a_body_says_what_the_request_is() -> None:
    body = body_in("tools-and-thinking")
    decoded = CODEC.decode(body)
    assert decoded.tools == tuple(body["tools"])
    assert decoded.response_format is body["output_config"]["format"]
    assert (decoded.max_output_tokens, decoded.model) == (4000, "claude-opus-5-5")
    assert (decoded.leading, decoded.uncounted) == (1, ())
    assert CODEC.decode({"max_tokens": 0, "messages": []}) == replace(
        CODEC.decode([]), originals=CODEC.decode({"max_tokens": 0, "messages": []}).originals
    )


def test_the_system_field_is_the_first_message_and_has_no_index() -> None:
    decoded = CODEC.decode(body_in("tools-and-thinking"))
    head, first = decoded.messages[:2]
    assert (head.id, head.role, head.source, len(head.parts)) == ("system", "system", "system", 2)
    assert first.id == "m0"
    assert CODEC.decode(body_in("plain")).messages[0].parts == (Text("You are terse."),)
    assert CODEC.decode(body_in("plain")["messages"]).leading == 0


def test_ids_are_the_messages_own_or_their_index() -> None:
    decoded = CODEC.decode({"system": "s", "messages": [say("user", "a", id="system"), say("assistant", "b")]})
    assert [one.id for one in decoded.messages] == ["system-2", "system", "m1"]


def test_roles_and_sources_tell_results_from_the_words_of_the_user() -> None:
    messages = by_id(CODEC.decode(body_in("tools-and-thinking")))
    assert [messages[f"m{at}"].role for at in range(9)] == [
        *("user", "assistant", "tool", "assistant", "user", "assistant", "user", "assistant", "user")
    ]
    assert [name for name, one in messages.items() if one.source == "input"] == ["m8"]
    assert [type(part) for part in messages["m6"].parts] == [ToolResult, Text]
    plain = CODEC.decode(body_in("plain"))
    assert [one.source for one in plain.messages] == ["system", "history", "history", "input", "input"]


def test_blocks_become_parts() -> None:
    messages = by_id(CODEC.decode(body_in("tools-and-thinking")))
    assert messages["m1"].parts[:2] == (
        Reasoning("Two gauges answer this: the anemometer and the barometer.", "c2lnLW9uZQ=="),
        Reasoning(opaque="cmVkYWN0ZWQtb25l"),
    )
    assert messages["m1"].parts[3] == ToolCall("toolu_01wind", "read_gauge", '{"gauge":"anemometer"}')
    assert messages["m2"].parts[1] == ToolResult("toolu_01pressure", (Text("996 hPa, 1012 hPa six hours ago"),))
    assert messages["m6"].parts[0] == ToolResult("toolu_01bell", "The rope is stuck.", is_error=True)


def test_pictures_and_documents_become_parts() -> None:
    messages = by_id(CODEC.decode(body_in("pictures-and-documents")))
    assert messages["m0"].parts[:3] == (
        Image(data="iVBORw0KGgo=", media_type="image/png"),
        Image(url="https://example.org/lamp.jpg"),
        File(media_type="image/*", file_id="file_011lens"),
    )
    pdf, ruled, blocks, locked, by_url, by_file, search, upload, _ = messages["m2"].parts
    assert pdf == File(name="Manual", media_type="application/pdf", data="JVBERi0xLjQK")
    assert all(isinstance(part, Unknown) for part in (ruled, blocks, locked, search, upload))
    assert by_url == File(url="https://example.org/lens.pdf")
    assert by_file == File(name="Scan", file_id="file_011manual")
    inner = messages["m4"].parts[0]
    assert isinstance(inner, ToolResult)
    assert [type(part) for part in inner.content] == [Text, Image, File, Unknown, Unknown]


def test_server_tools_and_compactions_are_kept_as_they_are() -> None:
    kinds = [type(part) for part in by_id(CODEC.decode(body_in("server-tools")))["m1"].parts]
    assert kinds == [Text, Unknown, Unknown, Text]
    compaction = CODEC.decode(body_in("compacted")).messages[0].parts[0]
    assert isinstance(compaction, Compaction)
    assert compaction.provider == "anthropic"
    assert encode_one(Message("k", "assistant", (compaction,))) == body_in("compacted")["messages"][0]


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ("hello", ""),
        ({"model": "m"}, "messages"),
        ({"messages": [], "system": 5}, "system"),
        ({"messages": [], "system": [text("a"), 5]}, "system[1]"),
        ({"messages": [], "max_tokens": -1}, "max_tokens"),
        ({"messages": [], "max_tokens": True}, "max_tokens"),
        ({"messages": [], "tools": {}}, "tools"),
        ({"messages": [], "model": 5}, "model"),
        ({"messages": [], "output_config": {"format": "json"}}, "output_config.format"),
        ([5], "messages[0]"),
        ([say("tool", "x")], "messages[0].role"),
        ([{"content": "x"}], "messages[0].role"),
        ([say("user", 5)], "messages[0].content"),
        ([say("user", [5])], "messages[0].content[0]"),
        ([say("user", [{"type": "text"}])], "messages[0].content[0].text"),
        ([say("user", [{"type": "image"}])], "messages[0].content[0].source"),
        ([say("user", [{"type": "tool_use", "id": "x"}])], "messages[0].content[0].type"),
        ([say("assistant", [{"type": "tool_result", "tool_use_id": "x"}])], "messages[0].content[0].type"),
        (
            [say("assistant", [{"type": "tool_use", "id": "x", "name": "f", "input": 5}])],
            "messages[0].content[0].input",
        ),
        (
            [say("user", [{"type": "tool_result", "tool_use_id": "x", "content": [{"type": "text"}]}])],
            "messages[0].content[0].content[0].text",
        ),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(data: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CODEC.decode(data)
    assert caught.value.path == path


def test_shapes_that_histories_hold_are_mended_on_a_copy_and_named() -> None:
    chat = [
        say("user", ["a"]),
        say("assistant", [{"type": "tool_use", "id": "x", "name": "f", "input": '{"n": 1}'}]),
        say("user", [{"type": "tool_result", "tool_call_id": "x", "content": "b"}]),
        say("assistant", [{"type": "tool_use", "id": "y", "name": "f"}]),
        say("user", [{"type": "tool_result", "tool_use_id": "y"}]),
    ]
    before = copy.deepcopy(chat)
    decoded = CODEC.decode(chat)
    adapted = CODEC.adapt(decoded.messages, decoded.originals, protected=())
    assert [(repair.ids, repair.text) for repair in adapted.repairs] == [
        (("m0",), "wrote a bare text of the content as a text block"),
        (("m1",), "wrote the input of call x as an object"),
        (("m2",), "renamed tool_call_id to tool_use_id"),
        (("m3",), "wrote the input of call y as an object"),
    ]
    sent: list[Any] = CODEC.encode(adapted.messages, decoded.originals).messages
    assert anthropic_faults(sent) == []
    assert sent[1]["content"][0]["input"] == {"n": 1}
    assert chat == before


def test_keys_that_the_wire_does_not_read_are_kept_and_named() -> None:
    chat = [say("user", "a", id="u", meta={"manualExcluded": True}, ts=5)]
    decoded = CODEC.decode(chat)
    assert decoded.uncounted == ("ts",)
    assert decoded.messages[0].meta == {"manualExcluded": True}
    assert CODEC.encode(decoded.messages, decoded.originals).messages[0] is chat[0]


def test_a_changed_text_keeps_the_other_keys_of_its_block_and_all_other_blocks() -> None:
    body = body_in("pictures-and-documents")
    decoded = CODEC.decode(body)
    changed = with_texts(by_id(decoded)["m3"], {(0,): "Soon."})
    sent: Any = CODEC.encode([changed], decoded.originals).messages[0]
    assert sent["content"][0] == {**body["messages"][3]["content"][0], "text": "Soon."}
    assert sent["content"][1] is body["messages"][3]["content"][1]
    changed = with_texts(by_id(decoded)["m4"], {(0, 0): "Two."})
    sent = CODEC.encode([changed], decoded.originals).messages[0]
    assert sent["content"][0]["content"][0] == text("Two.")
    assert sent["content"][0]["content"][1:] == body["messages"][4]["content"][0]["content"][1:]


def test_messages_are_added_and_replaced_while_the_system_text_stays() -> None:
    body = body_in("tools-and-thinking")
    decoded = CODEC.decode(body)
    asked = say("assistant", [{"type": "tool_use", "id": "toolu_02", "name": "ring_bell", "input": {}}])
    more = [asked, say("user", [{"type": "tool_result", "tool_use_id": "toolu_02", "content": "rung"}])]
    longer = CODEC.splice(decoded, 9, 9, more)
    assert [one.role for one in longer.messages[-3:]] == ["user", "assistant", "tool"]
    assert longer.messages[-3].source == "history"
    assert longer.messages[-1].id == "m10"
    request = CODEC.encode(longer.messages, longer.originals).request or {}
    assert request == {**body, "messages": [*body["messages"], *more]}
    other = CODEC.splice(longer, 0, 1, [say("user", "Is it calm?")], ids=["m0"])
    assert other.messages[0] is decoded.messages[0]
    assert other.messages[1].parts == (Text("Is it calm?"),)
    assert other.leading == 1


def test_thinking_can_leave_while_its_answer_stays() -> None:
    body = body_in("tools-and-thinking")
    decoded = CODEC.decode(body)
    one = by_id(decoded)["m1"]
    stripped = replace(one, parts=tuple(part for part in one.parts if not isinstance(part, Reasoning)))
    sent: Any = CODEC.encode([stripped], decoded.originals).messages[0]
    assert sent == {"role": "assistant", "content": body["messages"][1]["content"][2:]}


def test_a_shortened_result_keeps_its_flags() -> None:
    body = body_in("tools-and-thinking")
    decoded = CODEC.decode(body)
    changed = with_texts(by_id(decoded)["m6"], {(0,): "Stuck."})
    sent: Any = CODEC.encode([changed], decoded.originals).messages[0]
    assert sent["content"][0] == {**body["messages"][6]["content"][0], "content": "Stuck."}


def test_a_changed_system_text_stays_in_its_field_with_its_cache_control() -> None:
    body = body_in("tools-and-thinking")
    decoded = CODEC.decode(body)
    changed = with_texts(decoded.messages[0], {(1,): "Lit at dusk."})
    request = CODEC.encode([changed, *decoded.messages[1:]], decoded.originals).request or {}
    assert request["system"] == [body["system"][0], {**body["system"][1], "text": "Lit at dusk."}]
    assert list(request) == list(body)


def test_a_system_message_that_left_takes_its_field_along() -> None:
    body = body_in("plain")
    decoded = CODEC.decode(body)
    request = CODEC.encode(decoded.messages[1:], decoded.originals).request
    assert request == {key: value for key, value in body.items() if key != "system"}


def test_system_text_from_scratch_is_one_text_or_blocks_in_a_request_of_its_own() -> None:
    one = message("s", "system", "Be brief.", source="system")
    persona = message("p", "system", "You are Ada.", source="persona")
    entry = message("l", "system", "The lamp is red.", source="lorebook", required=True)
    user = message("u")
    assert CODEC.encode([one, user]).request == {"system": "Be brief.", "messages": [say("user", "u")]}
    request = CODEC.encode([one, persona, user, entry]).request
    assert request == {
        "system": [text("Be brief."), text("You are Ada."), text("The lamp is red.")],
        "messages": [say("user", "u")],
    }
    assert CODEC.encode([user]).request is None


def test_system_text_of_another_format_joins_the_field_of_a_body() -> None:
    body = {"max_tokens": 5, "system": "Be brief.", "messages": [say("user", "a")]}
    decoded = CODEC.decode(body)
    persona = message("p", "developer", "You are Ada.", source="persona")
    request = CODEC.encode([*decoded.messages, persona], decoded.originals).request or {}
    assert request == {**body, "system": [text("Be brief."), text("You are Ada.")]}
    bare = CODEC.decode({"max_tokens": 5, "messages": [say("user", "a")], "stream": True})
    request = CODEC.encode([persona, *bare.messages], bare.originals).request or {}
    assert list(request) == ["max_tokens", "system", "messages", "stream"]


def test_an_aside_stands_at_the_front_of_the_next_user_message_behind_its_results() -> None:
    summary = message("k", "system", "So far: oil.", source="summary")
    memory = message("l", "system", "He likes tea.", source="memory")
    assert CODEC.encode([message("u"), summary, message("a", "assistant"), memory, message("v")]).messages == [
        say("user", "u"),
        say("assistant", "a"),
        say("user", [text("So far: oil."), text("He likes tea."), text("v")]),
    ]
    sent: list[Any] = CODEC.encode([message("u"), calls("a", "x"), summary, result("r", "x")]).messages
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "text"]


def test_an_aside_that_no_user_follows_stands_in_the_last_user_message_or_in_its_own() -> None:
    summary = message("k", "system", "So far: oil.", source="summary")
    assert CODEC.encode([message("u"), message("a", "assistant"), summary]).messages == [
        say("user", [text("So far: oil."), text("u")]),
        say("assistant", "a"),
    ]
    assert CODEC.encode([summary]).messages == [say("user", [text("So far: oil.")])]


def test_an_aside_leaves_the_objects_that_were_read_unchanged() -> None:
    chat = [say("user", "a"), say("assistant", "b"), say("user", "c")]
    before = copy.deepcopy(chat)
    decoded = CODEC.decode(chat)
    aside = message("k", "system", "So far.", source="plugin")
    sent = CODEC.encode([*decoded.messages[:2], aside, decoded.messages[2]], decoded.originals).messages
    assert sent[0] is chat[0]
    assert sent[2] == say("user", [text("So far."), text("c")])
    assert chat == before


def test_results_from_scratch_go_into_one_user_message_and_the_user_speaks_behind_them() -> None:
    pictured = Message("s", "tool", (ToolResult("y", (Text("see"), Image(data="iVBORw0KGgo=")), is_error=True),))
    sent: list[Any] = CODEC.encode(
        [message("u"), calls("a", "x", "y", text="Checking."), result("r", "x", ""), pictured, message("v")]
    ).messages
    assert sent[1] == say(
        "assistant",
        [
            text("Checking."),
            {"type": "tool_use", "id": "x", "name": "look", "input": {}},
            {"type": "tool_use", "id": "y", "name": "look", "input": {}},
        ],
    )
    assert sent[2]["content"][0] == {"type": "tool_result", "tool_use_id": "x", "content": ""}
    assert sent[2]["content"][1]["is_error"] is True
    assert sent[2]["content"][1]["content"][1]["source"]["media_type"] == "image/png"
    assert sent[3:] == [say("user", "v")]
    assert body_errors({"model": "m", "max_tokens": 5, "stream": True, "messages": sent}) == []


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            Image(url="data:image/jpeg;base64,/9j/"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/"}},
        ),
        (
            Image(data="UklGRg=="),
            {"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "UklGRg=="}},
        ),
        (
            File(media_type="image/*", file_id="file_1"),
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            File(name="x.png", media_type="image/png", data="iVBORw0KGgo="),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
        ),
        (
            File(name="x.pdf", data="JVBERi0="),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
                "title": "x.pdf",
            },
        ),
        (
            File(text="words"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        ),
        (
            File(media_type="text/csv", data="YSxi"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a,b"}},
        ),
        (
            File(url="https://example.org/x.pdf"),
            {"type": "document", "source": {"type": "url", "url": "https://example.org/x.pdf"}},
        ),
        (File(file_id="file_2"), {"type": "document", "source": {"type": "file", "file_id": "file_2"}}),
    ],
)
def test_pictures_and_files_of_other_formats_become_blocks(part: Part, block: Wire) -> None:
    one = Message("u", "user", (Text("see"), part))
    adapted = CODEC.adapt([one], None, protected=())
    assert adapted.messages == (one,)
    sent = encode_one(one)
    assert sent["content"][1] == block
    assert body_errors({"model": "m", "max_tokens": 5, "stream": True, "messages": [sent]}) == []


def test_what_no_message_can_hold_is_an_error_that_names_the_message() -> None:
    for one in (
        Message("x", "user", (ToolCall("c", "f", "{}"),)),
        Message("x", "assistant", (ToolResult("c", "d"),)),
        Message("x", "assistant", (ToolCall("c", "f", "{broken"),)),
        Message("x", "user", (Text("a"), Audio(data="AAAA"))),
    ):
        with pytest.raises(InvalidRequestError) as caught:
            CODEC.encode([one])
        assert caught.value.ids == ("x",)


@pytest.mark.parametrize(
    ("data", "mark"),
    [
        ([say("user", "a"), say("assistant", "b")], Recognition.MAYBE),
        ([say("user", [text("a")], id="u")], Recognition.MAYBE),
        ({"messages": [say("user", "a")], "max_tokens": 5}, Recognition.MAYBE),
        ([], Recognition.MAYBE),
        ({"messages": [say("user", "a")], "system": "s"}, Recognition.SURE),
        ({"messages": [say("user", "a")], "tools": [{"name": "f", "input_schema": {}}]}, Recognition.SURE),
        ([say("assistant", [{"type": "thinking", "thinking": "hm", "signature": "x"}])], Recognition.SURE),
        ([say("user", [{"type": "image", "source": {}}])], Recognition.SURE),
        ([say("system", "s"), say("user", [{"type": "tool_result"}])], Recognition.SURE),
        ([say("system", "s"), say("user", "a")], Recognition.NO),
        ([say("user", "a", name="ada")], Recognition.NO),
        ([say("developer", "s")], Recognition.NO),
        ([say("tool", "s", tool_call_id="x")], Recognition.NO),
        ([say("assistant", None)], Recognition.NO),
        ([say("assistant", "a", tool_calls=[])], Recognition.NO),
        ([say("user", [{"type": "image_url", "image_url": {}}])], Recognition.NO),
        ([say("user", [{"type": "image", "media_type": "image/png", "data": ""}])], Recognition.NO),
        ([say("user", [{"type": "input_text", "text": "a"}])], Recognition.NO),
        ([{"role": "user", "parts": [{"text": "a"}]}], Recognition.NO),
        ([say("user", [{"type": ["text"]}]), say(["user"], "a")], Recognition.NO),  # type: ignore[arg-type]
        ({"system": "s", "contents": []}, Recognition.NO),
        ({"input": "x", "messages": []}, Recognition.NO),
        ("text", Recognition.NO),
        (None, Recognition.NO),
        ([None], Recognition.NO),
    ],
)
def test_a_format_is_told_from_its_shape(data: object, mark: Recognition) -> None:
    assert CODEC.recognize(data) is mark


def cost(*parts: Part) -> Cost:
    """What parts add to a message, a character being a token."""
    whole = FRAMING.message_cost(Message("x", "user", parts), len)
    return Cost(whole.tokens - BARE, whole.approximate)


def test_a_message_costs_three_tokens_its_role_and_its_texts() -> None:
    def by_judge(words: str) -> int:
        return tokens(words)

    body = body_in("plain")
    decoded = CODEC.decode(body)
    total = sum(FRAMING.message_cost(one, by_judge).tokens for one in decoded.messages)
    said = [*body["messages"], {"role": "system", "content": body["system"]}]
    assert total == sum(3 + tokens(one["role"]) + tokens(one["content"]) for one in said)
    assert FRAMING.message_cost(result("r", "x", ""), len).tokens == BARE
    assert cost(Text("abc")) == Cost(3, APPROXIMATE)


def test_thinking_costs_its_text_and_what_is_encrypted_a_token_for_four_characters() -> None:
    assert cost(Reasoning("abc", "x" * 400)) == Cost(3, APPROXIMATE)
    assert cost(Reasoning(opaque="x" * 401)) == Cost(101, PARTS)


def test_calls_cost_their_name_and_their_input_and_results_their_content() -> None:
    assert cost(ToolCall("id", "look", '{"a":1}')) == Cost(11, APPROXIMATE)
    assert cost(ToolResult("id", "found")) == Cost(5, APPROXIMATE)
    pictured = cost(ToolResult("id", (Text("see"), Image(url="https://example.org/x"))))
    assert pictured == Cost(1503, IMAGES)


def test_blocks_that_are_no_parts_cost_their_texts_and_their_data() -> None:
    assert cost(Unknown({"type": "x", "text": "abc", "n": 5})) == Cost(13, PARTS)
    hidden = {"encrypted_content": "x" * 400}
    assert cost(Unknown({"list": [hidden, hidden]})).tokens == 4 + 2 * (len("encrypted_content") + 100)
    data = "A" * 80_000
    document = {"type": "document", "context": "abc", "source": {"type": "base64", "data": data}}
    assert cost(Unknown(document)).tokens == 3 * 1500 + len("typedocumentcontextabc")
    plain = {"type": "document", "context": "abc", "source": {"type": "text", "data": "words"}}
    assert cost(Unknown(plain)).tokens == 5 + len("typedocumentcontextabc")
    assert cost(Unknown(data)).tokens == 1500
    compaction = CODEC.decode(body_in("compacted")).messages[0].parts[0]
    assert cost(compaction).tokens > len("The keeper asked for oil; twelve barrels came in March.")
    assert cost(Notice("note"), Compaction("other", "x" * 99)).tokens == 0


def test_tools_cost_their_json_and_the_hidden_prompt_once() -> None:
    tools = body_in("tools-and-thinking")["tools"]
    texts = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools]
    bare = FRAMING.request_cost(tools=(), response_format=None, count=len)
    assert bare == Cost(3, APPROXIMATE)
    whole = FRAMING.request_cost(tools=tools, response_format={"type": "x"}, count=len)
    assert whole.tokens == 3 + 346 + sum(len(one) for one in texts) + len('{"type":"x"}')


def test_a_picture_is_priced_for_the_model() -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAHAAAABwCAIAAABJgmMcAAAACXBIWXMAAAsTAAALEwEAmpwYAAAA"  # 112 by 112 pixels
    priced = CODEC.framing("o200k_base", "claude-sonnet-4-5").message_cost(
        Message("u", "user", (Image(data=png, media_type="image/png"),)), len
    )
    assert priced == Cost(BARE + 16, APPROXIMATE)
