from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_requests import Desk
from trimtab_sdk import ServiceUnavailableError
from trimtab_strategies.meaning import NoMeaningError, by_meaning

VECTORS = st.lists(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=2, max_size=7)


def answering(answer: object) -> Desk:
    return Desk(lambda texts: answer)  # type: ignore[arg-type,return-value]


def test_a_text_that_means_the_same_scores_highest() -> None:
    desk = answering([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]])
    near, far = by_meaning("q", ["near", "far"], desk)
    assert near > 0.9
    assert far == 0


def test_what_all_texts_have_in_common_counts_as_nothing() -> None:
    alike = [[10.0, 1.0, 0.0], [10.0, 1.0, 0.1], [10.0, -1.0, 0.0], [10.0, 0.0, 1.0]]
    near, off, aside = by_meaning("q", ["a", "b", "c"], answering(alike))
    assert near > 0.9
    assert off < 0.2
    assert aside < 0.5


def test_blank_texts_are_not_embedded_and_score_nothing() -> None:
    asked: list[list[str]] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(texts)
        return [[1.0]] * len(texts)

    assert by_meaning("q", ["", "word", " \n"], Desk(embed)) == [0, 1, 0]
    assert asked == [["q", "word"]]
    assert by_meaning(" ", ["word"], Desk(embed)) == [0]
    assert by_meaning("q", [""], Desk(embed)) == [0]
    assert len(asked) == 1


@given(VECTORS)
def test_scores_are_from_0_to_1_whatever_the_vectors(vectors: list[list[float]]) -> None:
    found = by_meaning("q", ["text"] * (len(vectors) - 1), answering(vectors))
    assert all(0 <= score <= 1 for score in found)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        [[1.0]],
        [[1.0], [1.0, 2.0]],
        [[], []],
        [[1.0], ["one"]],
        [[1.0], [math.nan]],
        [[1.0], [math.inf]],
        [[1.0], 1.0],
    ],
)
def test_an_answer_that_is_no_vectors_is_refused(answer: object) -> None:
    with pytest.raises(NoMeaningError, match="no vectors"):
        by_meaning("q", ["text"], answering(answer))


def test_an_embedder_that_raises_is_named_by_its_error() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        raise ServiceUnavailableError("embed")

    with pytest.raises(NoMeaningError, match="ServiceUnavailableError"):
        by_meaning("q", ["text"], Desk(embed))
