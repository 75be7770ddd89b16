"""The pool: one process for each plugin and scope, never more than asked for, and the one idle longest leaves."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trimtab.loading.worker.calling import load_confined
from trimtab.loading.worker.pool import Seat, WorkerPool
from trimtab.loading.worker.spec import WorkerSpec
from trimtab.loading.worker.worker import Worker
from trimtab_sdk import PluginBusyError
from worker.confined_plugins import Called, bounds, call, is_gone, next_pid, notes_of, plugin, settle

# Tells its process, and how many calls this process has seen.
REMEMBERS = "import os\nseen = []"
TELLS = "seen.append(1); return Edit(notes=[str(os.getpid()), str(len(seen))])"


@pytest.fixture
def spec(tmp_path: Path) -> WorkerSpec:
    return plugin(tmp_path, TELLS, head=REMEMBERS)


def pid_of(called: Called) -> int:
    return int(notes_of(called)[0])


def seen_by(called: Called) -> int:
    return int(notes_of(called)[1])


@contextlib.contextmanager
def held(pool: WorkerPool, spec: WorkerSpec, scope: str, most: int = 4) -> Iterator[Worker]:
    """Keep the worker of a scope busy."""
    seat = Seat(spec, bounds().memory_mb, scope)
    with pool.worker(seat, most=most, strict=False, deadline=time.monotonic() + 20) as worker:
        yield worker


def test_a_scope_keeps_its_process(pool: WorkerPool, spec: WorkerSpec) -> None:
    first, second = call(pool, spec, scope="a"), call(pool, spec, scope="a")

    assert pid_of(first) == pid_of(second)
    assert [seen_by(first), seen_by(second)] == [1, 2]


def test_a_plugin_that_remembers_sees_nothing_of_another_scope_nor_of_a_fit_without_one(
    pool: WorkerPool, spec: WorkerSpec
) -> None:
    scopes = ["a", "b", None, None, "a", None, "b", ""]

    called = [call(pool, spec, scope=scope) for scope in scopes]

    assert [seen_by(one) for one in called] == [1, 1, 1, 1, 2, 1, 2, 1]
    assert len({pid_of(one) for one in called}) == 6


def test_two_plugins_in_one_scope_have_a_process_each(pool: WorkerPool, spec: WorkerSpec, tmp_path: Path) -> None:
    other = plugin(tmp_path / "other", TELLS, head=REMEMBERS)

    assert pid_of(call(pool, spec, scope="a")) != pid_of(call(pool, other, scope="a"))


def test_a_plugin_with_more_memory_gets_another_process(pool: WorkerPool, spec: WorkerSpec) -> None:
    small = call(pool, spec, scope="a", within=bounds(memory_mb=256))

    assert pid_of(call(pool, spec, scope="a", within=bounds(memory_mb=512))) != pid_of(small)


def test_a_plugin_loaded_for_its_traits_serves_the_first_scope_and_no_other(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    load_confined(fresh_pool, spec, bounds())
    (loaded,) = [worker.process.pid for worker in fresh_pool._idle.values()]

    first, other = call(fresh_pool, spec, scope="a"), call(fresh_pool, spec, scope="b")

    assert pid_of(first) == loaded
    assert seen_by(first) == 1
    assert pid_of(other) != loaded


def test_a_plugin_loaded_for_its_traits_may_also_serve_one_call_without_a_scope(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    load_confined(fresh_pool, spec, bounds())
    (loaded,) = [worker.process.pid for worker in fresh_pool._idle.values()]

    assert pid_of(call(fresh_pool, spec)) == loaded

    settle(fresh_pool)
    assert is_gone(loaded)


def test_when_the_pool_is_full_the_one_that_was_idle_longest_ends(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    two = bounds(workers=2)
    a, b = (pid_of(call(fresh_pool, spec, scope=scope, within=two)) for scope in "ab")
    assert pid_of(call(fresh_pool, spec, scope="a", within=two)) == a

    call(fresh_pool, spec, scope="c", within=two)

    assert fresh_pool.size == 2
    assert pid_of(call(fresh_pool, spec, scope="a", within=two)) == a
    settle(fresh_pool)
    assert is_gone(b)


def test_a_pool_that_is_to_be_smaller_shrinks(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    for scope in "abcd":
        call(fresh_pool, spec, scope=scope)

    call(fresh_pool, spec, scope="e", within=bounds(workers=2))

    assert fresh_pool.size == 2


def test_when_all_are_busy_the_plugin_is_busy_after_its_deadline(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    with held(fresh_pool, spec, "a", most=1):
        began = time.monotonic()
        with pytest.raises(PluginBusyError, match=r"odd \(trimtab-odd 1.0\).*all 1 workers were busy for 0.3 s"):
            call(fresh_pool, spec, scope="b", seconds=0.3, within=bounds(workers=1))
        assert 0.3 <= time.monotonic() - began < 1.3

    assert seen_by(call(fresh_pool, spec, scope="b", within=bounds(workers=1))) == 1


def test_whoever_waits_gets_the_room_as_soon_as_it_is_there(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    one = bounds(workers=1)
    with ThreadPoolExecutor(1) as thread:
        with held(fresh_pool, spec, "a", most=1):
            waiting = thread.submit(call, fresh_pool, spec, scope="b", within=one)
        assert seen_by(waiting.result(20)) == 1


def test_many_scopes_at_once_stay_within_the_pool(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    three = bounds(workers=3)
    sizes: list[int] = []

    def serve(scope: str) -> Called:
        called = call(fresh_pool, spec, scope=scope, seconds=60, within=three)
        sizes.append(fresh_pool.size)
        return called

    with ThreadPoolExecutor(20) as threads:
        called = list(threads.map(serve, [f"scope {at}" for at in range(20)]))

    assert [seen_by(one) for one in called] == [1] * 20
    assert len({pid_of(one) for one in called}) == 20
    assert max(sizes) <= 3
    settle(fresh_pool)
    assert len(fresh_pool._spawner.living) <= 4


def test_one_scope_from_many_threads_gets_workers_that_saw_no_other(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    with ThreadPoolExecutor(4) as threads:
        called = list(threads.map(lambda _: call(fresh_pool, spec, scope="a", seconds=60), range(12)))

    settle(fresh_pool)
    assert sum(1 for one in called if seen_by(one) == 1) == len({pid_of(one) for one in called})
    assert fresh_pool.size == 1


def test_forgetting_a_scope_ends_its_workers_and_no_others(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    a, b = (pid_of(call(fresh_pool, spec, scope=scope)) for scope in "ab")

    fresh_pool.forget("a")

    settle(fresh_pool)
    assert is_gone(a)
    assert pid_of(call(fresh_pool, spec, scope="b")) == b
    assert seen_by(call(fresh_pool, spec, scope="a")) == 1


def test_a_scope_forgotten_while_its_worker_is_busy_ends_when_it_is_done(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    with held(fresh_pool, spec, "a") as worker:
        fresh_pool.forget("a")
        settle(fresh_pool)
        assert worker.process.is_alive

    settle(fresh_pool)
    assert fresh_pool.size == 0
    assert is_gone(worker.process.pid)


def test_forgetting_works_where_nothing_was_ever_started(fresh_pool: WorkerPool) -> None:
    fresh_pool.forget("a")

    assert fresh_pool.size == 0


class Chat:
    """Something that ends with its scope."""


def test_a_finalizer_may_forget_while_its_own_thread_holds_the_locks(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    pid = pid_of(call(fresh_pool, spec, scope="a"))
    chat = Chat()
    weakref.finalize(chat, fresh_pool.forget, "a")

    with fresh_pool._changed, fresh_pool._spawner._lock:
        del chat
        gc.collect()

    settle(fresh_pool)
    assert is_gone(pid)


def test_closing_ends_everything_and_the_pool_can_be_used_again(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    pids = [pid_of(call(fresh_pool, spec, scope=scope)) for scope in "ab"] + [next_pid(fresh_pool)]

    fresh_pool.close()

    assert all(is_gone(pid) for pid in pids)
    assert fresh_pool.size == 0
    assert seen_by(call(fresh_pool, spec, scope="a")) == 1


def test_closing_while_the_spare_is_ordered_leaves_nothing(fresh_pool: WorkerPool) -> None:
    for _ in range(5):
        fresh_pool.prepare()
        fresh_pool.close()
        settle(fresh_pool)
        assert fresh_pool._spawner.living == set()


def test_closing_ends_a_call_in_another_thread(fresh_pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "while True: pass")
    with ThreadPoolExecutor(1) as thread:
        busy = thread.submit(call, fresh_pool, spec, scope="a", seconds=60)
        while not fresh_pool._busy:
            assert not busy.done()
        fresh_pool.close()
        with pytest.raises(Exception, match="SIGKILL"):
            busy.result(20)

    settle(fresh_pool)
    assert fresh_pool._spawner.living == set()


def die(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_a_spare_that_was_killed_is_replaced(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    dead = next_pid(fresh_pool)
    die(dead)

    assert seen_by(call(fresh_pool, spec)) == 1

    settle(fresh_pool)
    assert is_gone(dead)


def test_a_worker_that_was_killed_while_idle_is_replaced(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    dead = pid_of(call(fresh_pool, spec, scope="a"))
    die(dead)

    again = call(fresh_pool, spec, scope="a")

    assert seen_by(again) == 1
    assert pid_of(again) != dead


def test_a_worker_started_for_a_thread_outlives_it(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    called: list[Called] = []
    thread = threading.Thread(target=lambda: called.append(call(fresh_pool, spec, scope="a")))
    thread.start()
    thread.join(20)

    again = call(fresh_pool, spec, scope="a")

    assert seen_by(again) == 2
    assert pid_of(again) == pid_of(called[0])


def test_a_thread_that_gave_up_on_a_start_leaves_no_worker_behind(
    fresh_pool: WorkerPool, spec: WorkerSpec
) -> None:
    with pytest.raises(PluginBusyError, match="no worker came up within"):
        call(fresh_pool, spec, seconds=1e-9)

    settle(fresh_pool)
    assert fresh_pool.size == 0
    assert fresh_pool._spawner.living == set()


def test_many_calls_leave_no_file_and_no_dead_process_behind(fresh_pool: WorkerPool, spec: WorkerSpec) -> None:
    call(fresh_pool, spec)
    next_pid(fresh_pool)
    settle(fresh_pool)
    before = sorted(os.listdir("/proc/self/fd"))

    for _ in range(30):
        call(fresh_pool, spec)

    next_pid(fresh_pool)
    settle(fresh_pool)
    assert len(os.listdir("/proc/self/fd")) == len(before)
    assert len(fresh_pool._spawner.living) == 1
