"""Whatever a late plugin does, its call ends with the deadline, its processes are gone and the next call works."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trimtab.loading.plugins import SHIFT
from trimtab.loading.worker.calling import load_confined
from trimtab.loading.worker.pool import WorkerPool
from trimtab.loading.worker.spec import WorkerSpec
from trimtab.loading.worker.worker import Worker
from trimtab_sdk import Edit, Message, PluginCrashedError, PluginTimeoutError, Request, Text
from worker.confined_plugins import (
    BAD,
    GOOD,
    REACH,
    WORKS_WHEN_GOOD,
    bounds,
    call,
    module,
    next_pid,
    notes_of,
    plugin,
    processes_of,
    request_of,
    run_host,
    settle,
    told,
)

SECONDS = 0.5
# For a machine under load. What a late call really costs is in the benchmark.
SLACK = 1.0
LATE = {
    "a loop": "while True: pass",
    "a loop in C": "sum(range(10**12))",
    "a loop that catches everything": """
        while True:
            try:
                while True: pass
            except BaseException: continue
        """,
    "asleep": "import time; time.sleep(1000)",
    "deaf to signals": """
        import signal
        for one in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(one, signal.SIG_IGN)
        while True: pass
        """,
    "half a length": "os.write(outgoing(), bytes(2))\nwhile True: pass",
    "half a frame": "os.write(outgoing(), struct.pack('>I', 1000) + b'{')\nwhile True: pass",
    "a frame byte by byte": """
        import time
        os.write(outgoing(), struct.pack('>I', 1000000))
        while True:
            os.write(outgoing(), b' ')
            time.sleep(0.001)
        """,
    "nothing to print to": "os.close(1); os.close(2)\nwhile True: pass",
    "a flood on stderr": "while True: os.write(2, b'x' * 60000)",
    "a flood on stdout": "while True: print('x' * 60000)",
    "questions without end": "while True: request.cost_of_insert(str(os.urandom(8)))",
}


LARGE = request_of([Message(str(at), "user", (Text("x" * 10_000),)) for at in range(1000)], good=False)


def call_late(pool: WorkerPool, spec: WorkerSpec, request: Request = BAD) -> PluginTimeoutError:
    """Call a plugin that is late, and see that it costs little more than its deadline."""
    within = bounds(service_calls=10_000_000)
    began = time.monotonic()
    with pytest.raises(PluginTimeoutError) as caught:
        call(pool, spec, request=request, seconds=SECONDS, services={"cost": lambda _: 1}, within=within)
    assert SECONDS <= time.monotonic() - began <= SECONDS + SLACK
    return caught.value


@pytest.mark.parametrize("body", LATE.values(), ids=LATE)
def test_a_late_call_ends_with_its_deadline_and_the_next_one_works(
    pool: WorkerPool, tmp_path: Path, body: str
) -> None:
    spec = plugin(tmp_path, body, first=WORKS_WHEN_GOOD, head=REACH)
    assert notes_of(call(pool, spec, request=GOOD)) == ["works"]
    session = next_pid(pool)

    error = call_late(pool, spec)

    settle(pool)
    assert error.code == "PLUGIN_TIMEOUT"
    assert str(error) == (
        f"plugin odd (trimtab-odd 1.0) in {SHIFT}: did not answer within 0.5 s; its process was ended"
    )
    assert processes_of(session) == []
    assert notes_of(call(pool, spec, request=GOOD)) == ["works"]


@pytest.mark.parametrize(
    "receive",
    ["time.sleep(1000)", "[(os.read(self._incoming, 1), time.sleep(0.01)) for _ in iter(int, 1)]"],
    ids=["not at all", "slowly"],
)
def test_a_plugin_that_does_not_read_what_it_is_sent_is_late(
    pool: WorkerPool, tmp_path: Path, receive: str
) -> None:
    source = f"""
import os, time
from trimtab_worker.frames import Pipe

def receive(self):
    {receive}

@hookimpl
def trimtab_shift(request): pass

@hookimpl
def trimtab_traits():
    Pipe.receive = receive
"""
    spec = module(tmp_path / "deaf", source)
    session = next_pid(pool)

    call_late(pool, spec, LARGE)

    settle(pool)
    assert processes_of(session) == []
    good = plugin(tmp_path / "good", WORKS_WHEN_GOOD)
    assert notes_of(call(pool, good, request=GOOD)) == ["works"]


def test_a_plugin_that_is_late_while_it_is_imported_ends_with_the_deadline_of_the_call(
    pool: WorkerPool, tmp_path: Path
) -> None:
    spec = module(tmp_path, "while True: pass")
    session = next_pid(pool)

    call_late(pool, spec)

    settle(pool)
    assert processes_of(session) == []


def test_a_plugin_that_closes_its_pipe_and_goes_on_has_crashed_and_is_not_waited_for(
    pool: WorkerPool, tmp_path: Path
) -> None:
    spec = plugin(tmp_path, "os.close(outgoing())\nwhile True: pass", first=WORKS_WHEN_GOOD, head=REACH)
    call(pool, spec, request=GOOD)
    session = next_pid(pool)

    began = time.monotonic()
    with pytest.raises(PluginCrashedError, match="closed its pipes"):
        call(pool, spec, request=BAD, seconds=20)

    assert time.monotonic() - began < 1 + SLACK
    settle(pool)
    assert processes_of(session) == []
    assert notes_of(call(pool, spec, request=GOOD)) == ["works"]


def test_the_time_the_host_spends_for_a_plugin_counts(pool: WorkerPool, tmp_path: Path) -> None:
    spec = plugin(tmp_path, "for at in range(1000): request.cost_of_insert(str(at))")
    slow = {"cost": lambda _: time.sleep(0.1)}

    with pytest.raises(PluginTimeoutError):
        call(pool, spec, seconds=SECONDS, services=slow)


def test_the_deadline_that_a_plugin_reads_is_the_hosts(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[float] = []

    def keep(worker: Worker, frame: Mapping[str, object], **options: Any) -> Edit | None:
        kept.append(options["deadline"])
        return real(worker, frame, **options)

    real = Worker.call
    monkeypatch.setattr(Worker, "call", keep)
    spec = plugin(tmp_path, "return Edit(notes=[repr(services.deadline)])")
    before = time.monotonic()

    (deadline,) = notes_of(call(pool, spec, seconds=20))

    assert float(deadline) == kept[0]
    assert before + 20 <= kept[0] <= time.monotonic() + 20


def test_a_host_that_gave_broken_pipes_back_to_the_system_survives_a_plugin_that_breaks_one() -> None:
    done = run_host(
        """
        import json, signal, tempfile
        from pathlib import Path
        from trimtab.loading.worker.pool import worker_pool
        from trimtab_sdk import PluginError
        from worker.confined_plugins import BAD, REACH, call, plugin
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        body = "os.close(pipe()._incoming); send(kind='ask', service='cost', value='x')\\nwhile True: pass"
        spec = plugin(Path(tempfile.mkdtemp()), body, head=REACH)
        try:
            call(worker_pool(), spec, request=BAD, services={"cost": lambda _: 1})
        except PluginError as error:
            print(json.dumps({"code": error.code}))
        """
    )

    assert told(done) == {"code": "PLUGIN_CRASHED"}


def test_a_plugin_that_does_not_come_back_from_telling_its_traits_is_late(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.loading.worker.pool.LOAD_SECONDS", SECONDS)
    spec = module(
        tmp_path,
        "@hookimpl\ndef trimtab_shift(): pass\n@hookimpl\ndef trimtab_traits():\n    while True: pass",
    )

    with pytest.raises(PluginTimeoutError, match=r"plugin odd \(trimtab-odd 1.0\): was not loaded"):
        load_confined(pool, spec, bounds())
