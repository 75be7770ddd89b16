"""A bounded pool of workers: one process for each plugin and scope, and a blank one that waits."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import cache

from trimtab.loading.worker.answers import BrokenFrameError
from trimtab.loading.worker.process import EndedError, LateError
from trimtab.loading.worker.spawning import Spawner
from trimtab.loading.worker.spec import WorkerSpec
from trimtab.loading.worker.worker import RaisedError, Worker
from trimtab_sdk.request import Traits
from trimtab_worker.confinement import StepReport

LOAD_SECONDS = 10.0
_PROBE_MB = 512
_MEBIBYTE = 1024 * 1024


class NoRoomError(Exception):
    """Every worker is busy, and stayed so until the deadline."""


class SlowStartError(Exception):
    """No worker came up within the deadline; no code of a plugin had run so far."""


class StartError(Exception):
    """A worker did not come so far that it could load a plugin; `printed` is what it wrote before it ended."""

    def __init__(self, text: str, printed: str = "") -> None:
        super().__init__(text)
        self.printed = printed


class LoadError(Exception):
    """A worker could not load the plugin; `trace` is the plugin's traceback, or what it printed."""

    def __init__(self, text: str, trace: str = "") -> None:
        super().__init__(text)
        self.trace = trace


class IncompleteError(Exception):
    """The platform refused steps of the confinement, and the configuration is strict; `refused` is step → why."""

    def __init__(self, refused: dict[str, str]) -> None:
        super().__init__(", ".join(refused))
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Seat:
    """Whom a worker serves: a plugin within bounds, for one scope. A scope of None is one call and no other.

    A worker that is `untouched` has loaded its plugin and seen no scope yet.
    """

    spec: WorkerSpec
    memory_mb: int
    scope: str | None
    untouched: bool = False


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a worker said of the plugin it loaded, and how its confinement went."""

    traits: Traits
    steps: tuple[StepReport, ...]
    seconds: float


class WorkerPool:
    """Workers by seat. Safe to share between threads.

    A worker that has seen a scope never serves another. When the pool is full, the worker that was idle longest
    ends. One blank worker more waits outside the bound, confined as far as it can be without a plugin.
    """

    def __init__(self) -> None:
        self._spawner = Spawner()
        self._spare: Future[Worker] | None = None
        self._idle: dict[Seat, Worker] = {}
        # None: to be ended when it comes back.
        self._busy: dict[Worker, Seat | None] = {}
        self._starting = 0
        self._changed = threading.Condition(threading.Lock())

    @property
    def size(self) -> int:
        """The number of workers, the spare one not counted."""
        return len(self._idle) + len(self._busy) + self._starting

    @contextlib.contextmanager
    def worker(self, seat: Seat, *, most: int, strict: bool, deadline: float) -> Iterator[Worker]:
        """Lend the worker of a seat, started and loaded where there is none yet. `most` bounds the pool.

        A worker whose user raises is killed. Raises NoRoomError, SlowStartError, StartError, LoadError, LateError,
        IncompleteError when `strict` asks for every step of the confinement, and OSError when no process can be
        started.
        """
        worker = self._claim(seat, most, deadline) or self._start(seat, strict, deadline)
        try:
            if strict:
                _check_complete(worker.steps)
            yield worker
        except BaseException:
            self._release(worker, keep=False)
            raise
        self._release(worker, keep=True)

    def load(self, spec: WorkerSpec, *, memory_mb: int, most: int, strict: bool) -> Loaded:
        """Load a plugin and tell its traits. The worker waits for the first scope that calls it.

        Raises what `worker` raises.
        """
        began = time.monotonic()
        seat = Seat(spec, memory_mb, None, untouched=True)
        with self.worker(seat, most=most, strict=strict, deadline=began + LOAD_SECONDS) as worker:
            return Loaded(worker.traits, worker.steps, time.monotonic() - began)

    def probe(self) -> tuple[StepReport, ...]:
        """Tell which confinement this machine gives. Raises what starting a worker raises."""
        worker = self._confined((), _PROBE_MB, time.monotonic() + LOAD_SECONDS)
        self._end(worker)
        return worker.steps

    def prepare(self) -> None:
        """Order the blank worker, so that it is there when the first plugin comes."""
        with self._changed:
            if self._spare is None:
                self._spare = self._spawner.start()

    def forget(self, scope: str) -> None:
        """End the workers of a scope in the background, busy ones when they are done.

        Never waits, so that a finalizer may call it, also while this thread holds a lock of the pool.
        """
        self._spawner.later(lambda: self._end_scope(scope))

    def close(self) -> None:
        """End every worker. Those that are busy now are buried by whoever uses them."""
        with self._changed:
            self._idle.clear()
            busy = set(self._busy)
            spare, self._spare = self._spare, None
        if spare is not None and not spare.cancel():
            with contextlib.suppress(Exception):
                spare.result(LOAD_SECONDS)
        self._spawner.close(busy)

    def abandon(self) -> None:
        """After a fork, in the child: the workers are the parent's. Close their pipes and start anew."""
        self._spawner.abandon()
        self.__init__()  # type: ignore[misc]

    def _claim(self, seat: Seat, most: int, deadline: float) -> Worker | None:
        """Give the idle worker of a seat, or None with room for a new one."""
        with self._changed:
            while True:
                worker = self._take_idle(seat)
                if worker is not None:
                    self._busy[worker] = seat
                    return worker
                while self.size >= most and self._idle:
                    self._end(self._idle.pop(next(iter(self._idle))))
                if self.size < most:
                    self._starting += 1
                    return None
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise NoRoomError

    def _take_idle(self, seat: Seat) -> Worker | None:
        for wanted in (seat, replace(seat, scope=None, untouched=True)):
            worker = self._idle.pop(wanted, None)
            if worker is None:
                continue
            if worker.process.is_alive:
                return worker
            self._end(worker)
        return None

    def _start(self, seat: Seat, strict: bool, deadline: float) -> Worker:
        """Give a new worker in the room that `_claim` made for it."""
        try:
            worker = self._loaded(seat, strict, deadline)
        except BaseException:
            with self._changed:
                self._starting -= 1
                self._changed.notify_all()
            raise
        with self._changed:
            self._starting -= 1
            self._busy[worker] = seat
        with contextlib.suppress(OSError):
            # Whoever needs the next worker is told that there is no room for it.
            self.prepare()
        return worker

    def _loaded(self, seat: Seat, strict: bool, deadline: float) -> Worker:
        worker = self._confined(seat.spec.paths, seat.memory_mb, deadline)
        try:
            if strict:
                _check_complete(worker.steps)
            _load(worker, seat.spec, deadline)
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _confined(self, paths: Sequence[str], memory_mb: int, deadline: float) -> Worker:
        """Give a worker that may read `paths`. A spare that died while it waited is replaced once."""
        try:
            return self._confine(self._take_spare(), paths, memory_mb, deadline)
        except StartError:
            return self._confine(self._spawner.start(), paths, memory_mb, deadline)

    def _confine(self, order: Future[Worker], paths: Sequence[str], memory_mb: int, deadline: float) -> Worker:
        worker = self._delivered(order, deadline)
        try:
            worker.lock(paths, memory=memory_mb * _MEBIBYTE, deadline=deadline)
        except BaseException as error:
            printed = worker.process.take_output()
            self._end(worker)
            if isinstance(error, EndedError | BrokenFrameError | RaisedError):
                raise StartError(str(error), printed) from error
            if isinstance(error, LateError):
                raise SlowStartError from error
            raise
        return worker

    def _delivered(self, order: Future[Worker], deadline: float) -> Worker:
        try:
            return order.result(max(0.0, deadline - time.monotonic()))
        except BaseException as error:
            order.add_done_callback(self._end_unwanted)
            if isinstance(error, TimeoutError):
                raise SlowStartError from error
            raise

    def _end_unwanted(self, order: Future[Worker]) -> None:
        if not order.cancelled() and order.exception() is None:
            self._end(order.result())

    def _take_spare(self) -> Future[Worker]:
        with self._changed:
            spare, self._spare = self._spare, None
        if spare is None or (spare.done() and spare.exception() is not None):
            return self._spawner.start()
        return spare

    def _release(self, worker: Worker, *, keep: bool) -> None:
        """Take a worker back: to its seat, or to its end."""
        with self._changed:
            seat = self._busy.pop(worker, None)
            if keep and seat is not None and (seat.untouched or seat.scope is not None):
                former = self._idle.pop(seat, None)
                self._idle[seat] = worker
            else:
                former = worker
            if former is not None:
                self._end(former)
            self._changed.notify_all()

    def _end_scope(self, scope: str) -> None:
        with self._changed:
            for seat in [seat for seat in self._idle if seat.scope == scope]:
                self._end(self._idle.pop(seat))
            self._busy |= {worker: None for worker, seat in self._busy.items() if seat and seat.scope == scope}

    def _end(self, worker: Worker) -> None:
        worker.kill()
        self._spawner.bury(worker)


def _load(worker: Worker, spec: WorkerSpec, deadline: float) -> None:
    try:
        worker.load(spec, deadline=deadline)
    except RaisedError as error:
        raise LoadError(str(error), error.trace) from error
    except (EndedError, BrokenFrameError) as error:
        raise LoadError(str(error), worker.process.take_output()) from error


def _check_complete(steps: Sequence[StepReport]) -> None:
    refused = refused_steps(steps)
    if refused:
        raise IncompleteError(refused)


def refused_steps(steps: Sequence[StepReport]) -> dict[str, str]:
    """Give step → why, of the steps that the platform refused."""
    return {report.step: report.detail for report in steps if not report.done}


_POOL = WorkerPool()
atexit.register(_POOL.close)
os.register_at_fork(after_in_child=_POOL.abandon)


def worker_pool() -> WorkerPool:
    """Give the pool of this process, which ends with it."""
    return _POOL


@cache
def confinement_here() -> tuple[StepReport, ...]:
    """Tell which steps of the confinement this machine does, and why it refuses the others.

    Raises OSError when no process can be started, StartError and SlowStartError when it does not come up.
    """
    return worker_pool().probe()
