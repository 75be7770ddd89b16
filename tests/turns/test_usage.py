"""Reported usage: summed over calls, and set beside our own count."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from trimtab.usage import UsageRatios, sum_usage
from trimtab_sdk.provider import Usage


def test_usage_is_summed_figure_by_figure_and_what_nobody_tells_stays_unknown() -> None:
    calls = [Usage(input_tokens=10, cached_tokens=4), None, Usage(input_tokens=5, output_tokens=2)]
    assert sum_usage(calls) == Usage(input_tokens=15, output_tokens=2, cached_tokens=4)
    assert sum_usage([None]) is None
    assert sum_usage([]) is None


def test_a_ratio_tells_count_mean_least_and_most() -> None:
    ratios = UsageRatios()
    for reported in (90, 110, 130):
        ratios.add("openai", "gpt", reported=reported, estimated=100)
    assert ratios.to_dict() == {
        "usageRatios": [
            {"provider": "openai", "model": "gpt", "count": 3, "mean": 1.1, "min": 0.9, "max": 1.3},
        ]
    }


def test_models_and_providers_are_kept_apart() -> None:
    ratios = UsageRatios()
    ratios.add("b", "gpt", reported=1, estimated=1)
    ratios.add("a", "gpt", reported=2, estimated=1)
    assert [(one.provider, one.mean) for one in ratios.all()] == [("a", 2.0), ("b", 1.0)]


def test_a_call_that_tells_nothing_leaves_no_trace() -> None:
    ratios = UsageRatios()
    assert ratios.add("a", "m", reported=None, estimated=5) is None
    assert ratios.add("a", "m", reported=0, estimated=5) is None
    assert ratios.add("a", "m", reported=5, estimated=0) is None
    assert ratios.all() == ()


def test_the_model_that_was_not_called_for_longest_is_forgotten_first() -> None:
    ratios = UsageRatios(most=2)
    for model in ("one", "two", "one", "three"):
        ratios.add("p", model, reported=1, estimated=1)
    assert [one.model for one in ratios.all()] == ["one", "three"]
    assert ratios.ratio("p", "two") is None


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)), min_size=1, max_size=40))
def test_the_mean_is_the_mean_and_lies_between_the_least_and_the_most(calls: list[tuple[int, int]]) -> None:
    ratios = UsageRatios()
    for reported, estimated in calls:
        last = ratios.add("p", "m", reported=reported, estimated=estimated)
    assert last is not None
    told = [reported / estimated for reported, estimated in calls]
    assert last.count == len(calls)
    assert (last.least, last.most) == (min(told), max(told))
    assert last.least <= last.mean <= last.most
    assert math.isclose(last.mean, sum(told) / len(told), rel_tol=1e-9)


def test_no_call_is_lost_between_threads() -> None:
    ratios = UsageRatios()

    def work(_: int) -> None:
        for _ in range(500):
            ratios.add("p", "m", reported=3, estimated=2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    last = ratios.ratio("p", "m")
    assert last is not None
    assert (last.count, last.mean) == (4_000, 1.5)
