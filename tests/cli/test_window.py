from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cli.making import entry, fit_of
from trimtab.cli.window import Segment, cells, segments, window_of
from trimtab.report import Budget


def by_name(rows: tuple[Segment, ...]) -> dict[str, int]:
    return {row.name: row.tokens for row in rows}


def test_the_window_is_what_is_sent_what_is_free_and_what_is_kept_free() -> None:
    fit = fit_of(
        kept=[entry(0, 10, "system"), entry(2, 20, "recent"), entry(4, 30, "current-input")],
        truncated=[entry(1, 40, "context-shift", original_tokens=90)],
        inserted=[entry(None, 5, "summary")],
        excluded=[entry(3, 500, "context-shift")],
        budget=Budget(available=1000, reserve=200, context_limit=1200),
        overhead=7,
    )

    assert by_name(segments(fit)) == {
        "overhead": 7,
        "protected": 40,
        "kept": 20,
        "shortened": 40,
        "inserted": 5,
        "free": 888,
        "reserve": 200,
    }


def test_room_behind_the_largest_input_is_neither_free_nor_reserve() -> None:
    budget = Budget(available=500, reserve=200, context_limit=1200, max_input=500)

    rows = by_name(segments(fit_of(kept=[entry(0, 97, "system")], budget=budget)))

    assert (rows["free"], rows["reserve"], rows["over the largest input"]) == (400, 200, 500)


def test_without_a_limit_the_window_is_the_largest_input() -> None:
    budget = Budget(available=900, reserve=0, max_input=1000, margin=100)
    fit = fit_of(kept=[entry(0, 97, "system")], budget=budget)

    assert window_of(fit) == 1000
    assert by_name(segments(fit))["margin"] == 100
    assert sum(by_name(segments(fit)).values()) == 1000


figures = st.integers(min_value=0, max_value=10**7)


@given(
    kept=figures,
    limit=st.integers(min_value=1, max_value=10**7),
    share=st.floats(min_value=0, max_value=0.9),
    max_input=st.none() | st.integers(min_value=1, max_value=10**7),
)
def test_segments_add_up_to_the_window(kept: int, limit: int, share: float, max_input: int | None) -> None:
    reserve = int(limit * share)
    room = limit - reserve if max_input is None else min(limit - reserve, max_input)
    budget = Budget(available=room, reserve=reserve, context_limit=limit, max_input=max_input)
    fit = fit_of(kept=[entry(0, min(kept, room), "recent")], budget=budget, overhead=0)

    assert sum(row.tokens for row in segments(fit)) == window_of(fit) == limit


@given(tokens=st.lists(figures, min_size=1, max_size=9), width=st.integers(min_value=9, max_value=300))
def test_cells_fill_the_bar_and_show_all_there_is(tokens: list[int], width: int) -> None:
    given_cells = cells(tokens, width)

    assert sum(given_cells) == (width if any(tokens) else 0)
    assert all((cell > 0) == (figure > 0) for cell, figure in zip(given_cells, tokens, strict=True))


@given(tokens=st.lists(figures, min_size=2, max_size=9), width=st.integers(min_value=9, max_value=300))
def test_more_tokens_never_have_fewer_cells(tokens: list[int], width: int) -> None:
    shown = sorted(zip(tokens, cells(tokens, width), strict=True))

    for (less, few), (more, many) in pairwise(shown):
        assert less == more or few <= many
