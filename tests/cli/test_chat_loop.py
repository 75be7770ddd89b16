from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from trimtab.cli.chat_loop import ImpatientInterrupt, LoopThread, interruptible


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def late() -> None:
    raise TimeoutError("too late")


def test_work_runs_in_a_thread_of_its_own() -> None:
    with LoopThread() as loop:
        assert loop.run(thread_name()) == "trimtab-loop"
        assert loop.run(thread_name()) != threading.current_thread().name


def test_an_error_of_the_work_is_raised_where_it_is_waited_for() -> None:
    with LoopThread() as loop, pytest.raises(TimeoutError, match="too late"):
        loop.run(late())


def test_the_first_ctrl_c_cancels_and_the_second_one_does_not_wait() -> None:
    cancelled: list[str] = []
    with interruptible(lambda: cancelled.append("cancelled")):
        signal.raise_signal(signal.SIGINT)
        assert cancelled == ["cancelled"]
        with pytest.raises(ImpatientInterrupt):
            signal.raise_signal(signal.SIGINT)

    assert cancelled == ["cancelled"]


def test_ctrl_c_is_what_it_was_before_when_the_turn_is_over() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible(lambda: None):
        assert signal.getsignal(signal.SIGINT) is not before

    assert signal.getsignal(signal.SIGINT) is before
