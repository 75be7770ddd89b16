"""The lines in the log."""

from __future__ import annotations

from typing import get_args

import pytest

from continuation.turns import INPUT, ended, facts, stored
from trimtab.continuation import (
    AbortTurn,
    ClearState,
    Continuation,
    ContinueWithCursor,
    DegradeReason,
    DegradeToReplay,
    KeepState,
    LogWord,
    StartReplay,
    StateWrite,
    decide_continuation,
    decide_turn_persistence,
    log_lines,
)

REASONS: list[DegradeReason] = [reason for part in get_args(DegradeReason) for reason in get_args(part)]


def lines(outcome: Continuation | AbortTurn | StateWrite) -> list[str]:
    return [str(line) for line in log_lines(outcome)]


def test_a_used_cursor_is_valid_and_stays_out_of_the_log() -> None:
    assert lines(decide_continuation(stored(), facts())) == ["[continuation][valid] held=2 sent=1"]


@pytest.mark.parametrize("reason", REASONS)
def test_every_degradation_writes_its_reason(reason: DegradeReason) -> None:
    assert lines(DegradeToReplay(reason)) == [f"[continuation][degrade] reason={reason}"]


def test_a_malformed_envelope_says_where_it_is_wrong() -> None:
    assert lines(decide_continuation('{"schemaVersion": 7}', facts())) == [
        "[continuation][invalid] reason=envelope_malformed fault=schemaVersion",
        "[continuation][degrade] reason=envelope_malformed",
    ]


def test_a_turn_that_ends_by_a_lost_cursor_says_so() -> None:
    assert lines(AbortTurn("tool_result_cursor_loss", "cursor_expired")) == [
        "[continuation][invalid] reason=cursor_expired code=tool_result_cursor_loss"
    ]


def test_a_cleared_state_says_why() -> None:
    assert lines(decide_turn_persistence(ended(cursor=None))) == ["[continuation][clear] cause=no_cursor"]
    assert lines(ClearState("stateless")) == ["[continuation][clear] cause=stateless"]


@pytest.mark.parametrize(
    "outcome", [StartReplay("nothing_stored"), KeepState(), decide_turn_persistence(ended())], ids=repr
)
def test_what_goes_as_usual_writes_nothing(outcome: Continuation | StateWrite) -> None:
    assert lines(outcome) == []


def test_every_word_is_used_and_no_fact_breaks_a_line() -> None:
    outcomes: list[Continuation | AbortTurn | StateWrite] = [
        ContinueWithCursor("resp_1", 2, (INPUT,)),
        DegradeToReplay("envelope_malformed", "keys"),
        ClearState("no_cursor"),
    ]
    written = [line for outcome in outcomes for line in log_lines(outcome)]
    assert {line.word for line in written} == {*get_args(LogWord)}
    assert all("\n" not in str(line) and "resp_1" not in str(line) for line in written)
