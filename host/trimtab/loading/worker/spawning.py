"""Starting workers from one thread that lives as long as the host, and burying them there.

A worker asks the kernel to be killed when its parent dies, and to the kernel the parent is the thread that started
it, not the process.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future

from trimtab.loading.worker.worker import Worker


class Spawner:
    """Starts and buries workers in the background. `living` are those that are not buried yet."""

    def __init__(self) -> None:
        # Its `put` may be interrupted by itself, as a finalizer does.
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self.living: set[Worker] = set()

    def start(self) -> Future[Worker]:
        """Order a worker; it is given as soon as its process runs, before it is ready.

        Raises OSError when no thread can be started; the future does when no process can.
        """
        self._ensure_thread()
        order: Future[Worker] = Future()
        self._orders.put(lambda: self._spawn(order))
        return order

    def bury(self, worker: Worker) -> None:
        """Wait in the background until a killed worker has ended, and give back its pipes."""
        self.later(lambda: self._bury(worker))

    def later(self, order: Callable[[], None]) -> None:
        """Do something in the background, where workers were started. Never waits: finalizers may call it."""
        if self._thread is not None:
            self._orders.put(order)

    def close(self, busy: Collection[Worker]) -> None:
        """Kill every worker, and bury those that are not `busy`, now."""
        living = tuple(self.living)
        for worker in living:
            worker.kill()
        for worker in living:
            if worker not in busy:
                self._bury(worker)

    def abandon(self) -> None:
        """After a fork, in the child: give back the pipes of the workers, which are the parent's children."""
        for worker in tuple(self.living):
            worker.process.abandon()

    def _ensure_thread(self) -> None:
        if self._thread is not None:
            return
        with self._lock:
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="trimtab-workers", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                raise OSError(str(error)) from error
            self._thread = thread

    def _run(self) -> None:
        while True:
            self._orders.get()()

    def _spawn(self, order: Future[Worker]) -> None:
        if not order.set_running_or_notify_cancel():
            return
        try:
            worker = Worker()
        except BaseException as error:
            order.set_exception(error)
            return
        self.living.add(worker)
        order.set_result(worker)

    def _bury(self, worker: Worker) -> None:
        worker.bury()
        self.living.discard(worker)
