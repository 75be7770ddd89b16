"""One worker process, seen from the host: started, spoken to within a deadline, killed with its group."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pluggy

import trimtab_sdk
import trimtab_worker
from trimtab.loading.worker.answers import BrokenFrameError, read_frame
from trimtab_worker.frames import LENGTH

MOST_ANSWER_BYTES = 8 * 1024 * 1024
MOST_OUTPUT_BYTES = 16 * 1024
PIPE_BYTES = 1024 * 1024
_CHUNK = 1024 * 1024
_PRINTED_CHUNK = 64 * 1024
# More than a pipe holds: what was printed before is all read, and a plugin that never stops is left alone.
_MOST_PRINTED_CHUNKS = 32
_REAP_SECONDS = 5.0
_LINGER_SECONDS = 0.5
# Libraries that would start threads, which a worker may not.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# The standard library goes first: nothing that is installed beside pluggy can take its place.
_BOOT = (
    "import sys; sys.path += sys.argv[2:]; "
    "from trimtab_worker.main import main; main(int(sys.argv[1]), len(sys.argv) - 2)"
)


class LateError(Exception):
    """The deadline passed while the host spoke to a worker."""


class EndedError(Exception):
    """The worker's process has ended; the text says how."""


class WorkerProcess:
    """A process that runs `trimtab_worker`. Used by one thread at a time.

    Raises OSError when none can be started.
    """

    def __init__(self) -> None:
        self._process = _start()
        self._ends = tuple(
            end.fileno() for end in (self._process.stdin, self._process.stdout, self._process.stderr) if end
        )
        self._to, self._from, self._printed = self._ends
        for end in self._ends:
            os.set_blocking(end, False)
        _widen(self._to)
        _widen(self._from)
        self._prints = True
        self._output = bytearray()
        self._lost = 0

    @property
    def pid(self) -> int:
        """The process id, which is its group's too."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._exit_code() is None

    def send(self, frame: bytes, *, deadline: float) -> None:
        """Send a packed frame.

        Raises LateError, EndedError, and BrokenFrameError when the worker has spoken unasked.
        """
        if self._has_spoken():
            raise BrokenFrameError("sent something nobody asked for")
        rest = memoryview(frame)
        while rest:
            if self._wait(self._to, select.POLLOUT, deadline):
                rest = rest[self._write(rest, deadline) :]

    def receive(self, *, deadline: float, most: int = MOST_ANSWER_BYTES) -> dict[str, object]:
        """Give the object of the next frame, of at most `most` bytes.

        Raises LateError, EndedError or BrokenFrameError.
        """
        (length,) = LENGTH.unpack(self._read(LENGTH.size, deadline))
        if length > most:
            raise BrokenFrameError(f"sent a frame of {length} bytes; at most {most} are taken")
        return read_frame(self._read(length, deadline))

    def take_output(self) -> str:
        """Give what the plugin printed since the last time: at most 16 KiB, and how much more was read."""
        for _ in range(_MOST_PRINTED_CHUNKS):
            if not self._drain():
                break
        text = self._output.decode("utf-8", "replace")
        if self._lost:
            text += f" … and {self._lost} bytes more"
        self._output.clear()
        self._lost = 0
        return text

    def kill(self) -> None:
        """End the process and whatever it started, at once."""
        # Its number names its group as long as nobody has buried it, also when it has ended by itself.
        if self._process.returncode is not None:
            return
        for end in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                end(self.pid, signal.SIGKILL)

    def bury(self) -> None:
        """Wait until a killed process has ended, and give back its pipes."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_REAP_SECONDS)
        self._close()

    def abandon(self) -> None:
        """Give back the pipes of a process that is another's child."""
        self._process.returncode = 0
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _has_spoken(self) -> bool:
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        return any(event & select.POLLIN for _, event in poll.poll(0)) and self.is_alive

    def _read(self, size: int, deadline: float) -> bytes:
        pieces = bytearray()
        while len(pieces) < size:
            if not self._wait(self._from, select.POLLIN, deadline):
                continue
            piece = os.read(self._from, min(size - len(pieces), _CHUNK))
            if not piece:
                raise EndedError(self._ending(deadline))
            pieces += piece
        return bytes(pieces)

    def _write(self, rest: memoryview, deadline: float) -> int:
        try:
            with _broken_pipe_is_no_signal():
                return os.write(self._to, rest[:_CHUNK])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise EndedError(self._ending(deadline)) from None

    def _wait(self, end: int, event: int, deadline: float) -> bool:
        """Wait until one end is ready; what the plugin prints meanwhile is taken, so that it never stalls."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise LateError
        poll = select.poll()
        poll.register(end, event)
        if self._prints:
            poll.register(self._printed, select.POLLIN)
        ready = dict(poll.poll(left * 1000))
        if self._printed in ready:
            self._drain()
        return end in ready

    def _drain(self) -> bool:
        """Take one piece of what the plugin printed; tell whether there was one."""
        try:
            piece = os.read(self._printed, _PRINTED_CHUNK)
        except BlockingIOError:
            return False
        if not piece:
            self._prints = False
            return False
        room = MOST_OUTPUT_BYTES - len(self._output)
        self._output += piece[:room]
        self._lost += max(0, len(piece) - room)
        return True

    def _ending(self, deadline: float) -> str:
        """Say how the process ended that has closed its pipes; not longer than the deadline leaves."""
        until = min(deadline, time.monotonic() + _LINGER_SECONDS)
        while (code := self._exit_code()) is None:
            if time.monotonic() > until:
                return "closed its pipes"
            time.sleep(0.001)
        if code >= 0:
            return f"ended its process with exit code {code}"
        with contextlib.suppress(ValueError):
            return f"ended by the signal {signal.Signals(-code).name}"
        return f"ended by the signal {-code}"

    def _exit_code(self) -> int | None:
        """Give how the process ended, None while it runs. It stays unburied, so that `kill` finds its group."""
        if self._process.returncode is not None or sys.platform != "linux":
            return self._process.poll()
        try:
            ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            # Somebody else in this program buries all children.
            return self._process.poll()
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _start() -> subprocess.Popen[bytes]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("this program has no Python interpreter of its own to start one with (sys.executable)")
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            "-u",
            "-X",
            "utf8",
            *_caching(),
            "-c",
            _BOOT,
            str(os.getpid()),
            *_own_folders(),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        cwd="/",
        start_new_session=True,
        bufsize=0,
    )


def _caching() -> list[str]:
    """How the host keeps compiled code; a worker starts in two thirds of the time when its own is kept."""
    place = ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    return [*place, "-B"] if sys.dont_write_bytecode else place


def _own_folders() -> list[str]:
    """The folders that the worker's own code, the sdk and pluggy are imported from."""
    modules = (trimtab_worker, trimtab_sdk, pluggy)
    return list(dict.fromkeys(str(Path(str(module.__file__)).parent.parent) for module in modules))


@contextlib.contextmanager
def _broken_pipe_is_no_signal() -> Iterator[None]:
    """Keep a write into a closed pipe from ending the host, where the host app took Python's own guard away."""
    if signal.getsignal(signal.SIGPIPE) is not signal.SIG_DFL or sys.platform != "linux":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        if signal.SIGPIPE not in before:
            signal.sigtimedwait({signal.SIGPIPE}, 0)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPIPE})


def _widen(pipe: int) -> None:
    """Make a pipe hold a whole frame where the platform allows it: fewer turns between the processes."""
    if sys.platform != "linux":
        return
    import fcntl

    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
