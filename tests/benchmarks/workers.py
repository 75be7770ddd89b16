"""Print what a confined worker costs, each figure beside the one to reach.

    python tests/benchmarks/workers.py

Best run where nothing else does: a start takes one core and the host another.
"""

from __future__ import annotations

import os
import select
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from trimtab.loading.worker.pool import WorkerPool
from trimtab.loading.worker.spec import WorkerSpec
from trimtab_sdk import Message, PluginTimeoutError, Request, Text
from worker.confined_plugins import bounds, call, next_pid, plugin, request_of, settle

LINE = "The quay clerk wrote down crate {n}, its mark, its owner and the hour it was weighed at the gate. "
PLAN = """
    if request.settings["late"]:
        while True: pass
    if request.settings["many"]:
        seen.append(1)
        return Edit(notes=[str(len(seen))])
    half = len(request.groups) // 2
    return Edit(drop={name: "context-shift" for group in request.groups[:half] for name in group.ids})
    """
LATE_SECONDS = 0.2


class Load(NamedTuple):
    """How often, and with how much, things are measured."""

    starts: int = 20
    calls: int = 50
    long_calls: int = 10
    long_messages: int = 10_000
    late: int = 5
    scopes: int = 100


class Row(NamedTuple):
    """A line of the table. `most` is the figure to reach; both are in the unit, None is for the record."""

    what: str
    value: float
    unit: str
    most: float | None = None


@dataclass(frozen=True)
class Bench:
    """The plugin that is measured, and how much."""

    spec: WorkerSpec
    load: Load


def messages(count: int) -> list[Message]:
    """Messages of over 500 bytes, no two alike."""
    texts = ("".join(LINE.format(n=at * 7 + line) for line in range(6)) for at in range(count))
    return [Message(f"message-{at}", "user", (Text(text),)) for at, text in enumerate(texts)]


def asked(count: int = 1, *, late: bool = False, many: bool = False) -> Request:
    """A request over so many messages; `late` asks for an endless loop, `many` for a sign of other scopes."""
    return request_of(messages(count), late=late, many=many)


def milliseconds(work: Callable[[], object]) -> float:
    """The wall time of one call."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def starts(bench: Bench) -> Iterator[Row]:
    """A start as a first call sees it: process, confinement, import and an empty call."""
    cold = [cold_start(bench.spec) for _ in range(bench.load.starts)]
    request = asked(many=True)
    warm = []
    with closing(WorkerPool()) as pool:
        for _ in range(bench.load.starts):
            wait_for_spare(pool)
            warm.append(milliseconds(lambda: call(pool, bench.spec, request=request)))
            settle(pool)
    yield Row("start cold", statistics.median(cold), "ms", 100)
    yield Row("start from the spare", statistics.median(warm), "ms", 20)


def cold_start(spec: WorkerSpec) -> float:
    """The milliseconds of the first call in a pool that was just made."""
    request = asked(many=True)
    with closing(WorkerPool()) as pool:
        return milliseconds(lambda: call(pool, spec, request=request))


def wait_for_spare(pool: WorkerPool) -> None:
    """Wait until the spare has confined itself and said so."""
    next_pid(pool)
    spare = pool._spare
    assert spare is not None
    assert select.select([spare.result().process._from], [], [], 20)[0]


def calls(bench: Bench) -> Iterator[Row]:
    """Calls in a worker that is there already; they answer with half of the groups to drop."""
    load = bench.load
    for count, times, most in ((100, load.calls, 1), (load.long_messages, load.long_calls, 150)):
        took = statistics.median(call_times(bench.spec, count, times))
        yield Row(f"call, {count:,} messages of 500 bytes", took, "ms", most)


def call_times(spec: WorkerSpec, count: int, times: int) -> list[float]:
    """The milliseconds of calls one after the other, all in one scope."""
    request = asked(count)
    with closing(WorkerPool()) as pool:
        call(pool, spec, request=request, scope="one")
        wait_for_spare(pool)
        return [milliseconds(lambda: call(pool, spec, request=request, scope="one")) for _ in range(times)]


def lateness(bench: Bench) -> Iterator[Row]:
    """What a late plugin costs over its deadline, and the next call right after it."""

    def late() -> None:
        try:
            call(pool, bench.spec, request=request, seconds=LATE_SECONDS, scope="one")
        except PluginTimeoutError:
            return
        raise AssertionError("it was not late")

    request = asked(100, late=True)
    over, after = [], []
    with closing(WorkerPool()) as pool:
        for _ in range(bench.load.late):
            call(pool, bench.spec, request=asked(), scope="one")
            wait_for_spare(pool)
            over.append(milliseconds(late) - LATE_SECONDS * 1000)
            after.append(milliseconds(lambda: call(pool, bench.spec, request=asked(100), scope="one")))
    yield Row("a late plugin over its deadline, at most", max(over), "ms", 100)
    yield Row("the call after a late one", statistics.median(after), "ms")


def crowd(bench: Bench) -> Iterator[Row]:
    """Many scopes at once in a pool of four: the most processes at one moment, and their memory."""
    scopes = [f"scope {at}" for at in range(bench.load.scopes)]
    with closing(WorkerPool()) as pool, Census(pool) as census, ThreadPoolExecutor(len(scopes)) as threads:
        took = milliseconds(lambda: list(threads.map(lambda scope: visit(pool, bench.spec, scope), scopes)))
    yield Row(f"{len(scopes)} scopes at once, in all", took / 1000, "s")
    yield Row("processes at most, the spare and dying ones included", census.processes, "")
    yield Row("workers of the pool at most", census.workers, "", 4)
    yield Row("memory of all of them at most", census.kilobytes / 1024, "MiB")


def visit(pool: WorkerPool, spec: WorkerSpec, scope: str) -> None:
    """Call the plugin for a scope, and see that it saw no other."""
    edit = call(pool, spec, request=asked(many=True), scope=scope, seconds=300, within=bounds(workers=4)).edit
    assert edit is not None
    assert edit.notes == ["1"]


class Census:
    """Counts the processes of a pool, and their memory, as fast as it can."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.processes = self.workers = self.kilobytes = 0

    def __enter__(self) -> Census:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.01):
            sizes = [resident(worker.process.pid) for worker in tuple(self._pool._spawner.living)]
            self.processes = max(self.processes, len(sizes))
            self.workers = max(self.workers, self._pool.size)
            self.kilobytes = max(self.kilobytes, sum(sizes))


def resident(pid: int) -> int:
    """The memory of a process in KiB, what it shares with others divided among them where the kernel tells."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)


def measure(load: Load) -> list[Row]:
    """All rows of the table."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(plugin(Path(folder), PLAN, head="seen = []"), load)
        return [row for part in (starts, calls, lateness, crowd) for row in part(bench)]


def table(rows: list[Row]) -> str:
    """The rows as a table in Markdown."""
    lines = ["| what | measured | to reach |", "| --- | ---: | ---: |"]
    for row in rows:
        most = "" if row.most is None else f"{row.most:g} {row.unit}".rstrip()
        lines.append(f"| {row.what} | {f'{row.value:,.4g} {row.unit}'.rstrip()} | {most} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"load before: {os.getloadavg()[0]:.1f}, cores: {os.cpu_count()}")
    print(table(measure(Load())))
