"""Spans of a text that was cut before are spans of its original."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from factories import message
from trimtab.fitting.account import Cuts
from trimtab.fitting.cutting import cut_again, cut_message, on_original
from trimtab_sdk import MARKER, Span, keep_spans, plain_text

TEXT = "abcdefghijklmnopqrstuvwxyz"


def spans_in(length: int) -> st.SearchStrategy[list[Span]]:
    """Ascending spans of a text of this length, apart from each other."""
    ends = st.lists(st.integers(0, length), unique=True, max_size=10).map(sorted)
    return ends.map(lambda found: list(zip(found[::2], found[1::2], strict=False)))


def origins(kept: Sequence[Span]) -> list[int | None]:
    """For each sign of the cut text where it stood in the original; None in a marker."""
    found: list[int | None] = []
    end = 0
    for start, stop in kept:
        found += [None] * len(MARKER) if start > end else []
        found += range(start, stop)
        end = stop
    return found + [None] * len(MARKER) if end < len(TEXT) else found


@given(st.data())
def test_the_signs_that_stay_are_those_of_the_original_under_the_spans(data: st.DataObject) -> None:
    kept = data.draw(spans_in(len(TEXT)))
    spans = data.draw(spans_in(len(keep_spans(TEXT, kept))))
    stays = origins(kept)
    wanted = [at for start, stop in spans for at in stays[start:stop] if at is not None]
    found = on_original(kept, spans)
    assert [at for start, stop in found for at in range(start, stop)] == wanted
    assert all(before[1] < after[0] for before, after in pairwise(found))


def test_a_text_that_is_cut_twice_is_one_slice_with_one_marker_for_each_gap() -> None:
    whole = message("m", text=TEXT)
    once: Cuts = {(0,): ((5, 15), (20, 26))}
    assert plain_text(cut_message(whole, once)) == "[…]fghijklmno[…]uvwxyz"
    twice = cut_again(once, {(0,): ((4, 8), (11, 22))})
    assert plain_text(cut_message(whole, twice)) == "[…]ghij[…]no[…]uvwxyz"


def test_another_text_of_the_message_keeps_the_cut_it_has() -> None:
    assert cut_again({(0,): ((0, 4),)}, {(1,): ((2, 3),)}) == {(0,): ((0, 4),), (1,): ((2, 3),)}


def test_many_spans_take_time_linear_in_their_number() -> None:
    kept = [(at, at + 1) for at in range(0, 400_000, 2)]
    step = 1 + len(MARKER)
    start = time.perf_counter()
    found = on_original(kept, [(at * step, at * step + 1) for at in range(200_000)])
    assert found == tuple(kept)
    assert time.perf_counter() - start < 20
