"""Whole fits of Anthropic bodies: at every budget the wire takes what goes out."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
from anthropic_bodies import CHATS, SYSTEMS
from anthropic_wire import anthropic_faults, blocks_of, body_errors
from factories import Strategy
from trimtab_sdk import Edit, Insert, InvalidRequestError, TokenBudgetExceededError

FILES = sorted((Path(__file__).parent / "anthropic_files").glob("*.json"))
ROOMY = 1_000_000
Body = dict[str, Any]


def fit(body: object, limit: int, **options: Any) -> trimtab.Fit:
    asked = {"model": "claude-opus-5-5", "format": "anthropic-messages", "context_limit": limit, "reserve": 0}
    return trimtab.fit(body, **{**asked, **options})


def long_body(rounds: int = 12, *, pictured: bool = True) -> Body:
    """A conversation of tool steps and thinking that ends in a picture, its turns of several shapes."""
    messages: list[Body] = []
    for at in range(rounds):
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": "look", "input": {"shelf": at}}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": f"{at} crates of rope. " * 9}
        thought = {"type": "thinking", "thinking": f"Shelf {at} first. " * 5, "signature": "c2ln"}
        more: list[Body] = [{"type": "text", "text": "Look again."}] if at % 3 == 1 else []
        messages += [
            {"role": "user", "content": f"What is on shelf {at}?"},
            {"role": "assistant", "content": [thought, call] if at % 2 else [call]},
            {"role": "user", "content": [result, *more]},
            {"role": "assistant", "content": f"Rope, {at} crates."},
        ]
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/x.png"}}
    asked = {"type": "text", "text": "And here?"}
    messages.append({"role": "user", "content": [picture, asked] if pictured else [asked]})
    tools = [{"name": "look", "input_schema": {"type": "object", "properties": {"shelf": {"type": "integer"}}}}]
    return {
        "model": "m",
        "max_tokens": 99,
        "stream": True,
        "tools": tools,
        "system": "Be brief.",
        "messages": messages,
    }


def check(body: Body, result: trimtab.Fit, limit: int) -> None:
    assert result.tokens_after <= limit
    request: Any = result.request
    assert anthropic_faults(request["messages"], request.get("system")) == []
    given = blocks(body)
    assert all(block in given for block in blocks(request))
    entries = [*result.kept, *result.truncated, *result.inserted]
    assert result.overhead + sum(entry.tokens for entry in entries) == result.tokens_after
    reported = [entry.index for entry in (*result.kept, *result.excluded, *result.truncated)]
    places = [place for place in reported if place is not None]
    assert sorted(places) == list(range(len(body["messages"])))


def blocks(request: Body) -> list[Any]:
    return [block for one in request["messages"] for block in blocks_of(one)]


@pytest.mark.parametrize("strategy", ["truncate", "manual"])
def test_at_every_budget_the_wire_takes_what_goes_out(strategy: str) -> None:
    body = long_body()
    before = copy.deepcopy(body)
    whole = fit(body, ROOMY).tokens_before
    fitted = 0
    for limit in range(whole // 3, whole * 5 // 4, 97):
        try:
            result = fit(body, limit, strategy=strategy)
        except TokenBudgetExceededError:
            continue
        check(body, result, limit)
        assert body_errors(result.request) == []
        fitted += result.tokens_after < whole
    assert fitted > 10
    assert body == before


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_fits_at_every_budget_that_holds_what_must_stay(path: Path) -> None:
    body = {"model": "m", "stream": True, **json.loads(path.read_text(encoding="utf-8"))}
    unchanged = fit(body, ROOMY)
    assert unchanged.request == body
    assert unchanged.excluded == ()
    assert [one.code for one in unchanged.diagnostics] == ["approximate-tokenizer"]
    beta = path.stem == "compacted"
    whole = unchanged.tokens_before
    for limit in range(whole // 4, whole * 5 // 4, max(1, whole // 40)):
        try:
            result = fit(body, limit)
        except TokenBudgetExceededError:
            continue
        assert anthropic_faults(result.messages, (result.request or {}).get("system")) == []
        assert body_errors(result.request, beta=beta) == []


def test_the_system_message_has_no_index_and_indexes_are_those_of_the_list() -> None:
    body = long_body(2)
    result = fit(body, ROOMY, excluded=[0])
    assert [entry.id for entry in result.excluded] == ["m0", "m1", "m2", "m3"]
    assert result.kept[0].id == "system"
    assert result.kept[0].index is None
    assert [entry.index for entry in result.kept[1:]] == [4, 5, 6, 7, 8]


def test_a_summary_stands_as_a_block_of_its_own_in_the_next_user_message() -> None:
    body = long_body(4, pictured=False)
    registry = trimtab.ContextStrategyRegistry()
    gone = [f"m{at}" for at in range(4)]
    edit = Edit(drop=dict.fromkeys(gone, "summarized"), insert=[Insert("Shelf 0 has rope.", covers=gone)])
    registry.register("mine", Strategy(lambda request, services: edit))
    whole = fit(body, ROOMY).tokens_before
    result = fit(body, whole - 1, strategy="mine", registry=registry)
    request: Any = result.request
    assert anthropic_faults(request["messages"], request["system"]) == []
    assert request["system"] is body["system"]
    first = request["messages"][0]["content"]
    assert "Shelf 0 has rope." in first[0]["text"]
    assert first[1]["text"] == "What is on shelf 1?"
    assert [entry.reason for entry in result.inserted] == ["summary"]


def converted(case: str) -> tuple[trimtab.Conversion, Body]:
    path = next((Path(__file__).parent.parent / "cases").glob(f"{case}-*.json"))
    data = json.loads(path.read_text(encoding="utf-8"))
    source = "neutral" if data["format"] == "neutral" else "chat-completions"
    conversion = trimtab.convert(data["messages"], to="anthropic-messages", format=source)
    return conversion, {"model": "m", "max_tokens": 9, "stream": True, **(conversion.request or {})}


@pytest.mark.parametrize("case", ["07", "21", "26", "27", "28", "34", "36", "41", "47", "51", "53"])
def test_a_case_in_another_format_becomes_a_body_that_the_wire_takes(case: str) -> None:
    _, body = converted(case)
    assert body_errors(body) == []
    assert anthropic_faults(body["messages"], body.get("system")) == []
    assert fit(body, ROOMY).request == body


def test_a_marker_between_a_call_and_its_result_stands_behind_them_and_is_named() -> None:
    conversion, body = converted("34")
    kinds = [[block["type"] for block in blocks_of(one)] for one in body["messages"]]
    assert kinds == [["text"], ["tool_use"], ["tool_result"], ["text"], ["text"], ["text"]]
    assert any("moved the result of n1" in note.message for note in conversion.notes)


def test_results_of_one_step_in_three_messages_become_one() -> None:
    _, body = converted("53")
    results = body["messages"][2]["content"]
    assert [block["tool_use_id"] for block in results] == ["A", "B", "C"]
    assert [block["type"] for block in results[1]["content"]] == ["text", "image"]
    assert results[2]["content"] == ""
    assert body["messages"][3] == {"role": "user", "content": "Also: is it warm there?"}


def test_calls_that_share_an_id_get_one_each() -> None:
    conversion, body = converted("26")
    assert [block["id"] for block in body["messages"][1]["content"]] == ["fetch_page", "fetch_page-2"]
    assert [block["content"] for block in body["messages"][2]["content"]] == [
        "page one: opening hours",
        "page two: holidays",
    ]
    assert any("must be unique" in note.message for note in conversion.notes)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHATS, SYSTEMS, st.integers(20, 400), st.sampled_from(["truncate", "manual"]))
def test_every_fit_gives_what_the_wire_takes(chat: list[Body], system: object, limit: int, strategy: str) -> None:
    body = {"system": system, "messages": chat} if system is not None else {"messages": chat}
    before = copy.deepcopy(body)
    try:
        result = fit(body, limit, strategy=strategy)
    except (TokenBudgetExceededError, InvalidRequestError) as error:
        assert isinstance(error, TokenBudgetExceededError) or error.ids
        return
    finally:
        assert body == before
    assert result.tokens_after <= limit
    request: Any = result.request
    assert anthropic_faults(request["messages"], request.get("system")) == []
    assert body_errors({"model": "m", "max_tokens": 9, "stream": True, "messages": request["messages"]}) == []
