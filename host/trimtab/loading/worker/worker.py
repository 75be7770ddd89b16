"""A worker as the host uses it: bound to one plugin, called with a request, answering an edit."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab.loading.worker.answers import BrokenFrameError, read_edit, read_traits
from trimtab.loading.worker.process import WorkerProcess
from trimtab.loading.worker.spec import WorkerSpec
from trimtab_sdk.edit import Edit
from trimtab_sdk.request import Traits
from trimtab_worker.confinement import StepReport
from trimtab_worker.frames import pack

Service = Callable[[object], object]


class RaisedError(Exception):
    """The plugin raised; the text is what it said, `trace` its traceback."""

    def __init__(self, text: str, trace: str) -> None:
        super().__init__(text)
        self.trace = trace


@dataclass(slots=True)
class Asked:
    """How often a plugin asked the host for something in one call, and the most it may."""

    most: int
    count: int = 0


class Worker:
    """A process that serves one plugin and one scope, or none yet.

    Each method raises LateError after its deadline, EndedError when the process died, BrokenFrameError when it
    sent what no honest worker sends and RaisedError when the plugin raised. It must be killed after that.
    """

    def __init__(self) -> None:
        self.process = WorkerProcess()
        self.steps: tuple[StepReport, ...] = ()
        self.traits = Traits()

    def lock(self, paths: Sequence[str], *, memory: int, deadline: float) -> None:
        """Confine the process for good: it reads nothing but `paths`, and uses at most `memory` bytes.

        `steps` says afterwards how that went.
        """
        early = _expected(self.process.receive(deadline=deadline), "blank")
        late = self._exchange({"kind": "lock", "paths": list(paths), "memory": memory}, "locked", deadline)
        self.steps = (*_read_steps(early), *_read_steps(late))

    def load(self, spec: WorkerSpec, *, deadline: float) -> None:
        """Import the plugin and read its traits."""
        frame = {
            "kind": "load",
            "module": spec.module,
            "attribute": spec.attribute,
            "file": spec.file,
            "hook": spec.hook,
        }
        self.traits = read_traits(self._exchange(frame, "ready", deadline).get("traits"))

    def call(
        self, frame: Mapping[str, object], *, services: Mapping[str, Service], asked: Asked, deadline: float
    ) -> Edit | None:
        """Send the frame of a call, answer what the plugin asks and give its edit.

        Also raises BrokenFrameError when it asks too often, and what packing the frame raises.
        """
        ticket = _new_ticket()
        self.process.send(pack({**frame, "ticket": ticket}), deadline=deadline)
        while True:
            answer = self._receive(ticket, deadline)
            if answer.get("kind") != "ask":
                return _read_answer(answer)
            asked.count += 1
            if asked.count > asked.most:
                raise BrokenFrameError(f"asked the host more than {asked.most} times")
            self.process.send(pack({"value": _serve(answer, services)}), deadline=deadline)

    def kill(self) -> None:
        """End the process, at once."""
        self.process.kill()

    def bury(self) -> None:
        """Wait until a killed process has ended, and give back its pipes."""
        self.process.bury()

    def _exchange(self, frame: Mapping[str, object], kind: str, deadline: float) -> dict[str, object]:
        ticket = _new_ticket()
        self.process.send(pack({**frame, "ticket": ticket}), deadline=deadline)
        return _expected(self._receive(ticket, deadline), kind)

    def _receive(self, ticket: str, deadline: float) -> dict[str, object]:
        frame = self.process.receive(deadline=deadline)
        if frame.get("ticket") != ticket:
            raise BrokenFrameError("sent something that answers another call, or none")
        return frame


def _new_ticket() -> str:
    """Give what a frame and its answers carry: one that nobody can know before it is sent."""
    return os.urandom(8).hex()


def _expected(frame: dict[str, object], kind: str) -> dict[str, object]:
    if frame.get("kind") == "failed":
        raise _raised(frame)
    if frame.get("kind") != kind:
        raise BrokenFrameError(f"sent something else where it should be {kind}")
    return frame


def _serve(question: Mapping[str, object], services: Mapping[str, Service]) -> object:
    name = question.get("service")
    service = services.get(name) if type(name) is str else None
    if service is None:
        raise BrokenFrameError("asked for a service that it was not offered")
    try:
        return service(question.get("value"))
    except (TypeError, ValueError) as error:
        raise BrokenFrameError(f"asked what cannot be answered ({error})") from error


def _read_answer(answer: Mapping[str, object]) -> Edit | None:
    if answer.get("kind") == "failed":
        raise _raised(answer)
    if answer.get("kind") != "answer" or not ("edit" in answer or "wrong" in answer):
        raise BrokenFrameError("sent something else where the answer stands")
    if "wrong" in answer:
        raise BrokenFrameError(_words(answer["wrong"]))
    return read_edit(answer["edit"])


def _raised(frame: Mapping[str, object]) -> RaisedError:
    trace = frame.get("trace")
    return RaisedError(_words(frame.get("text")), trace if type(trace) is str else "")


def _words(value: object) -> str:
    from trimtab.fitting.cleaning import clean_note

    return clean_note(value) if type(value) is str else "(no text)"


def _read_steps(frame: Mapping[str, object]) -> list[StepReport]:
    rows = frame.get("steps")
    if type(rows) is not list:
        raise BrokenFrameError("sent no list of its confinement steps")
    return [_read_step(row) for row in rows]


def _read_step(row: object) -> StepReport:
    if type(row) is not list or len(row) != 3:
        raise BrokenFrameError("sent a confinement step of another shape")
    step, done, detail = row
    if type(step) is not str or type(done) is not bool or type(detail) is not str:
        raise BrokenFrameError("sent a confinement step of another shape")
    return StepReport(step, done, detail)
