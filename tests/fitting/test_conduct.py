"""Allowance per turn and three strikes: the books of how plugins behave in one conversation."""

from __future__ import annotations

import threading

import pytest

from factories import calls, message, result
from trimtab.fitting.account import PluginKey
from trimtab.fitting.calling import CallTrace
from trimtab.fitting.conduct import MAX_TURNS, Conduct, Conducts, turn_of
from trimtab_sdk.errors import (
    Origin,
    PluginBusyError,
    PluginCrashedError,
    PluginError,
    PluginNeedsError,
    PluginRejectedError,
    PluginSuspendedError,
    PluginTimeoutError,
    ProtectedContextRemovedError,
)
from trimtab_sdk.protection import Tail

SLOW: PluginKey = (Origin("slow", "trimtab-slow", "1.0"), "trimtab_intercept")


def call(
    conduct: Conduct,
    took: float = 0.0,
    fault: type[PluginError] | None = None,
    *,
    turn: int = 1,
    plugin: PluginKey = SLOW,
    turn_seconds: float = 10.0,
) -> float:
    """Make a call that takes so long and ends like this; give the seconds it was allowed, 5 at most."""
    trace = CallTrace()
    origin, hook = plugin
    with conduct.watch(plugin, turn, trace, seconds=5.0, turn_seconds=turn_seconds) as seconds:
        trace.seconds = took
        if fault is not None:
            raise fault("it went wrong", origin=origin, hook=hook)
    return seconds


def fail(
    conduct: Conduct, fault: type[PluginError] = PluginCrashedError, took: float = 0.0, turn: int = 1
) -> None:
    with pytest.raises(fault):
        call(conduct, took, fault, turn=turn)


def test_what_is_left_of_the_turn_limits_the_next_call() -> None:
    conduct = Conduct()
    assert call(conduct, took=4.0) == 5.0
    assert call(conduct, took=4.0) == 5.0
    assert call(conduct, took=1.0) == 2.0
    assert call(conduct, took=0.5) == 1.0


def test_a_used_up_allowance_ends_the_calls_of_this_turn_alone() -> None:
    conduct = Conduct()
    call(conduct, took=10.0)
    with pytest.raises(
        PluginTimeoutError, match=r"plugin slow \(trimtab-slow 1\.0\) .*10 s for this turn are used"
    ):
        call(conduct)
    assert call(conduct, turn=2) == 5.0


def test_the_time_of_a_call_that_failed_counts_too() -> None:
    conduct = Conduct()
    fail(conduct, took=7.0)
    assert call(conduct) == 3.0


def test_turns_that_alternate_in_one_scope_keep_their_own_time() -> None:
    conduct = Conduct()
    for _ in range(2):
        call(conduct, took=5.0, turn=1)
        call(conduct, took=5.0, turn=2)
    for turn in (1, 2):
        with pytest.raises(PluginTimeoutError):
            call(conduct, turn=turn)


def test_plugins_have_an_allowance_each() -> None:
    conduct = Conduct()
    call(conduct, took=10.0)
    assert call(conduct, plugin=(Origin("other"), "trimtab_intercept")) == 5.0
    assert call(conduct, plugin=(SLOW[0], "trimtab_shift")) == 5.0


def test_of_many_turns_the_last_are_known() -> None:
    conduct = Conduct()
    for turn in range(MAX_TURNS + 1):
        call(conduct, took=10.0, turn=turn)
    assert call(conduct, turn=0) == 5.0
    with pytest.raises(PluginTimeoutError):
        call(conduct, turn=MAX_TURNS)


def test_three_failures_of_any_kind_and_in_any_turns_suspend_a_plugin_for_good() -> None:
    conduct = Conduct()
    for turn, fault in enumerate((PluginTimeoutError, PluginRejectedError, ProtectedContextRemovedError)):
        call(conduct, turn=turn)
        fail(conduct, fault, turn=turn)
    for turn in (3, 4):
        with pytest.raises(PluginSuspendedError) as caught:
            call(conduct, turn=turn)
    assert "(PLUGIN_TIMEOUT, PLUGIN_REJECTED, PROTECTED_CONTEXT_REMOVED)" in str(caught.value)
    assert caught.value.origin == SLOW[0]
    assert call(conduct, plugin=(Origin("other"), "trimtab_intercept")) == 5.0


@pytest.mark.parametrize("fault", [PluginBusyError, PluginNeedsError])
def test_a_call_that_was_not_made_is_no_strike(fault: type[PluginError]) -> None:
    conduct = Conduct()
    for _ in range(9):
        fail(conduct, fault)
    assert call(conduct) == 5.0


def test_waiting_for_a_worker_is_not_charged() -> None:
    conduct = Conduct()
    for _ in range(9):
        fail(conduct, PluginBusyError, took=5.0)
    assert call(conduct) == 5.0


def test_a_used_up_allowance_is_no_strike() -> None:
    conduct = Conduct()
    call(conduct, took=10.0)
    for _ in range(9):
        with pytest.raises(PluginTimeoutError):
            call(conduct)
    assert call(conduct, turn=2) == 5.0


def test_being_late_with_the_rest_of_an_allowance_is_no_strike_but_with_the_whole_of_it_is() -> None:
    hurried, hanging = Conduct(), Conduct()
    for turn in range(9):
        call(hurried, took=9.0, turn=turn)
        fail(hurried, PluginTimeoutError, took=1.0, turn=turn)
    assert call(hurried, turn=9) == 5.0
    for turn in range(3):
        with pytest.raises(PluginTimeoutError):
            call(hanging, 3.0, PluginTimeoutError, turn=turn, turn_seconds=3.0)
    with pytest.raises(PluginSuspendedError):
        call(hanging, turn=3)


def test_an_error_that_is_not_the_plugins_is_no_strike() -> None:
    conduct = Conduct()
    for _ in range(9):
        with (
            pytest.raises(KeyError),
            conduct.watch(SLOW, 1, CallTrace(), seconds=5.0, turn_seconds=10.0),
        ):
            raise KeyError("of the host")
    assert call(conduct) == 5.0


def test_many_threads_lose_no_second_and_no_strike() -> None:
    conduct = Conduct()

    def work() -> None:
        for _ in range(200):
            call(conduct, took=1.0, turn_seconds=1e6)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pytest.raises(PluginTimeoutError):
        call(conduct, turn_seconds=800.0)
    assert call(conduct, turn_seconds=801.0) == 1.0


def test_a_scope_keeps_its_conduct_and_no_scope_has_none_to_keep() -> None:
    conducts = Conducts()
    assert conducts.of("a") is conducts.of("a")
    assert conducts.of("a") is not conducts.of("b")
    assert conducts.of(None) is not conducts.of(None)


def test_of_many_scopes_those_used_last_are_kept() -> None:
    conducts = Conducts(most=2)
    first, second = conducts.of("a"), conducts.of("b")
    assert conducts.of("a") is first
    conducts.of("c")
    assert conducts.of("a") is first
    assert conducts.of("b") is not second


def test_a_turn_lasts_from_one_input_to_the_next() -> None:
    asked = [message("u", text="What is new?")]
    looping = [*asked, calls("a", "x"), result("r", "x")]
    assert turn_of(looping) == turn_of(asked)
    assert turn_of([*looping, message("b", "assistant"), message("v")]) != turn_of(asked)


def test_a_window_that_slides_under_fixed_ids_is_in_another_turn_with_another_text() -> None:
    assert turn_of([message("m9", text="Go on.")]) != turn_of([message("m9", text="And then?")])


def test_without_an_input_the_last_message_tells_the_turn() -> None:
    assert turn_of([message("s", "system"), message("a", "assistant")]) != turn_of([message("s", "system")])
    assert turn_of([]) == turn_of([])


def test_a_tail_that_is_known_goes_before_what_the_list_shows() -> None:
    whole = [message("u"), message("v")]
    assert turn_of(whole, Tail(inputs=(0,))) == turn_of(whole[:1])
