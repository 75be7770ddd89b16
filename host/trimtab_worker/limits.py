"""Resource limits, and the order in which the kernel ends processes when memory is short."""

from __future__ import annotations

import sys

from trimtab_worker.linux import STARTED_AS_ROOT

if sys.platform != "win32":
    import resource

_OPEN_FILES = 64
_OOM_SCORE = "/proc/self/oom_score_adj"


def set_limits(memory: int) -> str:
    """Bound memory (in bytes) and open files; no files to write, no core, no processes, no locked memory.

    The processor's time is bounded by the host, from outside. Raises OSError naming what is not in force.
    """
    wanted = {"AS": memory, "FSIZE": 0, "CORE": 0, "NOFILE": _OPEN_FILES, "NPROC": 0, "MEMLOCK": 0, "MSGQUEUE": 0}
    known = {name: value for name, value in wanted.items() if hasattr(resource, f"RLIMIT_{name}")}
    refused = {name: reason for name, value in known.items() if (reason := _limit(name, value))}
    in_force = " ".join(f"{name}={value}" for name, value in known.items() if name not in refused)
    words = [in_force, *_exemption(), *_oom_score()]
    if refused:
        raise OSError("; ".join([*(f"{name} refused: {reason}" for name, reason in refused.items()), *words]))
    return "; ".join(words)


def go_first() -> None:
    """Ask the kernel to end this process before any other when memory is short.

    Has to come while the process is dumpable: later its files belong to root. `set_limits` tells how it went.
    """
    try:
        with open(_OOM_SCORE, "w") as file:
            file.write("1000")
    except OSError:
        return


def _limit(name: str, value: int) -> str:
    """Set a limit, soft and hard; say what is wrong, or nothing."""
    number: int = getattr(resource, f"RLIMIT_{name}")
    try:
        hardest = resource.getrlimit(number)[1]
        value = value if hardest == resource.RLIM_INFINITY else min(value, hardest)
        resource.setrlimit(number, (value, value))
    except (OSError, ValueError) as error:
        return str(error)
    return "this platform does not keep it" if name == "AS" and sys.platform == "darwin" else ""


def _exemption() -> list[str]:
    return ["root is exempt from NPROC"] if STARTED_AS_ROOT else []


def _oom_score() -> list[str]:
    try:
        with open(_OOM_SCORE) as file:
            return [f"oom_score_adj={file.read().strip()}"]
    except OSError:
        return []
