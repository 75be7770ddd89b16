"""The snapshot of a window: its share, its severity, what was reported of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talks import count, fit, talk
from trimtab.snapshot import ContextSnapshot, Severity
from trimtab_sdk.provider import Usage

BORDERS: list[tuple[int, Severity, Severity]] = [
    (7_000, "normal", "info"),
    (8_500, "info", "warning"),
    (9_200, "warning", "danger"),
    (9_700, "danger", "critical"),
]
LEAST: dict[Severity, int] = {"normal": 0, "info": 7_000, "warning": 8_500, "danger": 9_200, "critical": 9_700}


def snapshot(tokens: int, limit: int | None = 10_000, budget: int = 7_500) -> ContextSnapshot:
    return ContextSnapshot(estimated_input_tokens=tokens, budget=budget, context_limit=limit)


@pytest.mark.parametrize(("border", "below", "at"), BORDERS)
def test_a_severity_begins_exactly_at_its_border(border: int, below: Severity, at: Severity) -> None:
    assert (snapshot(border - 1).severity, snapshot(border).severity) == (below, at)


@given(st.integers(0, 3_000_000), st.integers(1, 2_000_000))
def test_the_severity_is_that_of_whole_numbers(tokens: int, limit: int) -> None:
    severity = snapshot(tokens, limit).severity
    assert tokens * 10_000 >= LEAST[severity] * limit
    above = [least for least in LEAST.values() if least > LEAST[severity]]
    assert not above or tokens * 10_000 < min(above) * limit


@given(st.integers(0, 3_000_000), st.integers(1, 2_000_000))
def test_the_ratio_that_is_shown_agrees_with_the_severity_that_is_shown(tokens: int, limit: int) -> None:
    said = snapshot(tokens, limit).to_dict()
    ratio = said["estimatedUsageRatio"]
    assert isinstance(ratio, float)
    assert snapshot(round(ratio * 10_000), 10_000).severity == said["severity"]
    assert 0 <= tokens / limit - ratio < 0.00011


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_more_tokens_are_never_less_severe(one: int, other: int, limit: int) -> None:
    order = list(LEAST)
    low, high = sorted((one, other))
    assert order.index(snapshot(low, limit).severity) <= order.index(snapshot(high, limit).severity)


def test_what_is_reported_stands_above_what_is_estimated() -> None:
    before = snapshot(1_000)
    after = before.reported(Usage(input_tokens=9_800, output_tokens=40))
    assert (before.severity, after.severity) == ("normal", "critical")
    assert (after.tokens, after.estimated_input_tokens, after.reported_output_tokens) == (9_800, 1_000, 40)
    assert before.reported(None) is before
    assert before.reported(Usage(output_tokens=40)).tokens == 1_000


def test_without_a_limit_the_share_is_that_of_the_budget_and_an_empty_budget_is_full() -> None:
    assert snapshot(6_000, None).estimated_usage_ratio == 0.8
    empty = snapshot(0, None, budget=0)
    assert (empty.severity, empty.to_dict()["estimatedUsageRatio"]) == ("critical", 1.0)


def test_the_snapshot_of_a_fit_has_its_figures() -> None:
    chat = talk(20)
    done = fit(chat, count(chat) // 2)
    made = ContextSnapshot.from_fit(done, usage=Usage(input_tokens=5))
    assert made.to_dict() == {
        "estimatedInputTokens": done.tokens_after,
        "contextLimit": count(chat) // 2,
        "budget": done.budget.available,
        "reserve": 0,
        "estimatedUsageRatio": made.to_dict()["estimatedUsageRatio"],
        "severity": "normal",
        "reportedInputTokens": 5,
        "excluded": len(done.excluded),
        "approximate": False,
    }
    assert ContextSnapshot.from_fit(done, excluded=77).excluded == 77


def test_an_approximate_framing_makes_the_snapshot_approximate() -> None:
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    done = fit([{"role": "user", "content": "hi"}], 10_000, format="chat-completions", tools=tools)
    assert done.tokenizer.framing == "approximate"
    assert ContextSnapshot.from_fit(done).approximate
