"""Makes host apps, one process for each attack, and judges them as processes: `python nursery.py`

A line of JSON on stdin orders a host app, a line on stdout says how it went. An order has `command` (a program to
start) or `order` and `answer` (files for `host_app.serve`, in a copy of this process, in which everything is
imported already), `work` (its working directory), `site` (a folder for its import path), `environment`, `out` (a
folder for what it prints) and `seconds` (how long it may take).

Each host app has a warden, a process to which everything comes that it started and left behind. The answer has
`code` (None: it had to be ended), `seconds`, `peak` memory in MiB, and `left`: what was left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ADOPT = 36
_GRACE = 3.0


def main() -> None:
    """Serve orders until there are none. Also where a host app comes out, at its end."""
    _prepare()
    for line in sys.stdin:
        order = json.loads(line)
        reading, writing = os.pipe()
        warden = os.fork()
        if warden == 0:
            os.close(reading)
            _watch_over(order, writing)
            return
        os.close(writing)
        with open(reading, encoding="utf-8") as told:
            answer = told.read()
        os.waitpid(warden, 0)
        print(answer, flush=True)


def _prepare() -> None:
    """Import what every host app needs, tokenizer included."""
    import trimtab
    from trimtab.loading import candidates, vetting  # noqa: F401
    from trimtab.loading.worker import pool  # noqa: F401

    trimtab.fit([{"role": "user", "content": "hello"}], model="gpt-4.1", format="chat-completions")
    trimtab.Config(limits={"*": {"seconds": 1}}, interceptors=["none"])


def _watch_over(order: Mapping[str, Any], writing: int) -> None:
    """Be the warden of a host app, or come back as the host app, when it is to end."""
    ctypes.CDLL(None).prctl(_ADOPT, 1, 0, 0, 0)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(writing)
        _be_host_app(order)
        return
    code = _wait(child, order["seconds"])
    took = time.monotonic() - began
    left = _left_behind(0.0 if code is None else _GRACE)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    os.write(writing, json.dumps({"code": code, "seconds": took, "peak": peak, "left": left}).encode())
    os._exit(0)


def _be_host_app(order: Mapping[str, Any]) -> None:
    os.setsid()
    os.chdir(order["work"])
    for end, path, how in ((0, os.devnull, os.O_RDONLY), *_outputs(Path(order["out"]))):
        opened = os.open(path, how, 0o600)
        os.dup2(opened, end)
        os.close(opened)
    if order["command"]:
        os.execve(order["command"][0], order["command"], order["environment"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path.insert(1, order["site"])
    importlib.invalidate_caches()
    host_app = importlib.import_module("host_app")
    host_app.serve(Path(order["order"]), Path(order["answer"]))


def _outputs(out: Path) -> tuple[tuple[int, str, int], ...]:
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return (1, str(out / "stdout"), how), (2, str(out / "stderr"), how)


def _wait(child: int, seconds: float) -> int | None:
    """Give the exit code, negative for a signal; None where the child took too long and was ended."""
    end = os.pidfd_open(child)
    late = not select.select([end], [], [], seconds)[0]
    os.close(end)
    if late:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if late else code


def _left_behind(grace: float) -> list[str]:
    """Wait for what is about to end; then name what is left, and end it."""
    until = time.monotonic() + grace
    while (ours := _children()) and time.monotonic() < until:
        time.sleep(0.002)
    names = [_command_line(pid) for pid in ours]
    while ours := _children():
        for pid in ours:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    return names


def _children() -> list[int]:
    """The children of this process that still run; those that have ended are buried."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and _parent(one) == os.getpid()]


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:200]
    except OSError:
        return "gone"


if __name__ == "__main__":
    main()
