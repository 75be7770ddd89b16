"""Results over their share are cut to their beginning and end, never over the share by the counter."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimtab.fitting.approximate import ApproximateV1
from trimtab.turns.tool_results import fair_parts, shares, shorten_result, shorten_text
from trimtab_plugins.tokenizers.openai import O200kBase
from trimtab_sdk import MARKER, File, Image, Text, ToolResult

O200K = O200kBase().count
WORDS = " ".join(f"word{at}" for at in range(2000))


def bytes_of(text: str) -> int:
    return len(text.encode())


def pairs_of(text: str) -> int:
    """A counter for which two texts together may cost less than each alone, or more than both."""
    return len(re.findall(r"aa|bb?|[^ab]", text)) + 3 * text.count("ab[")


COUNTERS: list[Callable[[str], int]] = [bytes_of, len, pairs_of, ApproximateV1().count, O200K]
texts = st.one_of(
    st.text(max_size=400),
    st.text(alphabet="ab e\u0301\u200d👩", max_size=400).map(lambda text: text * 7),
    st.sampled_from(["word ", "漢字", "👩‍👩‍👧 ", "e\u0301"]).flatmap(
        lambda word: st.integers(0, 4000).map(lambda times: word * times)
    ),
)


@given(texts, st.integers(-5, 300), st.sampled_from(COUNTERS))
@example("ab" * 3000, 50, pairs_of)
def test_a_text_never_takes_more_than_its_share_and_its_ends_are_its_own(
    text: str, tokens: int, count: Callable[[str], int]
) -> None:
    short = shorten_text(text, tokens=tokens, count=count)
    assert count(short) <= max(0, tokens)
    assert shorten_text(text, tokens=tokens, count=count) == short
    if count(text) <= tokens:
        assert short == text
    elif short:
        begin, marker, end = short.partition(MARKER)
        assert marker
        assert text.startswith(begin)
        assert text.endswith(end)
        assert len(begin) + len(end) < len(text)


@pytest.mark.parametrize("count", [bytes_of, O200K, ApproximateV1().count], ids=["bytes", "o200k", "approximate"])
@pytest.mark.parametrize("tokens", [20, 100, 1000, 3000])
def test_two_thirds_of_what_stays_are_the_beginning_and_the_share_is_used(
    count: Callable[[str], int], tokens: int
) -> None:
    short = shorten_text(WORDS * 3, tokens=tokens, count=count)
    begin, _, end = short.partition(MARKER)
    assert tokens * 0.95 - 4 <= count(short) <= tokens
    assert count(begin) == pytest.approx(tokens * 2 / 3, abs=tokens * 0.05 + 4)
    assert count(end) == pytest.approx(tokens / 3, abs=tokens * 0.05 + 4)


def test_a_character_stays_with_its_marks() -> None:
    text = "e\u0301" * 300
    for tokens in range(10, 60):
        begin, _, end = shorten_text(text, tokens=tokens, count=len).partition(MARKER)
        assert begin == "e\u0301" * (len(begin) // 2)
        assert end == "e\u0301" * (len(end) // 2)


def test_a_family_is_not_parted() -> None:
    family = "👩‍👩‍👧"
    for tokens in range(15, 60):
        begin, _, end = shorten_text(family * 40, tokens=tokens, count=len).partition(MARKER)
        assert set(begin.split(family)) <= {""}
        assert set(end.split(family)) <= {""}


def test_a_mark_that_never_ends_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 10_000
    assert 990 <= len(shorten_text(text, tokens=1000, count=len)) <= 1000


def test_where_not_even_the_marker_fits_nothing_stays() -> None:
    assert shorten_text("abcdef", tokens=3, count=len) == MARKER
    assert shorten_text("abcdef", tokens=2, count=len) == ""
    assert shorten_text("abcdef", tokens=0, count=len) == ""


def test_a_result_within_its_share_is_the_same_object() -> None:
    result = ToolResult("1", "short", is_error=True)
    found, whole = shorten_result(result, share_tokens=5, count=len)
    assert found is result
    assert whole is None


def test_a_shortened_result_comes_with_its_whole_text() -> None:
    result = ToolResult("1", "abcdefghijklmnop", is_error=True)
    found, whole = shorten_result(result, share_tokens=9, count=len)
    assert found == ToolResult("1", "abcd[…]op", is_error=True)
    assert whole == "abcdefghijklmnop"


def test_of_parts_only_the_texts_are_shortened_and_fairly() -> None:
    image, paper = Image(url="https://example.org/a.png"), File(text="f" * 500)
    result = ToolResult("1", (Text("tiny"), image, Text("a" * 100), paper, Text("b" * 100)))
    found, whole = shorten_result(result, share_tokens=44, count=len)
    assert found.content == (
        Text("tiny"),
        image,
        Text("a" * 12 + MARKER + "a" * 5),
        paper,
        Text("b" * 12 + MARKER + "b" * 5),
    )
    assert whole == "\n".join(["tiny", "a" * 100, "b" * 100])
    again, nothing = shorten_result(result, share_tokens=204, count=len)
    assert again is result
    assert nothing is None


def test_other_parts_count_and_stay() -> None:
    image = Image(url="https://example.org/a.png")
    result = ToolResult("1", (image, Text("a" * 100)))
    found, _ = shorten_result(result, share_tokens=95, count=len, cost_of=lambda part: 85)
    assert found.content == (image, Text("aaaaa[…]aa"))
    found, _ = shorten_result(result, share_tokens=50, count=len, cost_of=lambda part: 85)
    assert found.content == (image, Text(""))


def test_results_of_a_step_share_and_small_ones_leave_their_rest() -> None:
    results = [ToolResult(str(size), "x" * size) for size in (10, 500, 500, 100)]
    assert shares(results, budget_tokens=2000, count=len) == [10, 195, 195, 100]
    assert shares(results, budget_tokens=8000, count=len) == [10, 500, 500, 100]
    assert shares(results, budget_tokens=2000, share=0.01, count=len) == [5, 5, 5, 5]
    assert shares([], budget_tokens=2000, count=len) == []


@given(st.lists(st.integers(0, 1000), max_size=12), st.integers(-10, 5000))
def test_a_split_is_fair_and_uses_the_room(sizes: list[int], room: int) -> None:
    parts = fair_parts(sizes, room)
    assert all(0 <= part <= size for part, size in zip(parts, sizes, strict=True))
    assert sum(parts) == min(sum(sizes), max(0, room))
    cut = [part for part, size in zip(parts, sizes, strict=True) if part < size]
    assert max(parts, default=0) - min(cut, default=max(parts, default=0)) <= 1


def test_eight_mebibytes_are_cut_with_few_counts() -> None:
    text = (WORDS * 500)[: 8 * 2**20]
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return O200K(text)

    began = time.perf_counter()
    for tokens in (30_000, 1_000_000):
        counted.clear()
        short = shorten_text(text, tokens=tokens, count=count)
        assert tokens * 0.99 <= O200K(short) <= tokens
        assert sum(counted) < 4 * len(text)
    assert time.perf_counter() - began < 10
