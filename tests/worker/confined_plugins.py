"""Plugins written into a folder and called in workers, and child hosts for what could hurt the test run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import trimtab_worker
from trimtab.loading.plugins import SHIFT
from trimtab.loading.worker import process
from trimtab.loading.worker.calling import Use, call_confined
from trimtab.loading.worker.pool import WorkerPool
from trimtab.loading.worker.spec import Bounds, WorkerSpec
from trimtab.loading.worker.worker import Service
from trimtab_sdk import Edit, Message, Request, Text, link_groups, with_tokens
from trimtab_sdk.errors import Origin

TESTS = Path(__file__).parent.parent
ORIGIN = Origin("odd", "trimtab-odd", "1.0")
CHAT = (Message("a", "user", (Text("one"),)), Message("b", "assistant", (Text("two"),)))
# Confines nothing, and reports the filter of system calls as refused.
REFUSING = """
from trimtab_worker.confinement_real import STEPS, StepReport

def give_up(*, parent):
    return []

def lock(*, readable, memory):
    return [StepReport(step, step != "seccomp", "not on this kernel") for step in STEPS]
"""
# The first line of a hook that does harm only when the settings tell it to.
WORKS_WHEN_GOOD = "if request.settings['good']: return Edit(notes=['works'])\n"
HEADER = "from trimtab_sdk import Edit, Insert, Traits, hookimpl\n"
# What a hostile plugin finds in its own process: the pipe to the host, and the ticket of the frame in hand.
REACH = """
import gc, json, os, struct, sys
from trimtab_worker.frames import Pipe, pack

def pipe():
    return next(one for one in gc.get_objects() if type(one) is Pipe)

def outgoing():
    return pipe()._outgoing

def ticket():
    frame = sys._getframe()
    while frame.f_code.co_name != "_serve":
        frame = frame.f_back
    return frame.f_locals["frame"]["ticket"]

def send(**frame):
    pipe().write(pack({"ticket": ticket(), **frame}))

def send_body(body):
    pipe().write(struct.pack(">I", len(body)) + body)
"""


def plugin(
    folder: Path,
    body: str,
    *,
    head: str = "",
    first: str = "",
    hook: str = SHIFT,
    name: str = "plugin_code",
) -> WorkerSpec:
    """Write a plugin whose hook has this body, `first` in front, behind the lines of `head`."""
    lines = textwrap.dedent(first) + textwrap.dedent(body)
    function = f"@hookimpl\ndef {hook}(request, services):\n" + textwrap.indent(lines, "    ")
    return module(folder, f"{textwrap.dedent(head)}\n{function}\n", hook=hook, name=name)


def module(
    folder: Path, source: str, *, hook: str = SHIFT, name: str = "plugin_code", attribute: str = ""
) -> WorkerSpec:
    """Write a plugin's module as it stands, with the sdk's names imported."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(HEADER + source, encoding="utf-8")
    return WorkerSpec(ORIGIN, name, attribute, hook, (str(folder),))


def request_of(messages: Sequence[Message], **settings: object) -> Request:
    """A request whose messages cost ten tokens each; the last one is protected, and an insert costs its length."""
    return Request(
        messages=messages,
        groups=with_tokens(link_groups(messages), [10] * len(messages)),
        tokens={message.id: 10 for message in messages},
        protected=frozenset(message.id for message in messages[-1:]),
        budget=100,
        total=10 * len(messages),
        overhead=0,
        target=75,
        cost_of_insert=len,
        query="what now?",
        settings=settings,
    )


GOOD = request_of(CHAT, good=True)
BAD = request_of(CHAT, good=False)


def bounds(*, workers: int = 4, memory_mb: int = 512, service_calls: int = 1000, strict: bool = False) -> Bounds:
    """The usual bounds of tests."""
    return Bounds(workers, memory_mb, service_calls, strict)


@dataclass(slots=True)
class Called:
    """What came of a call: the edit, and what the call used."""

    edit: Edit | None
    use: Use


def call(
    pool: WorkerPool,
    spec: WorkerSpec,
    *,
    messages: Sequence[Message] = CHAT,
    request: Request | None = None,
    seconds: float = 20.0,
    scope: str | None = None,
    services: Mapping[str, Service] | None = None,
    offered: Collection[str] = (),
    meta: Collection[str] = (),
    within: Bounds | None = None,
    use: Use | None = None,
) -> Called:
    """Call a plugin in a worker of `pool`."""
    used = Use() if use is None else use
    edit = call_confined(
        pool,
        spec,
        request_of(messages) if request is None else request,
        services={} if services is None else services,
        offered=offered,
        meta=meta,
        scope=scope,
        bounds=bounds() if within is None else within,
        seconds=seconds,
        use=used,
    )
    return Called(edit, used)


def notes_of(called: Called) -> list[str]:
    """The notes of the edit: what a plugin of these tests says about itself."""
    assert called.edit is not None
    return list(called.edit.notes)


def processes_of(session: int) -> list[int]:
    """The processes of a session that still run, and the dead ones that this process has not buried."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            state, parent, _, owner = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(owner) == session and (state != "Z" or int(parent) == os.getpid()):
            found.append(int(folder.name))
    return found


def own_folders_with(folder: Path, confinement: str) -> list[str]:
    """The folders of a worker's own code, with this source in place of its confinement.

    The real one is `trimtab_worker.confinement_real` there.
    """
    shutil.copytree(Path(str(trimtab_worker.__file__)).parent, folder / "trimtab_worker")
    file = folder / "trimtab_worker" / "confinement.py"
    file.rename(file.with_name("confinement_real.py"))
    file.write_text(confinement, encoding="utf-8")
    return [str(folder), *process._own_folders()]


def is_gone(session: int, seconds: float = 10.0) -> bool:
    """Whether all processes of a session end within some seconds: to be killed takes a moment."""
    until = time.monotonic() + seconds
    while processes_of(session):
        if time.monotonic() > until:
            return False
        os.sched_yield()
    return True


def next_pid(pool: WorkerPool) -> int:
    """The process id, and session, of the worker that a call without a scope will get."""
    pool.prepare()
    spare = pool._spare
    assert spare is not None
    return spare.result(20).process.pid


def settle(pool: WorkerPool) -> None:
    """Wait until the pool has done in the background what it was to do: killed workers are buried then."""
    # Twice: an order may give another one.
    for _ in range(2):
        done = threading.Event()
        pool._spawner.later(done.set)
        assert done.wait(30)


def run_host(source: str, *arguments: object, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run the source of a host app in a process of its own, with the tests' helpers on its path."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(source), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        cwd=TESTS,
    )


def told(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    """The JSON in the last line that a host app printed."""
    assert done.returncode == 0, done.stderr
    answer: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return answer
