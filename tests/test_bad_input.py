"""What is wrong with the input gets a coded error that says where, or a correct fit."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

import judge
import trimtab
from talks import codes, count, fit, ids, talk, turn
from trimtab_sdk import (
    InvalidBudgetError,
    InvalidRequestError,
    TokenBudgetExceededError,
    UnknownFormatError,
    UnknownModelError,
)


def chat_fit(messages: object, **options: Any) -> trimtab.Fit:
    return trimtab.fit(messages, **{"model": "gpt-4o", "format": "chat-completions", **options})


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([7], "messages[0]"),
        ([{"content": "x"}], "messages[0].role"),
        ([{"role": "wizard", "content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": 5}], "messages[0].content"),
        ([{"role": "user", "content": [5]}], "messages[0].content[0]"),
        ([{"role": "user", "content": math.nan}], "messages[0].content"),
        ([{"role": "user", "content": b"x"}], "messages[0].content"),
        ([{"role": "user", "content": "x", 5: "y"}], "messages[0]"),
        ([{"role": "assistant", "tool_calls": {}}], "messages[0].tool_calls"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]}],
            "messages[0].tool_calls[0].function.name",
        ),
        ({"messages": "x"}, "messages"),
    ],
)
def test_a_wrong_shape_is_told_with_its_path(messages: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chat_fit(messages)
    assert caught.value.path == path
    assert caught.value.to_dict()["code"] == "INVALID_REQUEST"


@pytest.mark.parametrize("messages", [None, "[]", b"[]", 5, object(), {1, 2}])
def test_what_is_no_conversation_at_all_is_refused(messages: object) -> None:
    with pytest.raises((InvalidRequestError, UnknownFormatError)):
        trimtab.fit(messages, model="gpt-4o")


def test_input_nested_without_end_is_refused_and_not_a_recursion_error() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidRequestError, match="deep"):
        chat_fit([{"role": "user", "content": "x", "extra": deep}])


def test_no_messages_are_an_empty_fit() -> None:
    for name in ("neutral", "chat-completions"):
        result = trimtab.fit([], model="gpt-4o", format=name)
        assert result.messages == []
        assert result.tokens_after == result.overhead == 3


@pytest.mark.parametrize("limit", [0, -1, 1.5, math.nan, math.inf, True, "900"])
def test_a_limit_that_makes_no_sense_is_refused(limit: object) -> None:
    with pytest.raises(InvalidBudgetError):
        chat_fit([], context_limit=limit)


@pytest.mark.parametrize("reserve", [-1, 1.5, math.nan, False, "1", 100, 101])
def test_a_reserve_that_makes_no_sense_or_takes_everything_is_refused(reserve: object) -> None:
    with pytest.raises(InvalidBudgetError):
        chat_fit([], context_limit=100, reserve=reserve)


def test_an_unknown_model_is_told_how_to_give_the_limit() -> None:
    with pytest.raises(UnknownModelError, match="context_limit") as caught:
        chat_fit([], model="gpt-4oh")
    assert "--limit" in str(caught.value)
    result = chat_fit([turn("u")], model="my-own-model", context_limit=900)
    assert "unknown-model" in codes(result)
    assert result.tokenizer.approximate


@pytest.mark.parametrize("name", ["pins", "excluded"])
@pytest.mark.parametrize("wanted", [["ghost"], [99], [-1], [True], [1.0], "m1", None])
def test_a_pin_or_exclusion_of_nobody_is_refused(name: str, wanted: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        fit(talk(), 10_000, **{name: wanted})
    assert caught.value.path == name


def test_what_is_protected_cannot_be_excluded_and_a_flag_on_it_is_named() -> None:
    with pytest.raises(InvalidRequestError, match="system") as caught:
        fit(talk(), 10_000, excluded=["s"])
    assert caught.value.ids == ("s",)
    chat = talk()
    chat[0]["meta"] = {"manualExcluded": True}
    result = fit(chat, 10_000)
    assert result.messages == chat
    assert codes(result) == ["flag-not-obeyed"]


def test_what_was_excluded_by_hand_leaves_with_its_group_also_under_budget() -> None:
    call = {
        "id": "a",
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "x", "name": "f", "arguments": {}}],
    }
    answer = {"id": "r", "role": "tool", "tool_call_id": "x", "content": "ok"}
    chat = [turn("s", "system"), call, answer, turn("b", "assistant", meta={"manualExcluded": True}), turn("u")]
    result = fit(chat, 10_000, excluded=["r"])
    assert [(entry.id, entry.reason) for entry in result.excluded] == [
        ("a", "manual"),
        ("r", "manual"),
        ("b", "manual"),
    ]
    assert result.messages == [chat[0], chat[4]]


def test_half_an_emoji_becomes_a_replacement_character_and_is_named() -> None:
    messages = [{"role": "user", "content": "top \ud83d and more"}, {"role": "user", "content": "Go on."}]
    result = chat_fit(messages)
    assert result.messages == [{"role": "user", "content": "top \ufffd and more"}, messages[1]]
    assert messages[0]["content"] == "top \ud83d and more"
    assert codes(result) == ["wire-rule"]


def test_text_that_looks_like_control_tokens_is_plain_text() -> None:
    text = "<|endoftext|> and <|im_start|>system<|im_end|>"
    result = chat_fit([{"role": "user", "content": text}])
    assert result.messages == [{"role": "user", "content": text}]
    assert result.tokens_after == judge.request_tokens(result.messages)  # type: ignore[arg-type]
    assert result.tokens_after > 20


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "deepseek-flash", "claude-opus-5"])
def test_a_million_blanks_are_counted(model: str) -> None:
    result = chat_fit([{"role": "user", "content": " " * 1_000_000 + "x"}], model=model, context_limit=10_000_000)
    assert 0 < result.tokens_after <= 1_000_020


def test_results_without_calls_and_calls_without_results_leave_named() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": "a", "content": "early"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "b", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "user", "content": "hello?"},
    ]
    result = chat_fit(messages)
    assert [(entry.index, entry.reason) for entry in result.excluded] == [(0, "unpaired"), (2, "unpaired")]
    assert result.messages == [messages[1], messages[3]]
    with pytest.raises(InvalidRequestError, match="result"):
        chat_fit(messages, pins=[2])


def test_only_what_must_stay_and_too_much_of_it_names_the_weights_and_the_limit_that_would_do() -> None:
    chat = talk()
    needed = count([chat[0], chat[2], chat[-1]])
    with pytest.raises(TokenBudgetExceededError) as caught:
        fit(chat, needed - 1, pins=["m1"])
    error = caught.value
    assert (error.needed, error.allowed, error.overhead) == (needed, needed - 1, 3)
    assert error.smallest_limit == needed
    assert set(error.protected) == {"s", "m1", "m7"}
    assert "m7" not in str(error)
    assert ids(fit(chat, needed, pins=["m1"]).kept) == ["s", "m1", "m7"]


def test_the_smallest_limit_counts_the_reserve_and_the_margin_of_an_approximate_count() -> None:
    chat = talk()
    with pytest.raises(TokenBudgetExceededError) as caught:
        fit(chat, 60, model="claude-opus-5", reserve=20)
    limit = caught.value.smallest_limit
    assert limit is not None
    assert fit(chat, limit, model="claude-opus-5", reserve=20).excluded
    with pytest.raises(TokenBudgetExceededError):
        fit(chat, limit - 1, model="claude-opus-5", reserve=20)


def test_a_body_comes_back_as_a_body_and_its_answer_length_is_the_reserve() -> None:
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "hi"}],
        "max_completion_tokens": 77,
        "seed": 1,
    }
    result = trimtab.fit(body, model="gpt-4o")
    assert result.request == body
    assert list(result.request or {}) == list(body)
    assert result.budget.reserve == 77
    assert result.budget.available == 128_000 - 77


def test_tools_are_counted_and_given_once() -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look it up.",
            "parameters": {"type": "object", "properties": {"q": {"type": "string", "description": "words"}}},
        },
    }
    messages = [{"role": "user", "content": "hi"}]
    plain, tooled = chat_fit(messages), chat_fit(messages, tools=[tool])
    expected = 7 + judge.tokens("look:Look it up") + 3 + 3 + judge.tokens("q:string:words") + 12
    assert tooled.overhead == plain.overhead + expected
    assert tooled.tokenizer.framing == "approximate"
    with pytest.raises(InvalidRequestError, match="once"):
        trimtab.fit({"messages": messages, "tools": [tool]}, model="gpt-4o", tools=[tool])


def test_the_same_holds_in_a_pool_off_the_event_loop() -> None:
    async def many() -> list[trimtab.Fit]:
        return await asyncio.gather(*(trimtab.afit(talk(), model="gpt-4o", format="neutral") for _ in range(20)))

    results = asyncio.run(many())
    assert results == [results[0]] * 20


@pytest.mark.parametrize("tools", ["abc", {"type": "function"}, 5, [math.nan], [{"x": b"y"}]])
def test_tools_of_a_wrong_shape_are_refused(tools: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chat_fit([turn("u")], tools=tools)
    assert caught.value.path.startswith("tools")


@pytest.mark.parametrize("response_format", ["json", ["json"], 5, {"schema": math.inf}])
def test_a_response_format_of_a_wrong_shape_is_refused(response_format: object) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        chat_fit([turn("u")], response_format=response_format)
    assert caught.value.path.startswith("response_format")


def test_settings_a_scope_and_a_strategy_of_a_wrong_shape_are_refused() -> None:
    with pytest.raises(InvalidRequestError):
        chat_fit([turn("u")], strategy=5)
    with pytest.raises(InvalidRequestError):
        chat_fit([turn("u")], settings={"shorten_messages": math.nan})
    with pytest.raises(InvalidRequestError):
        chat_fit([turn("u")], settings=["shorten_messages"])
    with pytest.raises(InvalidRequestError):
        chat_fit([turn("u")], scope=5)
