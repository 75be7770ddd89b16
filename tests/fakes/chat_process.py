"""Start the fake server outside this process, for benchmarks and for tests that kill their client."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SCRIPT = Path(__file__).with_name("chat_server.py")


@contextmanager
def chat_server_process(*arguments: str) -> Iterator[str]:
    """Run `chat_server.py` with the arguments and give its base URL; it ends with the block or this process."""
    command = [sys.executable, str(_SCRIPT), "--stop-on-eof", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the server ended with {process.wait()} before it gave its URL")
        yield url
