"""An event loop beside the main thread, which is left to the keyboard: its lines, and its Ctrl-C."""

from __future__ import annotations

import asyncio
import concurrent.futures
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Final, Self, TypeVar

_T = TypeVar("_T")

# A wait without an end hears no Ctrl-C that comes just before it, and on Windows none at all.
_PATIENCE: Final = 0.2


class LoopThread:
    """An event loop in a thread of its own, from `with` to its end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="trimtab-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self._loop.shutdown_asyncgens())
        self.call(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine in the loop and give what it gives. KeyboardInterrupt ends the wait, not the work."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        while True:
            try:
                return future.result(_PATIENCE)
            except concurrent.futures.TimeoutError:
                if future.done():
                    raise

    def call(self, function: Callable[[], object]) -> None:
        """Have the loop call a function soon."""
        self._loop.call_soon_threadsafe(function)


class ImpatientInterrupt(KeyboardInterrupt):
    """Somebody pressed Ctrl-C a second time, without waiting for what the first one does."""


@contextmanager
def interruptible(cancel: Callable[[], None]) -> Iterator[None]:
    """Have the first Ctrl-C call `cancel`, and every further one raise ImpatientInterrupt. For the main thread."""
    pressed = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise ImpatientInterrupt
        pressed = True
        cancel()

    before = signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
