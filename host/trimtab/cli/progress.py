"""A bar for counting that takes long, on a terminal only."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from trimtab.cli.screen import console_for

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.5


class CountingProgress:
    """Hears how many messages are counted, draws a bar after `PATIENCE` seconds and wipes it at the end."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._started = clock()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Take note that `done` of `total` messages are counted."""
        if self._bar is None:
            if done >= total or self._clock() - self._started < PATIENCE:
                return
            self._bar = self._drawn()
            self._task = self._bar.add_task("counting", total=total)
        assert self._task is not None
        self._bar.update(self._task, completed=done, total=total)

    def _drawn(self) -> Progress:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("messages")
        bar = Progress(*columns, console=console_for(self._stream), transient=True)
        bar.start()
        return bar
