from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import cache
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus import CODE, PROSE, mixed_text, prose
from trimtab.fitting.approximate import ApproximateV1
from trimtab_plugins.tokenizers.openai import O200kBase

estimate = ApproximateV1().count


@cache
def exact() -> Callable[[str], int]:
    return O200kBase().count


def ratio(text: str) -> float:
    return estimate(text) / exact()(text)


@pytest.mark.parametrize("language", PROSE)
def test_prose_is_hardly_underestimated_in_any_language(language: str) -> None:
    assert 0.95 <= ratio(prose(language)) <= 1.35


def test_prose_is_a_little_overestimated_on_the_whole() -> None:
    assert 1.0 <= mean(ratio(prose(language)) for language in PROSE) <= 1.1


@pytest.mark.parametrize("language", CODE)
def test_code_is_hardly_underestimated_in_any_language(language: str) -> None:
    assert 0.95 <= ratio(CODE[language].strip()) <= 1.4


def test_mixed_text_is_near_the_exact_count() -> None:
    assert 0.9 <= ratio(mixed_text(300_000, seed=41)) <= 1.25


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("user", 1, 1),
        ("assistant", 1, 2),
        ("Hello, world!", 3, 6),
        ('{"city": "Oslo", "days": 3}', 9, 14),
        ("你好，世界", 2, 6),
        ("😀", 1, 3),
        ("1234567890", 4, 8),
        ("\n", 1, 1),
        ("ы" * 1_000, 100, 1_000),
        (" " * 100_000, 700, 1_600),
        ("a" * 8_000, 1_000, 2_000),
        ("-" * 8_000, 1_000, 5_000),
    ],
)
def test_small_and_uniform_texts_have_sensible_figures(text: str, low: int, high: int) -> None:
    assert low <= estimate(text) <= high


@given(st.text())
def test_only_nothing_costs_nothing_and_no_text_more_than_its_bytes(text: str) -> None:
    assert (estimate(text) == 0) == (text == "")
    assert estimate(text) <= len(text.encode())


@given(st.text(st.characters()))
def test_a_text_with_surrogates_is_estimated_too(text: str) -> None:
    assert estimate(text + "\ud83d") >= 1


@pytest.mark.parametrize("language", ["english", "russian", "hindi", "japanese"])
def test_a_long_text_costs_in_proportion(language: str) -> None:
    text = prose(language) + "\n"
    assert estimate(text * 400) == pytest.approx(400 * estimate(text), rel=0.03)


def test_a_long_text_takes_little_memory() -> None:
    text = prose("russian") * 10_000
    tracemalloc.start()
    try:
        estimate(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000 < len(text)


def test_the_profile_says_that_it_is_approximate() -> None:
    tokenizer = ApproximateV1()
    assert (tokenizer.profile, tokenizer.version, tokenizer.approximate) == ("approximate-v1", "1", True)
