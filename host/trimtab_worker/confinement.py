"""The steps by which a worker gives up what it does not need. Each is reported as done or refused.

They come in two halves: `give_up` while the process is blank, `lock` once it knows which folders its plugin is
read from. Only after the second half the plugin is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from trimtab_worker.landlock import restrict
from trimtab_worker.limits import go_first, set_limits
from trimtab_worker.namespaces import enter
from trimtab_worker.places import own_places
from trimtab_worker.privileges import die_with, drop_capabilities, hide_memory, leave_groups, refuse_new
from trimtab_worker.seccomp import refuse_calls

EARLY = ("namespaces", "no-new-privs", "capabilities", "undumpable", "die-with-parent")
LATE = ("rlimits", "landlock", "seccomp")
STEPS = EARLY + LATE


@dataclass(frozen=True, slots=True)
class StepReport:
    """How a step went. `detail` says what is in force, or why the platform refused it."""

    step: str
    done: bool
    detail: str = ""


def give_up(*, steps: Collection[str] = STEPS, parent: int) -> list[StepReport]:
    """Do the early ones of `steps`, and report on each; `parent` is the process id of the host.

    The process must have one thread. It ends at once when `parent` is not its parent any more.
    """
    if "rlimits" in steps:
        go_first()
    groups = leave_groups() if "capabilities" in steps and sys.platform == "linux" else ""
    # In this order: groups cannot be left inside a user namespace, and what changes credentials takes back the
    # order to die with the parent.
    return _reports(
        steps,
        {
            "namespaces": enter,
            "no-new-privs": refuse_new,
            "capabilities": lambda: drop_capabilities(groups),
            "undumpable": hide_memory,
            "die-with-parent": lambda: die_with(parent),
        },
    )


def lock(*, steps: Collection[str] = STEPS, readable: Sequence[str], memory: int) -> list[StepReport]:
    """Do the late ones of `steps`, and report on each.

    `readable` are folders that may be read besides what Python itself needs; `memory` is in bytes.
    """
    # Limits first: their report is read from a file that landlock closes.
    return _reports(
        steps,
        {
            "rlimits": lambda: set_limits(memory),
            "landlock": lambda: restrict(readable, own_places()),
            "seccomp": refuse_calls,
        },
    )


def _reports(steps: Collection[str], acts: Mapping[str, Callable[[], str]]) -> list[StepReport]:
    return [_report(step, act) for step, act in acts.items() if step in steps]


def _report(step: str, act: Callable[[], str]) -> StepReport:
    if not _is_known_here(step):
        return StepReport(step, False, "not on this platform")
    try:
        return StepReport(step, True, act())
    except OSError as error:
        return StepReport(step, False, error.strerror or str(error))
    except Exception as error:
        # A step that fails in any other way is not in force either: the host decides what that means.
        return StepReport(step, False, f"{type(error).__name__}: {error}")


def _is_known_here(step: str) -> bool:
    if step == "rlimits":
        return sys.platform != "win32"
    return sys.platform == "linux"
