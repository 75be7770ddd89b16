from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import request_tokens, tokens
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    Cost,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

UNTIMED = settings(deadline=None)
FRAMING = ChatCompletions().framing("o200k_base")
BUILDS_VOCABULARY = pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")
BARE = 3 + len("user")
FUNCTION_TOOL = {
    "type": "function",
    "function": {
        "name": "get_current_weather",
        "description": "Get the current weather in a given location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
                "unit": {
                    "type": "string",
                    "description": "The unit of temperature to return",
                    "enum": ["celsius", "fahrenheit"],
                },
            },
            "required": ["location"],
        },
    },
}


def cost(*parts: Part) -> Cost:
    """What parts add to a message, a character being a token."""
    whole = FRAMING.message_cost(Message("x", "user", parts), len)
    return Cost(whole.tokens - BARE, whole.approximate)


def tools_cost(*tools: object, profile: str = "o200k_base") -> int:
    framing = ChatCompletions().framing(profile)
    return framing.request_cost(tools=tools, response_format=None, count=len).tokens - 3


def tool(**function: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", **function}}


def properties(**schemas: object) -> dict[str, Any]:
    return tool(parameters={"type": "object", "properties": schemas})


def test_a_message_costs_three_its_role_its_texts_and_its_name_with_one_more() -> None:
    message = Message("x", "assistant", (Text("four"), Text("five5")), name="Bo")
    assert FRAMING.message_cost(message, len) == Cost(3 + 9 + 4 + 5 + 2 + 1)


def test_a_request_costs_three_for_the_priming() -> None:
    assert FRAMING.request_cost(tools=(), response_format=None, count=len) == Cost(3)


def test_a_call_costs_its_name_and_its_arguments_and_its_framing_is_unknown() -> None:
    assert cost(ToolCall("a long call id", "look", "{}")) == Cost(6, frozenset({"framing"}))


def test_a_result_costs_its_texts_alone() -> None:
    assert cost(ToolResult("call id", "found")) == Cost(5)
    assert cost(ToolResult("call id", (Text("ab"), Image(data="A" * 9000)))) == Cost(1502, frozenset({"images"}))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Reasoning("think"), Cost(5)),
        (Reasoning("think", "x" * 9), Cost(5 + 3, frozenset({"parts"}))),
        (Reasoning("", "x" * 9000, tokens=40), Cost(40)),
    ],
)
def test_reasoning_costs_its_text_and_what_the_provider_counted_or_a_quarter_of_its_data(
    part: Part, expected: Cost
) -> None:
    assert cost(part) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (Image(url="data:image/png;base64," + "A" * 150_000, detail="low"), 85),
        (Image(url="https://x.test/a.png"), 1500),
        (Image(data="A" * 150_000, detail="high"), 1500),
    ],
)
def test_an_image_has_a_flat_price_and_its_data_are_no_text(image: Image, expected: int) -> None:
    assert cost(image) == Cost(expected, frozenset({"images"}))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Audio(data="A" * 4000, format="mp3"), 32),
        (Audio(data="A" * 8000, format="mp3"), 64),
        (Audio(data="A" * 8000, format="wav"), 32),
        (Audio(audio_id="audio_1"), 1500),
        (File(name="a.pdf", data="A" * 40_000, media_type="application/pdf"), 5 + 2 * 1500),
        (File(name="a.txt", data="A" * 400, media_type="text/plain"), 5 + 100),
        (File(file_id="file-1"), 1500),
        (File(text="plain words"), 11),
    ],
)
def test_sounds_and_files_are_priced_by_their_size(part: Part, expected: int) -> None:
    assert cost(part) == Cost(expected, frozenset({"parts"}))


def test_an_unknown_part_costs_every_text_inside_it() -> None:
    raw = {"type": "hologram", "payload": {"text": "hello", "more": ["abc", 7, None]}}
    expected = sum(map(len, ["type", "hologram", "payload", "text", "hello", "more", "abc"]))
    assert cost(Unknown(raw)) == Cost(expected, frozenset({"parts"}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A" * 513, 1500),
        ("A" * 512, 512),
        ("QUJD" * 2000 + "==", 1500),
        ("data:video/mp4;base64," + "QUJD" * 2000, 1500),
        ("word " * 200, 1000),
        ("é" * 600, 600),
    ],
)
def test_long_base64_in_an_unknown_part_has_a_flat_price(text: str, expected: int) -> None:
    assert cost(Unknown([text])).tokens == expected


def test_what_is_never_written_costs_nothing() -> None:
    unwritten = (
        Notice("n", {"a": "b"}),
        ApprovalRequest("p", "c"),
        ApprovalResponse("p", True),
        Compaction("p", "x"),
    )
    assert cost(*unwritten) == Cost(0)


@BUILDS_VOCABULARY
@pytest.mark.parametrize(("profile", "published"), [("o200k_base", 101), ("cl100k_base", 105)])
def test_the_published_example_costs_what_was_published(profile: str, published: int) -> None:
    chat = [
        {
            "role": "system",
            "content": "You are a helpful assistant that can answer to questions about the weather.",
        },
        {"role": "user", "content": "What's the weather like in San Francisco?"},
    ]
    framing = ChatCompletions().framing(profile)

    def count(text: str) -> int:
        return tokens(text, profile)

    messages = sum(
        framing.message_cost(message, count).tokens for message in ChatCompletions().decode(chat).messages
    )
    request = framing.request_cost(tools=[FUNCTION_TOOL], response_format=None, count=count)
    assert messages + request.tokens == published
    assert request.approximate == {"framing"}


def test_a_function_costs_seven_or_ten_its_line_and_twelve_once() -> None:
    assert tools_cost(tool(description="does it.")) == 7 + len("f:does it") + 12
    assert tools_cost(tool(description="does it."), profile="cl100k_base") == 10 + len("f:does it") + 12
    assert tools_cost(tool(), tool()) == 2 * (7 + len("f:")) + 12


def test_properties_cost_three_and_three_with_a_line_for_each() -> None:
    schema = properties(a={"type": "string", "description": "one."}, b={"type": "integer"})
    lines = len("a:string:one") + len("b:integer:")
    assert tools_cost(schema) == 7 + 2 + 12 + 3 + 2 * 3 + lines


def test_each_value_of_an_enum_costs_three_more() -> None:
    plain = tools_cost(properties(a={"type": "string"}))
    assert tools_cost(properties(a={"type": "string", "enum": ["x", "yy"]})) == plain - 3 + (3 + 1) + (3 + 2)


def test_nested_properties_and_items_are_priced_like_properties() -> None:
    flat = tools_cost(properties(a={"type": "object"}))
    inner = {"type": "object", "properties": {"b": {"type": "string"}}}
    assert tools_cost(properties(a=inner)) == flat + 3 + 3 + len("b:string:")
    items = {"type": "array", "items": {"type": "string"}}
    assert tools_cost(properties(a=items)) == flat - 1 + 3 + len("items:string:")


def test_a_property_that_is_no_object_costs_its_json_text() -> None:
    assert tools_cost(properties(a=True)) == 7 + 2 + 12 + 3 + 3 + len("a:true")


@pytest.mark.parametrize(
    "extra", [{"$defs": {"x": {"type": "string"}}}, {"title": "A title"}, {"required": ["zz"]}]
)
def test_whatever_else_a_schema_says_costs_its_json_text(extra: dict[str, object]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    plain = tools_cost(tool(parameters=schema))
    assert tools_cost(tool(parameters={**schema, **extra})) == plain + len(
        json.dumps(extra, separators=(",", ":"))
    )


def test_strict_and_required_cost_nothing_more() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    told = {**schema, "required": ["a"], "additionalProperties": False}
    assert tools_cost(tool(parameters=told, strict=True)) == tools_cost(tool(parameters=schema))


@pytest.mark.parametrize("odd", [{"type": "web_search"}, {"function": {}}, "name", None, [1, 2]])
def test_a_tool_that_is_no_function_costs_its_json_text(odd: object) -> None:
    assert tools_cost(odd) == len(json.dumps(odd, separators=(",", ":")))


def test_a_response_format_costs_its_json_text() -> None:
    cost = FRAMING.request_cost(tools=(), response_format={"type": "json_object"}, count=len)
    assert cost == Cost(3 + len('{"type":"json_object"}'), frozenset({"framing"}))


TEXTS = st.one_of(st.sampled_from(["", "<|endoftext|>", "はい、そうです。", "x" * 90]), st.text(max_size=30))
CHATS = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}, optional={"name": TEXTS}
    ),
    max_size=6,
)


@BUILDS_VOCABULARY
@UNTIMED
@given(CHATS)
def test_chat_and_neutral_count_what_an_independent_counter_counts(chat: list[dict[str, Any]]) -> None:
    named = [{**message, "name": message.get("name") or "x"} for message in chat]
    neutral = [{"id": f"x{at}", **message} for at, message in enumerate(named)]
    for codec, wire in ((ChatCompletions(), named), (Neutral(), neutral)):
        framing = codec.framing("o200k_base")
        request = framing.request_cost(tools=(), response_format=None, count=tokens).tokens
        messages = codec.decode(wire).messages
        total = request + sum(framing.message_cost(message, tokens).tokens for message in messages)
        assert total == request_tokens(named)


KEYS = st.sampled_from(
    ["type", "function", "name", "parameters", "properties", "items", "enum", "description", "a"]
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=24,
)


@UNTIMED
@given(st.one_of(JSON, JSON.map(lambda inner: {"function": {"name": "f", "parameters": inner}})))
def test_any_tool_has_a_cost_and_each_text_in_it_counts(schema: Any) -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    assert FRAMING.request_cost(tools=[schema], response_format=None, count=count).tokens > 0
    assert len("".join(counted)) >= _letters_in(schema)


def _letters_in(value: object) -> int:
    """The characters of all texts that are values, trailing dots of descriptions aside."""
    if isinstance(value, str):
        return len(value.rstrip("."))
    if isinstance(value, dict):
        return sum(_letters_in(inner) for key, inner in value.items() if key != "type")
    return sum(map(_letters_in, value)) if isinstance(value, list) else 0
