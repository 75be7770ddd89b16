from __future__ import annotations

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from trimtab_strategies.edges import end_of_beginning, is_inside, start_of_end

PIECES = [
    *"ab .\n!。東が",
    "\r\n",
    "e\u0301",
    "👩🏽",
    "👨‍👩‍👧",
    "🇩🇪",
    "🇫🇷",
    "क्षि",
    "각",
    "ｶﾞ",
    "🏴\U000e0067\U000e007f",
    "1\ufe0f\u20e3",
]
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=60).map("".join)


def characters(text: str) -> set[int]:
    """Where a text may be cut, after an implementation of UAX #29 that is not ours."""
    ends = [0]
    for cluster in regex.findall(r"\X", text):
        ends.append(ends[-1] + len(cluster))
    return set(ends)


@given(TEXTS)
def test_a_cut_that_is_not_inside_parts_no_character(text: str) -> None:
    allowed = characters(text)
    assert all(at in allowed for at in range(len(text) + 1) if not is_inside(text, at))


@given(TEXTS, st.integers(1, 80), st.integers(1, 80))
def test_beginnings_and_ends_keep_their_size_and_part_no_character(text: str, one: int, other: int) -> None:
    least, most = sorted((min(one, len(text)), min(other, len(text))))
    end = end_of_beginning(text, most, least=least)
    start = start_of_end(text, most, least=least)
    allowed = characters(text)
    if end is None:
        assert all(is_inside(text, at) for at in range(least, most + 1))
    else:
        assert least <= end <= most
        assert end in allowed
    if start is None:
        assert all(is_inside(text, len(text) - size) for size in range(least, most + 1))
    else:
        assert least <= len(text) - start <= most
        assert start in allowed


SENTENCES = "The first crate is here. The second one is late! Is the third lost? Nobody knows yet."
LINES = "first line of it\nsecond line of it\nthird line of it\nfourth line of it"
CHINESE = "第一个箱子在这里。第二个箱子晚了！第三个箱子丢了吗？没有人知道。"


@pytest.mark.parametrize(
    ("text", "most", "beginning"),
    [
        (SENTENCES, 60, "The first crate is here. The second one is late!"),
        (SENTENCES, 24, "The first crate is here."),
        (LINES, 40, "first line of it\nsecond line of it"),
        (CHINESE, 20, "第一个箱子在这里。第二个箱子晚了！"),
        ("one two three four five", 12, "one two"),
        ("onetwothreefourfive", 12, "onetwothreef"),
    ],
)
def test_a_beginning_ends_with_a_sentence_a_line_or_a_word(text: str, most: int, beginning: str) -> None:
    assert text[: end_of_beginning(text, most, least=3)] == beginning


@pytest.mark.parametrize(
    ("text", "most", "end"),
    [
        (SENTENCES, 50, " Is the third lost? Nobody knows yet."),
        (LINES, 40, "\nthird line of it\nfourth line of it"),
        (CHINESE, 20, "第三个箱子丢了吗？没有人知道。"),
        ("one two three four five", 12, " four five"),
        ("onetwothreefourfive", 12, "hreefourfive"),
    ],
)
def test_an_end_starts_with_a_sentence_a_line_or_a_word(text: str, most: int, end: str) -> None:
    assert text[start_of_end(text, most, least=3) :] == end


def test_a_point_inside_a_number_or_a_name_ends_no_sentence() -> None:
    text = "Version 3.14 of trimtab.fit weighs crates"
    assert text[: end_of_beginning(text, 11, least=3)] == "Version"


def test_a_sentence_that_ended_long_ago_is_not_waited_for() -> None:
    text = "Short. " + "word " * 1000
    end = end_of_beginning(text, 3000, least=20)
    assert end is not None
    assert end > 2900


def test_the_halves_of_a_surrogate_pair_stay_together() -> None:
    assert is_inside("\ud83d\ude42", 1)


def test_where_every_place_parts_a_character_there_is_no_edge() -> None:
    text = "e" + "\u0301" * 100
    assert end_of_beginning(text, 60, least=20) is None
    assert start_of_end(text, 60, least=20) is None
