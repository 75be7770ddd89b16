from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.catalogue import Model
from trimtab.fitting.budget import BudgetRule
from trimtab_sdk import InvalidBudgetError


def model(context: int | None = 1000, max_input: int | None = None, max_output: int | None = None) -> Model:
    return Model("m", "p", context, max_input, max_output, "o200k_base")


def available(rule: BudgetRule, limit: int | None = None) -> int:
    return rule.budget(limit).available


def test_the_default_reserve_is_a_quarter_or_the_longest_answer_if_that_is_less() -> None:
    assert available(BudgetRule(model())) == 750
    assert available(BudgetRule(model(max_output=100))) == 900


def test_the_callers_reserve_goes_before_the_requests_and_that_before_the_default() -> None:
    assert available(BudgetRule(model(), max_output=300)) == 700
    assert available(BudgetRule(model(), reserve=10, max_output=300)) == 990
    assert available(BudgetRule(model(), reserve=0)) == 1000


def test_the_room_for_input_bounds_the_budget_whatever_the_limit() -> None:
    assert available(BudgetRule(model(max_input=600), reserve=0)) == 600
    assert available(BudgetRule(model(max_input=600), reserve=0), 5000) == 600
    assert available(BudgetRule(model(context=None, max_input=600))) == 600


def test_the_callers_limit_goes_before_the_catalogues() -> None:
    assert available(BudgetRule(model(), reserve=0), 5000) == 5000


def test_an_approximate_count_keeps_a_tenth_and_the_figures_add_up() -> None:
    budget = BudgetRule(model(), reserve=5, approximate=True).budget(None)
    assert (budget.available, budget.margin) == (895, 100)
    assert budget.available + budget.margin + budget.reserve == 1000


def test_without_any_limit_there_is_no_budget() -> None:
    with pytest.raises(InvalidBudgetError, match="--limit"):
        BudgetRule(model(context=None)).budget(None)


def test_a_reserve_that_takes_everything_is_refused_also_when_the_request_asks_for_it() -> None:
    for rule in (BudgetRule(model(), reserve=1000), BudgetRule(model(), max_output=2000)):
        with pytest.raises(InvalidBudgetError, match="reserve"):
            rule.budget(None)


RULES = st.builds(
    BudgetRule,
    st.builds(
        model,
        st.none() | st.integers(1, 5000),
        st.none() | st.integers(1, 5000),
        st.none() | st.integers(1, 5000),
    ),
    st.none() | st.integers(0, 500),
    st.none() | st.integers(1, 500),
    st.booleans(),
)


@given(RULES, st.integers(1, 4000))
def test_the_smallest_limit_that_would_do_does_and_one_less_does_not(rule: BudgetRule, needed: int) -> None:
    limit = rule.smallest_limit(needed)
    if limit is None:
        assert rule.model.max_input is not None
        assert available(rule, 1_000_000) < needed
        return
    assert available(rule, limit) >= needed
    with suppress(InvalidBudgetError):
        assert available(rule, limit - 1) < needed
