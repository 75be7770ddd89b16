"""However a host app ends, none of its workers is left."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import textwrap

import pytest

from worker.confined_plugins import TESTS, run_host, told

BEGIN = """
import os, signal, sys, tempfile, threading
from pathlib import Path
from trimtab.loading.worker import process
from trimtab.loading.worker.pool import worker_pool
from worker.confined_plugins import *
pool = worker_pool()
folder = Path(tempfile.mkdtemp())
spec = plugin(
    folder / "plugin", "while True: pass", first=WORKS_WHEN_GOOD,
    head="import atexit, time\\natexit.register(time.sleep, 1000)",
)
"""
# In the workers that follow nothing asks the system to end them with their host.
UNCONFINED = """
folders = own_folders_with(folder / "own", REFUSING)
process._own_folders = lambda: folders
"""
IDLE = """
call(pool, spec, request=GOOD, scope="idle")
next_pid(pool)
"""
BUSY = """
busy = threading.Thread(target=call, args=(pool, spec), kwargs={"request": BAD, "seconds": 600}, daemon=True)
busy.start()
while not pool._busy:
    pass
next_pid(pool)
"""
TELL = """
print(*[worker.process.pid for worker in pool._spawner.living], flush=True)
sys.stdin.readline()
"""
ENDS = {
    "normally": "",
    "by an exception": "raise ValueError",
    "by sys.exit": "sys.exit(3)",
    "by os._exit": "os._exit(0)",
    # A shell that starts something in the background has it ignore Ctrl-C.
    "by Ctrl-C": "signal.signal(signal.SIGINT, signal.default_int_handler); "
    "os.kill(os.getpid(), signal.SIGINT); threading.Event().wait()",
    "by SIGTERM": "os.kill(os.getpid(), signal.SIGTERM); threading.Event().wait()",
    "by SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_no_worker_is_left_when_the_host_ends(end: str) -> None:
    assert workers_left(BEGIN + IDLE + BUSY + TELL + end) == [False] * 3


def test_a_host_that_ends_in_order_ends_workers_that_the_system_would_leave() -> None:
    assert workers_left(BEGIN + UNCONFINED + IDLE + BUSY + TELL) == [False] * 3


def test_idle_workers_that_the_system_would_leave_end_without_running_code_of_the_plugin() -> None:
    assert workers_left(BEGIN + UNCONFINED + IDLE + TELL + "os._exit(0)") == [False] * 2


def workers_left(source: str) -> list[bool]:
    """Run a host until it tells its workers, let it end, and say of each worker whether it is left."""
    with subprocess.Popen(
        [sys.executable, "-c", source],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=TESTS,
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        ends = [os.pidfd_open(int(pid)) for pid in host.stdout.readline().split()]
        host.stdin.write("end\n")
        host.stdin.close()
        try:
            host.wait(30)
        finally:
            host.kill()
        return [not _is_gone(end) for end in ends]


def _is_gone(end: int) -> bool:
    """Whether the process behind a pidfd ends within some seconds."""
    try:
        return bool(select.select([end], [], [], 10)[0])
    finally:
        os.close(end)


def test_a_host_that_lets_the_system_bury_its_children_is_served_all_the_same() -> None:
    end = """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    crashing, codes = plugin(folder / "crashing", "import os; os._exit(3)", first=WORKS_WHEN_GOOD), []
    for _ in range(2):
        try:
            call(pool, crashing, request=BAD, scope="a")
        except Exception as error:
            codes.append(error.code)
    settle(pool)
    print(json.dumps({"codes": codes, "then": call(pool, crashing, request=GOOD, scope="a").edit.notes}))
    """
    done = run_host(BEGIN + textwrap.dedent(end))

    assert told(done) == {"codes": ["PLUGIN_CRASHED"] * 2, "then": ["works"]}
    assert done.stderr == ""


def test_a_host_ends_without_a_complaint_while_workers_are_idle_and_coming() -> None:
    done = run_host(BEGIN + "call(pool, spec, request=GOOD, scope='idle')")

    assert done.returncode == 0
    assert done.stderr == ""
