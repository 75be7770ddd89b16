"""Things to wait for across threads and event loops, so that no test has to sleep."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

PATIENCE = 10.0
"""Seconds after which waiting is given up with a TimeoutError."""


class Moment:
    """Something that happens once. Threads wait for it with `wait`, coroutines with `wait_async`."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._past = threading.Event()
        self._lock = threading.Lock()
        self._sleepers: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    @property
    def happened(self) -> bool:
        """Whether it lies behind us."""
        return self._past.is_set()

    def happen(self) -> None:
        """Wake everybody who waits; a second time changes nothing."""
        with self._lock:
            self._past.set()
            sleepers, self._sleepers = self._sleepers, []
        for loop, alarm in sleepers:
            with suppress(RuntimeError):  # a loop that is closed has nobody left to wake
                loop.call_soon_threadsafe(alarm.set)

    def wait(self, seconds: float = PATIENCE) -> None:
        """Wait in a thread. Raises TimeoutError after `seconds`."""
        if not self._past.wait(seconds):
            raise TimeoutError(f"{self.what} did not happen within {seconds} s")

    async def wait_async(self, seconds: float | None = PATIENCE) -> None:
        """Wait in a coroutine; None waits without end. Raises TimeoutError after `seconds`."""
        alarm = asyncio.Event()
        with self._lock:
            if self._past.is_set():
                return
            self._sleepers.append((asyncio.get_running_loop(), alarm))
        try:
            await asyncio.wait_for(alarm.wait(), seconds)
        except TimeoutError:
            raise TimeoutError(f"{self.what} did not happen within {seconds} s") from None


class Gate:
    """A place in a script where the server stops until `open()` is called, by whomever."""

    def __init__(self, name: str = "gate") -> None:
        self.reached = Moment(f"the server's arrival at {name!r}")
        self.opened = Moment(f"the opening of {name!r}")

    def open(self) -> None:
        """Let the server go on, now and each time it comes here."""
        self.opened.happen()


class Watches:
    """Statements that somebody waits for until they hold; `check` is called after whatever may make them so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[Callable[[], bool], Moment]] = []

    def moment(self, holds: Callable[[], bool], what: str) -> Moment:
        """Give the moment at which a statement holds, which may be now."""
        moment = Moment(what)
        with self._lock:
            self._open.append((holds, moment))
        self.check()
        return moment

    def check(self) -> None:
        """Look at all statements again."""
        with self._lock:
            held = [moment for holds, moment in self._open if holds()]
            self._open = [watch for watch in self._open if watch[1] not in held]
        for moment in held:
            moment.happen()
