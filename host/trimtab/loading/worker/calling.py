"""Calling a confined plugin: what goes wrong in a worker, told as an error that names the plugin."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from trimtab.loading.worker.answers import BrokenFrameError
from trimtab.loading.worker.pool import (
    LOAD_SECONDS,
    IncompleteError,
    Loaded,
    LoadError,
    NoRoomError,
    Seat,
    SlowStartError,
    StartError,
    WorkerPool,
    refused_steps,
)
from trimtab.loading.worker.process import EndedError, LateError
from trimtab.loading.worker.spec import Bounds, WorkerSpec
from trimtab.loading.worker.words import clean_trace
from trimtab.loading.worker.worker import Asked, RaisedError, Service
from trimtab.loading.worker.writing import call_frame
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import (
    PluginBusyError,
    PluginCrashedError,
    PluginLoadError,
    PluginRejectedError,
    PluginTimeoutError,
    TrimtabError,
)
from trimtab_sdk.request import Request

_Noted = TypeVar("_Noted", PluginCrashedError, PluginLoadError)


@dataclass(slots=True)
class Use:
    """What a call used of its worker, filled in whether it ends well or not."""

    asked: int = 0
    output: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)


def load_confined(pool: WorkerPool, spec: WorkerSpec, bounds: Bounds) -> Loaded:
    """Load a plugin in a worker and tell its traits and its confinement.

    Raises PluginLoadError, PluginTimeoutError and PluginBusyError.
    """
    with _told(spec, hook="", seconds=LOAD_SECONDS, workers=bounds.workers):
        return pool.load(spec, memory_mb=bounds.memory_mb, most=bounds.workers, strict=bounds.strict)


def call_confined(
    pool: WorkerPool,
    spec: WorkerSpec,
    request: Request,
    *,
    services: Mapping[str, Service],
    offered: Collection[str],
    meta: Collection[str],
    scope: str | None,
    bounds: Bounds,
    seconds: float,
    use: Use,
    due: float | None = None,
) -> Edit | None:
    """Call the plugin's hook in the worker of its scope and give what it answered, unchecked.

    `services` answer what the plugin asks, `offered` are the names it is told of. Everything counts against
    `seconds`: starting and loading the worker, sending, and what the host does for the plugin. `due` is the
    deadline the plugin is told of, on the clock of `time.monotonic()`, where it is another one.

    Raises PluginTimeoutError, PluginCrashedError, PluginRejectedError, PluginBusyError and PluginLoadError.
    """
    deadline = time.monotonic() + seconds
    seat = Seat(spec, bounds.memory_mb, scope)
    asked = Asked(bounds.service_calls)
    with (
        _told(spec, hook=spec.hook, seconds=seconds, workers=bounds.workers),
        pool.worker(seat, most=bounds.workers, strict=bounds.strict, deadline=deadline) as worker,
    ):
        use.refused = refused_steps(worker.steps)
        told = deadline if due is None else due
        frame = call_frame(request, hook=spec.hook, services=offered, deadline=told, meta=meta)
        try:
            return worker.call(frame, services=services, asked=asked, deadline=deadline)
        finally:
            use.asked = asked.count
            use.output = worker.process.take_output()


@contextlib.contextmanager
def _told(spec: WorkerSpec, *, hook: str, seconds: float, workers: int) -> Iterator[None]:
    origin = spec.origin
    try:
        yield
    except TrimtabError:
        raise
    except SlowStartError as error:
        raise PluginBusyError(
            f"is not called, as no worker came up within {seconds:g} s; this machine has too much to do",
            origin=origin,
            hook=hook,
        ) from error
    except LateError as error:
        what = "did not answer" if hook else "was not loaded"
        raise PluginTimeoutError(
            f"{what} within {seconds:g} s; its process was ended", origin=origin, hook=hook
        ) from error
    except EndedError as error:
        raise PluginCrashedError(str(error), origin=origin, hook=hook) from error
    except BrokenFrameError as error:
        raise PluginRejectedError(str(error), origin=origin, hook=hook) from error
    except RaisedError as error:
        raise _noted(PluginCrashedError(f"raised {error}", origin=origin, hook=hook), error.trace) from error
    except NoRoomError as error:
        raise PluginBusyError(
            f"all {workers} workers were busy for {seconds:g} s; give the configuration more workers",
            origin=origin,
            hook=hook,
        ) from error
    except LoadError as error:
        text = f"could not be loaded in a worker: {error}"
        raise _noted(PluginLoadError(text, origin=origin), error.trace) from error
    except StartError as error:
        text = f"has no worker, since none came up: it {error}; `trimtab plugins` tells what this machine gives"
        raise _noted(PluginLoadError(text, origin=origin), error.printed) from error
    except IncompleteError as error:
        why = "; ".join(f"{step}: {detail}" for step, detail in error.refused.items())
        raise PluginLoadError(
            f"is not loaded: the configuration is strict, and the confinement is not complete here ({why})",
            origin=origin,
        ) from error
    except OSError as error:
        raise PluginLoadError(
            f"has no worker, since no process could be started: {error}", origin=origin
        ) from error


def _noted(error: _Noted, words: str) -> _Noted:
    """Add a traceback, or what the plugin printed, as a note."""
    if note := clean_trace(words):
        error.add_note(note)
    return error
