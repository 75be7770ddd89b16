"""Running the command as users do: a process of its own, with pipes or with a terminal."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from trimtab.cli import main

COMMAND = (sys.executable, "-m", "trimtab.cli")
# The configuration and the plugins of whoever runs the tests take no part in them.
_ALONE = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME"), "/nonexistent")
_QUIET = ("NO_COLOR", "FORCE_COLOR", "TRIMTAB_DEBUG", "COLUMNS", "LINES", "PYTHONIOENCODING")


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _QUIET}
    return {**kept, **_ALONE, "TERM": "xterm", **(changes or {})}


def run(
    *args: str | Path, stdin: str = "", env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Ended:
    ended = subprocess.run(
        [*COMMAND, *map(str, args)],
        input=stdin.encode(),
        capture_output=True,
        env=environment(env),
        cwd=cwd,
        check=False,
        timeout=60,
    )
    return Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def run_here(*args: str | Path) -> Ended:
    """Run in this process, which is quicker; pipes, signals and the environment are not the real ones."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with patch.dict("os.environ", _ALONE), redirect_stdout(out), redirect_stderr(err):
        code = main([*map(str, args)])
    return Ended(code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def run_in_terminal(*args: str | Path, columns: int = 80, env: Mapping[str, str] | None = None) -> Ended:
    """Run with stdin, stdout and stderr on one terminal; what it shows is `out`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, args)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment(env)
    )
    os.close(theirs)
    shown = _read_all(ours)
    os.close(ours)
    return Ended(process.wait(), shown.decode().replace("\r\n", "\n"), "")


def _read_all(descriptor: int) -> bytes:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:
            # Linux answers so when the last process has left the terminal.
            return b"".join(pieces)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
