"""Who holds the lease of a turn, and whether that process still lives.

A holder is `machine:pid namespace:pid:start:turn`. Whether another process is dead can only be told on the same
machine and in the same namespace of process ids; elsewhere a lease has to run out.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_HELD: set[str] = set()
"""The ids of the turns that this process runs, whichever of its hosts it is."""


@cache
def _identity(pid: int) -> str:
    """Give the name of this process, apart from every other one there is or was on any machine."""
    return f"{_machine()}:{_namespace()}:{pid}:{_start_of(pid) or '-'}"


def take_hold(turn_id: str) -> str:
    """Give the holder to write into the lease of a turn that this process runs from now on, until `let_go`."""
    _HELD.add(turn_id)
    return f"{_identity(os.getpid())}:{turn_id}"


def let_go(turn_id: str) -> None:
    """Say that a turn does not run in this process, or not any more."""
    _HELD.discard(turn_id)


def is_dead(holder: str) -> bool:
    """Tell whether a holder is dead for certain.

    A turn of this process that is not running any more is dead: its end could not be stored.
    """
    process, _, turn_id = holder.rpartition(":")
    if process == _identity(os.getpid()):
        return turn_id not in _HELD
    return _is_gone(process)


def _is_gone(process: str) -> bool:
    here = f"{_machine()}:{_namespace()}:"
    if not _machine() or not process.startswith(here):
        return False
    pid, _, start = process.removeprefix(here).partition(":")
    return pid.isdecimal() and start != "-" and _start_of(int(pid)) != start


@cache
def _machine() -> str:
    """The id of this boot of this machine, empty where the platform gives none."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _namespace() -> str:
    try:
        return str((_PROC / "self/ns/pid").stat().st_ino)
    except OSError:
        return ""


def _start_of(pid: int) -> str:
    """When a process started, in ticks since boot, empty when there is none; a zombie has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if len(fields) < 20 or fields[0] in "ZX" else fields[19]
