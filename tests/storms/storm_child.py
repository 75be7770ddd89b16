"""A process that runs a storm's part, as the process that started it sees it."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

Said: TypeAlias = dict[str, Any]
PATIENCE = 30.0


class Child:
    """`script` with `order` as its argument. What it prints, a JSON object a line, is read by `hear`.

    `patience`: for how many seconds it may say nothing.
    """

    def __init__(self, script: str, order: dict[str, object], *, patience: float = PATIENCE) -> None:
        path = Path(__file__).with_name(script)
        self.process = subprocess.Popen(
            [sys.executable, str(path), json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.heard: list[Said] = []
        self._patience = patience
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def go(self) -> None:
        """Let the child begin; it has said `ready` before."""
        self.hear("ready")
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def hear(self, kind: str) -> Said:
        """Wait for what the child says of a kind."""
        while True:
            said = self._next()
            if said is None:
                raise AssertionError(f"the child ended before it said {kind!r}; it said {self.heard[-5:]}")
            if said["kind"] == kind:
                return said

    def kill(self) -> None:
        """End the process with SIGKILL, and hear what it had said until then."""
        self.process.kill()
        self.process.wait()
        self._reading.join()
        while self._next() is not None:
            pass
        for end in (self.process.stdin, self.process.stdout):
            if end is not None:
                end.close()

    def stop(self) -> None:
        """Stop the process where it stands."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let a stopped process run on."""
        self.process.send_signal(signal.SIGCONT)

    def _next(self) -> Said | None:
        try:
            line = self._lines.get(timeout=self._patience)
        except queue.Empty:
            raise TimeoutError(
                f"the child said nothing for {self._patience} s; before: {self.heard[-5:]}"
            ) from None
        if line is None:
            self._lines.put(None)
            return None
        said: Said = json.loads(line)
        self.heard.append(said)
        return said

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            # The last line of a process that was killed may be cut.
            if line.endswith("\n"):
                self._lines.put(line)
        self._lines.put(None)


def say(kind: str, **more: object) -> None:
    """Say something to the process that started this one."""
    print(json.dumps({"kind": kind, **more}), flush=True)


def wait_for_go() -> None:
    """Say `ready`, and wait to be told to begin."""
    say("ready")
    sys.stdin.readline()
