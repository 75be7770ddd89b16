from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab_plugins.codecs.chat_completions import ChatCompletions
from trimtab_plugins.codecs.neutral import Neutral
from trimtab_sdk import InvalidRequestError, Recognition

UNTIMED = settings(deadline=None)
NO, MAYBE, SURE = Recognition.NO, Recognition.MAYBE, Recognition.SURE
NESTED = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
FLAT = {"id": "c", "name": "f", "arguments": {}}


def marks(data: object) -> tuple[Recognition, Recognition]:
    """What chat-completions and neutral say."""
    return ChatCompletions().recognize(data), Neutral().recognize(data)


def user(content: object = "hi", **keys: object) -> dict[str, Any]:
    return {"role": "user", "content": content, **keys}


@pytest.mark.parametrize("data", [[], {"messages": []}, [user(id="a")], [user(id="a", name="Bo")]])
def test_plain_messages_may_be_either(data: object) -> None:
    assert marks(data) == (MAYBE, MAYBE)


@pytest.mark.parametrize(
    "data", [[user()], [user(id="a"), user()], [user(id=7)], {"messages": [user()], "model": "m"}]
)
def test_without_an_id_on_every_message_it_is_not_neutral(data: object) -> None:
    assert marks(data) == (MAYBE, NO)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [NESTED]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "custom", "custom": {}}]},
        {"role": "assistant", "content": None, "function_call": {"name": "f"}},
        {"role": "function", "content": "x", "name": "f"},
        user([{"type": "image_url", "image_url": {"url": "x"}}]),
        user([{"type": "input_audio", "input_audio": {}}]),
        user([{"type": "file", "file": {}}]),
        user([{"type": 4}, "bare", {"type": "image_url"}]),
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ],
)
def test_shapes_of_chat_completions_are_no_neutral_ones(message: dict[str, Any]) -> None:
    assert marks([message]) == (SURE, NO)
    assert marks({"messages": [{**message, "id": "a", "ts": 1}]}) == (SURE, NO)


@pytest.mark.parametrize("key", ["refusal", "reasoning", "reasoning_content", "reasoning_details"])
def test_keys_of_chat_completions_make_it_sure(key: str) -> None:
    assert marks([{"role": "assistant", "content": "a", key: None}]) == (SURE, NO)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "", "tool_calls": [FLAT]},
        user([{"type": "image", "media_type": "image/png", "data": "AAAA"}]),
    ],
)
def test_neutral_shapes_are_none_of_chat_completions(message: dict[str, Any]) -> None:
    assert marks([{**message, "id": "a"}]) == (NO, SURE)


@pytest.mark.parametrize(
    "key",
    [
        "kind",
        "required",
        "approval_requests",
        "approval_responses",
        "blocks",
        "item_id",
        "origin",
        "parent",
        "ts",
    ],
)
def test_neutral_keys_make_it_sure_where_ids_are(key: str) -> None:
    assert marks([user(id="a", **{key: None})]) == (MAYBE, SURE)
    assert marks([user(**{key: None})]) == (MAYBE, NO)


def test_neutral_keys_weigh_more_than_reasoning_beside_them() -> None:
    message = {"id": "a", "role": "assistant", "content": "a", "reasoning": "hm", "ts": 1}
    assert marks([message]) == (MAYBE, SURE)


@pytest.mark.parametrize(
    "data",
    [
        [user([{"type": "tool_result", "tool_use_id": "t"}], id="a")],
        [{"id": "a", "role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}],
        [user([{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}], id="a")],
        [user([{"type": "input_text", "text": "hi"}], id="a")],
        [user(), {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
        [{"role": "user", "parts": [{"text": "hi"}]}],
        [{"role": "model", "content": "hi"}],
        {"system": "s", "messages": [user()]},
        {"contents": []},
        {"input": "hi"},
        ["hi"],
        [None],
        [{"role": ["user"], "content": "x"}],
        "hi",
        None,
        7,
    ],
)
def test_other_formats_and_other_things_are_neither(data: object) -> None:
    assert marks(data) == (NO, NO)


KEYS = st.sampled_from(["id", "role", "content", "type", "tool_calls", "function", "name", "messages", "kind"])
JSON = st.recursive(
    st.one_of(st.none(), st.integers(0, 1), st.sampled_from(["user", "assistant", "tool", "text", "image"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=16,
)


@UNTIMED
@given(st.one_of(JSON, JSON.map(lambda inner: [inner]), JSON.map(lambda inner: {"messages": [inner]})))
def test_any_json_is_judged_and_what_one_is_sure_of_the_other_is_not(data: Any) -> None:
    assert list(marks(data)).count(SURE) < 2


@UNTIMED
@given(st.lists(st.sampled_from(["hi", "", "é"]).map(lambda text: user(text)), max_size=5))
def test_what_may_be_chat_completions_can_be_read_as_such(chat: list[dict[str, Any]]) -> None:
    try:
        ChatCompletions().decode(chat)
    except InvalidRequestError as error:
        pytest.fail(str(error))
