"""Runs in a child: confines itself as told, tries one thing, and prints how that went.

The order is JSON: `steps`, `probe` (a function of this module) and its `arguments`; where wanted `readable`,
`memory`, `parent`, `opened` (a file opened for writing beforehand) and `deny` (system calls that the surroundings
refuse). One line of JSON comes back: the `reports` of the steps, and `result`, which is what the probe gave, else
"ok", the name of an errno or the name of an exception.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import socket
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from trimtab_worker import seccomp
from trimtab_worker.confinement import StepReport, give_up, lock
from trimtab_worker.linux import call, control

Order = dict[str, object]
_GIGABYTE = 1 << 30
_AFTERWARDS = 'printf \'%s\\n\' \'{"reports": [], "result": "ok"}\''
_UNSHARE = {"x86_64": 272, "aarch64": 97}


def connect(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass


def new_network() -> None:
    """What the namespaces step is made of: a network namespace inside a user namespace."""
    call("unshare", 0x1000_0000 | 0x4000_0000)


def host_name() -> str:
    return os.uname().nodename


def landlock_version() -> int:
    return call("syscall", 444, None, 0, 1)


def make_socket() -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()


def make_pair() -> None:
    for end in socket.socketpair():
        end.close()


def fork() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def thread() -> None:
    one = threading.Thread(target=int)
    one.start()
    one.join()


def execute() -> None:
    os.execv("/bin/sh", ["sh", "-c", _AFTERWARDS])


def signal_to(process: int) -> None:
    os.kill(process, 0)


def read(path: str) -> None:
    Path(path).read_bytes()


def list_folder(path: str) -> None:
    os.listdir(path)


def write(path: str) -> None:
    Path(path).write_bytes(b"x" * 10)


_opened: dict[str, int] = {}


def write_to_open(path: str) -> None:
    """Write through what was opened before the confinement."""
    os.write(_opened[path], b"x" * 10)


def append(path: str) -> None:
    os.close(os.open(path, os.O_RDONLY | os.O_APPEND))


def truncate(path: str) -> None:
    os.truncate(path, 0)


def unlink(path: str) -> None:
    os.unlink(path)


def rename(path: str) -> None:
    os.rename(path, f"{path}.moved")


def link(path: str) -> None:
    os.link(path, f"{path}.link")


def symlink(path: str) -> None:
    os.symlink(path, f"{path}.symlink")


def make_folder(path: str) -> None:
    os.mkdir(f"{path}.folder")


def make_pipe_file(path: str) -> None:
    os.mkfifo(f"{path}.fifo")


def change_mode(path: str) -> None:
    os.chmod(path, 0o600)


def change_times(path: str) -> None:
    os.utime(path)


def lock_file(path: str) -> None:
    with open(path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def own_signals(path: str) -> None:
    """Ask for signals to oneself about a file: the way to have the kernel signal anybody."""
    with open(path) as file:
        fcntl.fcntl(file, fcntl.F_SETOWN, os.getpid())


def trace_me() -> None:
    call("ptrace", 0, 0, 0, 0)


def memory_file() -> None:
    os.close(os.memfd_create("probe"))


def be_dumpable_again() -> None:
    control(4, 1)


def change_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    call("setrlimit", resource.RLIMIT_NOFILE, struct.pack("QQ", soft - 1, hard))


def new_session() -> None:
    os.setpgid(0, 0)


def reserve() -> None:
    mmap.mmap(-1, _GIGABYTE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def allocate() -> None:
    bytearray(_GIGABYTE)


def open_many() -> None:
    ends = [os.open("/dev/null", os.O_RDONLY) for _ in range(100)]
    for end in ends:
        os.close(end)


def limits() -> list[list[int]]:
    names = ("FSIZE", "CORE", "NPROC", "MEMLOCK", "MSGQUEUE")
    return [list(resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))) for name in names]


def own_file(name: str) -> str:
    return Path("/proc/self", name).read_text().strip()


def status() -> dict[str, str]:
    rows = (line.partition(":") for line in own_file("status").splitlines())
    return {key: value.strip() for key, _, value in rows}


def securebits() -> int:
    return control(27)


def wait() -> str:
    """Tell the process id, answer each line with its echo, until the input ends."""
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        print(line.strip(), flush=True)
    return "ended"


def foreign_architecture() -> None:
    """Call getpid the way a 32-bit program does: another table of numbers."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()


def x32_getpid() -> None:
    ctypes.CDLL(None).syscall(ctypes.c_long(0x4000_0000 | 39))


def raw(number: int) -> None:
    call("syscall", number, 0, 0, 0, 0, 0, 0)


def use_python(path: str) -> list[str]:
    """Import and use what plugins import, and name what did not work."""
    faults = []
    for name in _MODULES.split():
        try:
            __import__(name)
        except Exception as error:
            faults.append(f"{name}: {error!r}")
    for use in _USES:
        try:
            exec(use, {"path": path})
        except Exception as error:
            faults.append(f"{use}: {error!r}")
    return faults


_MODULES = """
json datetime re dataclasses ctypes decimal ssl hashlib sqlite3 asyncio threading uuid logging email
concurrent.futures multiprocessing subprocess tempfile zoneinfo unicodedata difflib html statistics heapq
tracemalloc urllib.parse xml.etree.ElementTree importlib.resources importlib.metadata pickle secrets csv textwrap
"""
_USES = (
    "import time; time.localtime(), time.monotonic(), time.process_time(), time.sleep(0)",
    "import random; random.SystemRandom().random()",
    "import os; os.urandom(8), os.getcwd(), os.cpu_count(), os.isatty(1), os.scandir(path).close()",
    "import gc, tracemalloc; tracemalloc.start(); [object() for _ in range(9)]; gc.collect(); tracemalloc.stop()",
    "import zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin')",
    "import sqlite3; sqlite3.connect(':memory:').execute('select 1').close()",
    "import mmap, os; one = open(os.__file__, 'rb'); mmap.mmap(one.fileno(), 0, access=mmap.ACCESS_READ).close()",
    "import ctypes; ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)()",
    "import resource; resource.getrlimit(resource.RLIMIT_AS), resource.getrusage(resource.RUSAGE_SELF)",
    "import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN); signal.setitimer(signal.ITIMER_REAL, 0)",
    "import faulthandler; faulthandler.enable()",
    "import platform; platform.machine(), platform.python_version()",
    "import ssl; ssl.create_default_context()",
)


def main(text: str) -> None:
    """Do what the order `text` says, print the answer, and end without Python's own farewell."""
    order: dict[str, object] = json.loads(text)
    _deny(_words(order, "deny"))
    for path in _words(order, "opened"):
        _opened[path] = os.open(path, os.O_WRONLY)
    reports = _confine(order)
    arguments = order["arguments"]
    assert isinstance(arguments, list)
    result = _try(globals()[str(order["probe"])], arguments)
    rows = [[one.step, one.done, one.detail] for one in reports]
    print(json.dumps({"reports": rows, "result": result}), flush=True)
    os._exit(0)


def _confine(order: dict[str, object]) -> list[StepReport]:
    steps = _words(order, "steps")
    parent, memory = order.get("parent", os.getppid()), order.get("memory", _GIGABYTE // 2)
    assert isinstance(parent, int)
    assert isinstance(memory, int)
    early = give_up(steps=steps, parent=parent)
    return [*early, *lock(steps=steps, readable=_words(order, "readable"), memory=memory)]


def _words(order: dict[str, object], key: str) -> list[str]:
    words = order.get(key, [])
    assert isinstance(words, list)
    return words


def _try(probe: Callable[..., object], arguments: list[object]) -> object:
    try:
        answer = probe(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except (MemoryError, RuntimeError) as error:
        return type(error).__name__
    return "ok" if answer is None else answer


def _deny(names: list[str]) -> None:
    """Refuse some system calls, as the filter of a container may have done already."""
    if not names:
        return
    unshare, one = _UNSHARE[os.uname().machine], seccomp.Instruction
    refusal, number = one(0x06, 0x5_0000 | errno.EPERM), one(0x20, 0)
    blocks = {
        "unshare": [number, one(0x15, unshare, 0, 1), refusal],
        "landlock_create_ruleset": [number, one(0x15, 444, 0, 1), refusal],
        # The flag CLONE_NEWUSER in the first argument.
        "user namespaces": [
            number,
            one(0x15, unshare, 0, 3),
            one(0x20, 16),
            one(0x45, 0x1000_0000, 0, 1),
            refusal,
        ],
    }
    control(38, 1)
    seccomp.install([*(part for name in names for part in blocks[name]), one(0x06, seccomp.ALLOW)])
