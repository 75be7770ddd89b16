"""A refused cursor."""

from __future__ import annotations

from typing import get_args

import pytest

from factories import calls, message, result
from trimtab.continuation import AbortTurn, CursorFault, DegradeToReplay, after_cursor_error, results_in_flight

FAULTS: tuple[CursorFault, ...] = get_args(CursorFault)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_cursor_is_one_full_replay_with_what_the_provider_said(fault: CursorFault) -> None:
    assert after_cursor_error(fault, in_flight=False, replayed=False) == DegradeToReplay(fault)


@pytest.mark.parametrize("replayed", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_cursor_lost_under_tool_results_ends_the_turn(fault: CursorFault, replayed: bool) -> None:
    answer = after_cursor_error(fault, in_flight=True, replayed=replayed)
    assert answer == AbortTurn("tool_result_cursor_loss", fault)


@pytest.mark.parametrize("fault", FAULTS)
def test_there_is_no_second_replay(fault: CursorFault) -> None:
    assert after_cursor_error(fault, in_flight=False, replayed=True) == AbortTurn("cursor_lost_again", fault)


def test_results_are_in_flight_when_their_call_is_only_with_the_provider() -> None:
    assert results_in_flight([result("r", "c1")])
    assert results_in_flight([calls("a", "c2"), result("r2", "c2"), result("r1", "c1")])
    assert not results_in_flight([message("u")])
    assert not results_in_flight([calls("a", "c1"), result("r", "c1"), message("u")])
    assert not results_in_flight([])
