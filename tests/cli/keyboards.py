"""Somebody at a terminal: keys in, the screen out."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from cli.running import COMMAND, environment

CTRL_C = "\x03"
CTRL_D = "\x04"
_PATIENCE = 30.0
_NEVER = "\0"
_STEERING = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Keyboard:
    """Runs a command on a terminal of its own. `shown` is all it has printed, without colours."""

    def __init__(self, *args: str | Path, columns: int = 80, env: Mapping[str, str] | None = None) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [*COMMAND, *map(str, args)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(env),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._raw = b""
        self._heard = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)

    @property
    def shown(self) -> str:
        return _STEERING.sub("", self._raw.decode(errors="replace")).replace("\r\n", "\n")

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str) -> str:
        """Wait until this is printed behind what was waited for last, and give what stands before it."""
        deadline = time.monotonic() + _PATIENCE
        while text not in self.shown[self._heard :]:
            assert self._read(deadline), f"{text!r} never came after {self.shown[self._heard :]!r}"
        at = self.shown.index(text, self._heard)
        before, self._heard = self.shown[self._heard : at], at + len(text)
        return before

    def press(self, key: str, text: str) -> None:
        """Press a key until this is printed: just before Python reads a line, it hears no Ctrl-C."""
        deadline = time.monotonic() + _PATIENCE
        while text not in self.shown[self._heard :]:
            assert time.monotonic() < deadline, f"{text!r} never came after {self.shown[self._heard :]!r}"
            self.type(key)
            self._listen(text)
        self.wait_for(text)

    def end(self, key: str = "") -> int:
        """Wait until the command has ended, pressing a key for it if one is given, and give its exit code."""
        deadline = time.monotonic() + _PATIENCE
        while key and time.monotonic() < deadline and self._process.poll() is None:
            self.type(key)
            self._listen(_NEVER)
        while self._read(deadline):
            pass
        return self._process.wait(_PATIENCE)

    def _listen(self, text: str) -> None:
        patience = time.monotonic() + 1.0
        while text not in self.shown[self._heard :] and self._read(patience):
            pass

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        try:
            piece = os.read(self._ours, 65536) if ready else b""
        except OSError:
            # Linux answers so when the last process has left the terminal.
            return False
        self._raw += piece
        return bool(piece)
