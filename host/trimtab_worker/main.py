"""The life of a worker: blank, then bound to one plugin for good, then call after call."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType, TracebackType
from typing import cast

import pluggy

# All of the sdk is loaded while it can be found: its folder leaves the path before the plugin comes.
import trimtab_sdk  # noqa: F401
from trimtab_worker.answer import answer_values, traits_values
from trimtab_worker.confinement import StepReport, give_up, lock
from trimtab_worker.frames import HostGoneError, Pipe, pack
from trimtab_worker.hooks import HookError, call_hook, find_hooks, read_traits
from trimtab_worker.reading import read_request
from trimtab_worker.services import WorkerServices

MOST_WORDS = 2_000
MOST_TRACE = 8_000
_Frame = Mapping[str, object]


def main(parent: int, own_folders: int) -> None:
    """Serve the host with process id `parent` until it hangs up.

    The last `own_folders` entries of the import path are the host's: they lead to this module, the sdk and
    pluggy, and are taken off before a plugin is imported.
    """
    pipe = _take_pipes()
    reports = give_up(parent=parent)
    del sys.path[len(sys.path) - own_folders :], sys.argv[1:]
    sys.dont_write_bytecode = True
    try:
        pipe.send({"kind": "blank", "steps": _step_values(reports)})
        _serve(pipe)
    except HostGoneError:
        pass
    # Nothing the plugin registered for the end of the process runs.
    os._exit(0)


def _take_pipes() -> Pipe:
    """Move the pipes away from 0 and 1: what a plugin prints must not end up between frames."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return Pipe(incoming, outgoing)


def _serve(pipe: Pipe) -> None:
    hooks: dict[str, pluggy.HookImpl] = {}
    while True:
        frame = cast("_Frame", pipe.receive())
        try:
            # The plugin's own code runs from "load" on: nothing said before can be its work.
            if frame["kind"] == "lock":
                answer: dict[str, object] = {"kind": "locked", "steps": _step_values(_lock(frame))}
            elif frame["kind"] == "load":
                hooks = _load(frame)
                answer = {"kind": "ready", "traits": traits_values(read_traits(hooks))}
            else:
                answer = {"kind": "answer", **answer_values(_call(pipe, hooks, frame))}
        except HostGoneError:
            raise
        except BaseException as error:
            answer = _failure(error)
        pipe.write(_packed({**answer, "ticket": frame["ticket"]}))


def _packed(answer: Mapping[str, object]) -> bytes:
    try:
        return pack(answer)
    except Exception as error:
        reason = f"answered what no frame can carry ({type(error).__name__}: {_words(error)[:200]})"
        instead = {"kind": "answer", "wrong": reason} if answer["kind"] == "answer" else _failure(error)
        return pack({**instead, "ticket": answer["ticket"]})


def _lock(frame: _Frame) -> list[StepReport]:
    paths = cast("list[str]", frame["paths"])
    reports = lock(readable=paths, memory=cast("int", frame["memory"]))
    sys.path += paths
    return reports


def _load(frame: _Frame) -> dict[str, pluggy.HookImpl]:
    module = import_module(cast("str", frame["module"]))
    _check_file(module, cast("str", frame["file"]))
    subject: object = module
    for name in filter(None, cast("str", frame["attribute"]).split(".")):
        subject = getattr(subject, name)
    return find_hooks(subject, hook=cast("str", frame["hook"]))


def _check_file(module: ModuleType, vetted: str) -> None:
    found = str(module.__spec__.origin if module.__spec__ is not None else None)
    if vetted and os.path.realpath(found) != os.path.realpath(vetted):
        raise HookError(f"a module {module.__name__} comes first on the path: {found}, while {vetted} was vetted")


def _call(pipe: Pipe, hooks: Mapping[str, pluggy.HookImpl], frame: _Frame) -> object:
    services = WorkerServices(
        pipe,
        ticket=cast("str", frame["ticket"]),
        offered=cast("list[str]", frame["services"]),
        deadline=cast("float", frame["deadline"]),
    )
    request = read_request(frame, cost_of_insert=services.cost_of_insert)
    return call_hook(hooks[cast("str", frame["hook"])], {"request": request, "services": services})


def _failure(error: BaseException) -> dict[str, object]:
    said = _words(error)
    if not isinstance(error, HookError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return {"kind": "failed", "text": said[:MOST_WORDS], "trace": _trace(error)[-MOST_TRACE:]}


def _trace(error: BaseException) -> str:
    """Give the author's traceback, without the frames that led to the plugin."""
    from traceback import format_exception

    own = error.__traceback__
    while own is not None and _is_ours(own):
        own = own.tb_next
    return "".join(format_exception(type(error), error, own))


def _is_ours(step: TracebackType) -> bool:
    name = step.tb_frame.f_globals.get("__name__")
    return type(name) is str and (name.startswith("trimtab_worker.") or name.partition(".")[0] == "importlib")


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:
        return "(no text)"


def _step_values(reports: list[StepReport]) -> list[list[object]]:
    return [[report.step, report.done, report.detail] for report in reports]
