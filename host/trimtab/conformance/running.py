"""Running the contract of one plugin: pytest in a child process of its own, within a time limit.

The child is given nothing of the working directory: no configuration, no conftest, no plugin of pytest, no cache.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from trimtab.conformance.orders import ORDER, TOLD, Order
from trimtab.conformance.reporting import Judgement, read_judgement

_MODULE = '''"""Made by `trimtab conform`."""

from pathlib import Path

from trimtab.conformance.child import contract_from

TestContract = contract_from(Path(__file__).parent)
'''
_SETTINGS = "[pytest]\nxfail_strict = true\n"
_PRINTED = "printed"
_MOST_PRINTED = 4_000
_GLANCE = 0.02
_OF_PYTEST = ("PYTEST_", "HYPOTHESIS_", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "PYTHONINSPECT")


def judge(order: Order, *, seconds: float) -> Judgement:
    """Run the contract and give what each rule came to. The child and all it started end after `seconds`.

    Raises OSError when no process can be started.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-conform-", ignore_cleanup_errors=True) as name:
        # Where the temporary folder is a link, pytest would name its tests in another way.
        folder = Path(name).resolve()
        _prepare(folder, order)
        began = time.monotonic()
        in_time = _run(folder, seconds)
        return read_judgement(
            _read(folder / TOLD),
            late=not in_time,
            printed=_read(folder / _PRINTED)[-_MOST_PRINTED:],
            seconds=time.monotonic() - began,
        )


def _prepare(folder: Path, order: Order) -> None:
    (folder / ORDER).write_text(order.to_json(), "utf-8")
    (folder / "pytest.ini").write_text(_SETTINGS, "utf-8")
    (folder / "test_contract.py").write_text(_MODULE, "utf-8")


def _run(folder: Path, seconds: float) -> bool:
    """Run pytest to its end; tell whether that came in time."""
    with (folder / _PRINTED).open("wb") as printed, _child(folder, printed.fileno()) as child:
        until = time.monotonic() + seconds
        while not _has_ended(child):
            if time.monotonic() > until:
                return False
            time.sleep(_GLANCE)
        return True


@contextlib.contextmanager
def _child(folder: Path, printed: int) -> Iterator[subprocess.Popen[bytes]]:
    """Start pytest, and end it with whatever it left running."""
    child = subprocess.Popen(
        _command(folder),
        stdin=subprocess.DEVNULL,
        stdout=printed,
        stderr=subprocess.STDOUT,
        env=_environment(),
        cwd=folder,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        _end_group(child)
        child.wait()


def _command(folder: Path) -> list[str]:
    options = ["--noconftest", "-p", "no:cacheprovider", "-p", "trimtab.conformance.child", "--tb=short", "-q"]
    places = ["-c", str(folder / "pytest.ini"), "--rootdir", str(folder), "--import-mode=importlib"]
    # -P: the working directory is no place to import from.
    return [sys.executable, "-P", "-m", "pytest", *options, *places, str(folder / "test_contract.py")]


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_PYTEST)}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended. Where possible it stays unburied, so that its number still names its group."""
    if sys.platform != "linux":
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child with all that it started."""
    if not hasattr(os, "killpg"):
        child.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _read(file: Path) -> str:
    return file.read_text("utf-8", "replace") if file.exists() else ""
