from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trimtab
from factories import Strategy
from responses_judge import FILES, body_in, order_faults, type_faults
from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_sdk import Edit, Insert, TokenBudgetExceededError

UNTIMED = settings(deadline=None, max_examples=30)
Body = dict[str, Any]
BY_NAME = {path.stem: path for path in FILES}
WHOLE = [path for path in FILES if path.stem != "continued"]


def registry() -> trimtab.ContextStrategyRegistry:
    own = trimtab.ContextStrategyRegistry()
    own.register_codec("openai-responses", OpenAIResponses(), replace=True)
    return own


REGISTRY = registry()


def fit(body: object, limit: int, **options: Any) -> trimtab.Fit:
    """Fit with nothing kept in reserve; every text of the files is in a vocabulary that is counted exactly."""
    return trimtab.fit(
        body,
        **{
            "model": "gpt-4o",
            "context_limit": limit,
            "reserve": 0,
            "format": "openai-responses",
            "registry": REGISTRY,
            **options,
        },
    )


def request(result: trimtab.Fit) -> Body:
    assert result.request is not None
    return result.request


def least(body: Body) -> int:
    """The smallest limit that does."""
    with pytest.raises(TokenBudgetExceededError) as caught:
        fit(body, 1)
    found = caught.value.smallest_limit
    assert found is not None
    return found


def faults(body: Body) -> list[str]:
    return [*type_faults(body), *(order_faults(body["input"]) if isinstance(body["input"], list) else ())]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_under_budget_the_body_comes_back_as_it_was(path: Path) -> None:
    body = body_in(path)
    result = fit(body, 100_000)
    assert request(result) == body
    assert result.excluded == ()
    assert result.tokenizer.framing == "approximate"


@pytest.mark.parametrize("path", WHOLE, ids=lambda path: path.stem)
def test_every_fitted_body_is_one_that_a_server_takes(path: Path) -> None:
    body = body_in(path)
    top = fit(body, 100_000).tokens_before
    low = least(body)
    step = max(7, (top - low) // 24)
    for limit in range(low, top + 1, step):
        result = fit(body, limit)
        assert result.tokens_after <= limit
        assert faults(request(result)) == []
        for key in body.keys() - {"input"}:
            assert request(result)[key] is body[key]


def test_indexes_count_items_and_instructions_have_none() -> None:
    body = body_in(BY_NAME["conversation"])
    result = fit(body, fit(body, 100_000).tokens_before - 1)
    assert [(entry.id, entry.index) for entry in result.excluded] == [("m0", 0)]
    first = result.kept[0]
    assert (first.id, first.index, first.reason) == ("instructions", None, "system")


def test_a_pin_by_index_names_an_item() -> None:
    body = body_in(BY_NAME["conversation"])
    result = fit(body, least(body) + 40, pins=[0])
    assert request(result)["input"][0] is body["input"][0]


def test_results_whose_calls_the_provider_holds_stay_at_any_budget() -> None:
    body = body_in(BY_NAME["continued"])
    result = fit(body, least(body))
    assert request(result)["input"] == body["input"][2:]
    assert [entry.reason for entry in result.kept] == ["system", "required", "required", "current-input"]


def test_when_the_prefix_moves_all_reasoning_behind_it_leaves_and_is_named() -> None:
    body = body_in(BY_NAME["reasoning"])
    result = fit(body, fit(body, 100_000).tokens_before - 1)
    items = request(result)["input"]
    assert [item for item in items if item.get("type") == "reasoning"] == []
    assert all("id" not in item for item in items if item.get("type") == "function_call")
    assert {name for one in result.diagnostics for name in one.ids} >= {"rs_chains1", "rs_chains2", "rs_chains3"}
    assert faults(request(result)) == []


def test_reasoning_in_front_of_a_change_stays() -> None:
    body = body_in(BY_NAME["reasoning"])
    result = fit(body, 100_000, excluded=["msg_chains1"])
    kept = [item["id"] for item in request(result)["input"] if item.get("type") == "reasoning"]
    assert kept == ["rs_chains1"]


def test_a_summary_stands_as_a_system_item_and_the_instructions_do_not_move() -> None:
    body = body_in(BY_NAME["conversation"])

    def answer(shift: Any, services: object) -> Edit:
        gone = [message.id for message in shift.messages if message.id in ("m0", "m1")]
        return Edit(drop=dict.fromkeys(gone, "summarized"), insert=[Insert("They met.", "at_gap", tuple(gone))])

    own = registry()
    own.register("recap", Strategy(answer))
    result = fit(body, fit(body, 100_000).tokens_before - 1, strategy="recap", registry=own)
    out = request(result)
    assert out["instructions"] == body["instructions"]
    assert out["input"][0]["role"] == "system"
    assert "They met." in out["input"][0]["content"]
    assert out["input"][1:] == body["input"][2:]
    assert faults(out) == []


CALLS = st.integers(0, 5)
WORDS = "The harbour clerk counted the crates twice. "


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    """Valid bodies: turns with reasoning, parallel calls and answers, some of them ending in an open step."""
    items: list[Body] = []
    for turn in range(draw(st.integers(1, 6))):
        items.append({"type": "message", "role": "user", "content": f"{turn}: {WORDS * draw(st.integers(1, 4))}"})
        for step in range(draw(st.integers(0, 2))):
            name = f"{turn}_{step}"
            if draw(st.booleans()):
                items.append(
                    {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": "x" * 99}
                )
            calls = [f"call_{name}_{at}" for at in range(draw(st.integers(1, 3)))]
            items += [
                {"type": "function_call", "id": f"fc_{one}", "call_id": one, "name": "f", "arguments": "{}"}
                for one in calls
            ]
            items += [
                {"type": "function_call_output", "call_id": one, "output": WORDS}
                for one in draw(st.permutations(calls))
            ]
        if draw(st.booleans()):
            text = {"type": "output_text", "text": WORDS, "annotations": []}
            items.append(
                {
                    "type": "message",
                    "id": f"msg_{turn}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [text],
                }
            )
    return {"model": "gpt-4o", "instructions": "Be brief.", "input": items, "store": False}


@UNTIMED
@given(bodies(), st.data())
def test_any_budget_gives_a_body_within_it_that_a_server_takes(body: Body, data: st.DataObject) -> None:
    assert faults(body) == []
    top = fit(body, 1_000_000).tokens_before
    limit = data.draw(st.integers(least(body), top))
    result = fit(body, limit)
    assert result.tokens_after <= limit
    assert faults(request(result)) == []
    again = fit(request(result), limit)
    assert request(again) == request(result)
