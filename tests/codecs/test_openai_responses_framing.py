from __future__ import annotations

import json
from typing import Any

import pytest

from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_sdk import (
    ApprovalRequest,
    Aspect,
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

CODEC = OpenAIResponses()
FRAMING = CODEC.framing("o200k_base")
BARE = 3 + len("user")
FRAMED: frozenset[Aspect] = frozenset({"framing"})
PARTS: frozenset[Aspect] = frozenset({"framing", "parts"})
IMAGES: frozenset[Aspect] = frozenset({"framing", "images"})
FLAT = {
    "type": "function",
    "name": "look",
    "description": "Looks around.",
    "parameters": {"type": "object", "properties": {"where": {"type": "string"}}},
    "strict": False,
}


def cost(*parts: Part) -> Cost:
    """What parts add to an item, a character being a token."""
    whole = FRAMING.message_cost(Message("x", "user", parts), len)
    return Cost(whole.tokens - BARE, whole.approximate)


def overhead(*tools: Any, response_format: Any = None) -> int:
    return FRAMING.request_cost(tools=tools, response_format=response_format, count=len).tokens


def test_an_item_costs_three_its_role_and_its_texts_and_is_never_exact() -> None:
    assert FRAMING.message_cost(Message("x", "user", (Text("hello"),)), len) == Cost(BARE + 5, FRAMED)


def test_calls_cost_their_name_and_arguments_and_results_what_they_hold() -> None:
    assert cost(ToolCall("call_1", "look", "{}")) == Cost(6, FRAMED)
    assert cost(ToolResult("call_1", "found")) == Cost(5, FRAMED)
    assert cost(ToolResult("call_1", (Text("a"), Text("bc")))) == Cost(3, FRAMED)


def test_reasoning_costs_what_the_provider_said_else_its_length() -> None:
    assert cost(Reasoning("thought", "x" * 400, tokens=9)) == Cost(9, FRAMED)
    assert cost(Reasoning("", "x" * 9)) == Cost(3, PARTS)
    assert cost(Reasoning("ab", "x" * 9)) == Cost(5, PARTS)
    assert cost(Reasoning("abc")) == Cost(3, FRAMED)


def test_compactions_are_sent_and_so_they_cost_something() -> None:
    assert cost(Compaction("openai", "x" * 41)) == Cost(11, PARTS)


def test_what_is_never_sent_costs_nothing() -> None:
    assert cost(Notice("x", {"text": "long"}), ApprovalRequest("p", "c")) == Cost(0, FRAMED)


def test_pictures_cost_more_than_nothing_however_they_are_held() -> None:
    for part in (
        Image(url="https://x.test/a.png"),
        Unknown({"type": "input_image", "file_id": "file-1"}),
        Unknown({"type": "computer_screenshot", "file_id": "file-1"}),
        ToolResult("c", (Image(url="https://x.test/a.png"),)),
    ):
        assert cost(part) == Cost(1500, IMAGES)
    assert cost(Image(url="https://x.test/a.png", detail="low")) == Cost(85, IMAGES)


def test_pictures_have_the_price_of_the_model() -> None:
    picture = Message("x", "user", (Image(url="https://x.test/a.png", width=512, height=512),))
    named = CODEC.framing("o200k_base", "gpt-4o").message_cost(picture, len)
    assert named == Cost(BARE + 255, FRAMED)
    assert named == Cost(
        ChatCompletions().framing("o200k_base", "gpt-4o").message_cost(picture, len).tokens, FRAMED
    )


def test_sounds_and_files_have_stated_prices() -> None:
    assert cost(Audio(data="AAAA", format="mp3")) == Cost(32, PARTS)
    assert cost(File(name="a.pdf", file_id="file-1")) == Cost(1505, PARTS)
    assert cost(File(text="abc")) == Cost(3, PARTS)


def test_items_kept_whole_cost_all_their_texts_and_data_a_flat_price() -> None:
    assert cost(Unknown({"type": "x", "say": ["ab", 7]})) == Cost(len("typexsayab"), PARTS)
    assert cost(Unknown({"r": "A" * 600})) == Cost(1501, PARTS)


def test_a_request_costs_its_priming_even_without_tools() -> None:
    assert FRAMING.request_cost(tools=(), response_format=None, count=len) == Cost(3, FRAMED)


def test_flat_functions_cost_what_nested_ones_do_on_the_chat_wire() -> None:
    nested = {"type": "function", "function": {key: value for key, value in FLAT.items() if key != "type"}}
    chat = ChatCompletions().framing("o200k_base").request_cost(tools=[nested], response_format=None, count=len)
    assert overhead(FLAT) == chat.tokens


@pytest.mark.parametrize("tool", [{"type": "web_search"}, {"type": "custom", "name": "f"}, "odd", 7])
def test_other_tools_cost_their_json(tool: object) -> None:
    assert overhead(tool) == 3 + len(json.dumps(tool, separators=(",", ":")))


def test_a_text_format_costs_its_json() -> None:
    assert overhead(response_format={"type": "json_object"}) == 3 + len('{"type":"json_object"}')


def test_a_decoded_conversation_counts_each_text_once() -> None:
    items = [
        {"role": "user", "content": "alpha"},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "beta"}]},
        {"type": "function_call", "call_id": "c", "name": "gamma", "arguments": "{delta}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "epsilon"}]},
        {"type": "web_search_call", "id": "ws", "action": {"query": "zeta"}},
    ]
    seen: list[str] = []

    def count(text: str) -> int:
        seen.append(text)
        return len(text)

    for message in CODEC.decode(items).messages:
        FRAMING.message_cost(message, count)
    for word in ("alpha", "beta", "gamma", "{delta}", "epsilon", "zeta"):
        assert seen.count(word) == 1
