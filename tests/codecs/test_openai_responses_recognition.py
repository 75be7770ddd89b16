from __future__ import annotations

from typing import Any

import pytest

from responses_judge import FILES, body_in
from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_sdk import Recognition

NO, MAYBE, SURE = Recognition.NO, Recognition.MAYBE, Recognition.SURE
USER = {"role": "user", "content": "hi"}


def mark(data: object) -> Recognition:
    return OpenAIResponses().recognize(data)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_bodies_with_input_are_ours_and_nobody_elses(path: Any) -> None:
    body = body_in(path)
    assert mark(body) is SURE
    assert (ChatCompletions().recognize(body), Neutral().recognize(body)) == (NO, NO)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "message", **USER},
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "x"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": ""},
        {"type": "reasoning", "summary": []},
        {"type": "item_reference", "id": "x"},
        {"type": "web_search_call"},
    ],
)
def test_typed_items_make_a_list_sure(item: dict[str, Any]) -> None:
    assert mark([USER, item]) is SURE
    assert mark({"input": [USER, item]}) is SURE


@pytest.mark.parametrize(
    "items", [[], [USER], [USER, {"role": "assistant", "content": "a"}], [{"role": "system", "content": None}]]
)
def test_plain_messages_may_be_ours(items: list[Any]) -> None:
    assert mark(items) is MAYBE
    assert mark({"input": items}) is SURE


@pytest.mark.parametrize(
    "item",
    [
        "hi",
        {},
        {"role": "tool", "content": "x", "tool_call_id": "c"},
        {"role": "function", "name": "f", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "assistant", "content": None, "function_call": {}},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]},
        {"role": "user", "content": ["hi"]},
        {"role": "user", "parts": [{"text": "hi"}]},
        {"type": "user_input", "content": [{"type": "text", "text": "hi"}]},
        {"type": "function_call", "id": "c", "name": "f", "arguments": {}},
        {"type": "function_result", "call_id": "c", "result": "x"},
        {"type": ["message"], "role": "user"},
    ],
)
def test_shapes_of_other_formats_are_not_ours(item: Any) -> None:
    assert mark([USER, item]) is NO
    assert mark({"input": [item]}) is NO


@pytest.mark.parametrize(
    "body",
    [
        7,
        None,
        "hi",
        {},
        {"messages": [USER]},
        {"messages": [USER], "input": "hi"},
        {"input": None},
        {"input": {"type": "message"}},
        {"contents": []},
        {"input": "hi", "system_instruction": "s"},
        {"input": "hi", "previous_interaction_id": "v1_x"},
    ],
)
def test_other_inputs_are_not_ours(body: object) -> None:
    assert mark(body) is NO
