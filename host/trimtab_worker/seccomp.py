"""The filter of system calls, as a program of the kernel's classic packet filter.

The instructions and what they read: https://docs.kernel.org/userspace-api/seccomp_filter.html
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from trimtab_worker import syscalls
from trimtab_worker.linux import control

ALLOW, KILL = 0x7FFF_0000, 0x8000_0000
_ERROR = 0x0005_0000
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
# Calls of the 32-bit pointer interface of x86-64 carry this bit.
_X32 = 0x4000_0000
# fcntl(2): duplicate, flags of the descriptor, flags of the open file, size of a pipe.
_FCNTL = (0, 1, 2, 3, 4, 1030, 1032)
_SET_SECCOMP, _FILTER = 22, 2


class Instruction(NamedTuple):
    """One instruction; `yes` and `no` are how many of the next ones a comparison jumps over."""

    code: int
    operand: int
    yes: int = 0
    no: int = 0


@dataclass(frozen=True, slots=True)
class Architecture:
    """What differs: the kernel's name for it, its column of numbers, the flags with which a file may be opened.

    The flags are O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY and O_LARGEFILE, in this order below.
    `tried` tells whether the list was ever used on such a machine.
    """

    audit: int
    column: int
    open_flags: int
    tried: bool


ARCHITECTURES = {
    "x86_64": Architecture(0xC000_003E, 0, 0x80000 | 0x10000 | 0x20000 | 0x800 | 0x100 | 0x8000, tried=True),
    "aarch64": Architecture(0xC000_00B7, 1, 0x80000 | 0x4000 | 0x8000 | 0x800 | 0x100 | 0x20000, tried=False),
}


def refuse_calls() -> str:
    """Refuse every system call that is not in the list, for good. Raises OSError when the platform refuses."""
    machine = os.uname().machine
    if machine not in ARCHITECTURES or sys.maxsize < 2**32:
        raise OSError(f"no list of system calls for {machine} ({sys.maxsize.bit_length() + 1} bits)")
    install(build(machine))
    count = len(_numbers(syscalls.ALLOWED, machine)) + len(_numbers(syscalls.EXAMINED, machine))
    untested = "" if ARCHITECTURES[machine].tried else "untested on this architecture; "
    return f"{untested}{count} calls allowed"


def build(machine: str) -> list[Instruction]:
    """Make the program for `machine`, a key of ARCHITECTURES."""
    architecture = ARCHITECTURES[machine]
    program = [Instruction(_LOAD, _ARCHITECTURE), *_unless(architecture.audit, [_answer(KILL)]), _load_number()]
    if machine == "x86_64":
        program += [Instruction(_AT_LEAST, _X32, 0, 1), _answer(KILL)]
    for name, number in _numbers(syscalls.EXAMINED, machine).items():
        program += _when(number, _examination(name, architecture))
    return [*program, *_verdicts(machine), _answer(_ERROR | errno.ENOSYS)]


def install(program: Sequence[Instruction]) -> None:
    """Hand the program to the kernel. Needs no_new_privs or a privilege; raises OSError without."""
    packed = ctypes.create_string_buffer(
        b"".join(struct.pack("HBBI", one.code, one.yes, one.no, one.operand) for one in program)
    )
    header = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(packed)))
    control(_SET_SECCOMP, _FILTER, ctypes.addressof(header))


def _numbers(calls: dict[str, syscalls.Numbers], machine: str) -> dict[str, int]:
    column = ARCHITECTURES[machine].column
    return {name: number for name, both in calls.items() if (number := both[column]) is not None}


def _verdicts(machine: str) -> Iterator[Instruction]:
    """One comparison for each run of numbers with the same verdict."""
    verdict = dict.fromkeys(range(syscalls.HIGHEST + 1), _ERROR | errno.EPERM)
    verdict |= dict.fromkeys(_numbers(syscalls.ALLOWED, machine).values(), ALLOW)
    verdict |= dict.fromkeys(_numbers(syscalls.ABSENT, machine).values(), _ERROR | errno.ENOSYS)
    verdict |= dict.fromkeys(_numbers(syscalls.NO_TERMINAL, machine).values(), _ERROR | errno.ENOTTY)
    for value, run in groupby(range(syscalls.HIGHEST + 1), key=verdict.__getitem__):
        *_, last = run
        yield Instruction(_AT_LEAST, last + 1, 1, 0)
        yield _answer(value)


def _examination(name: str, architecture: Architecture) -> list[Instruction]:
    """What decides on one call; every way through it ends in an answer."""
    if name == "fcntl":
        return [_load(1), *_allow_any(_FCNTL), _refused()]
    if name == "prlimit64":
        # One's own limits may be read: no process is named, and no new limit is given in either half.
        return [part for load in (_load(0), _load(2), _load(2, high=True)) for part in _zero_or_refused(load)] + [
            _answer(ALLOW)
        ]
    flags = 1 if name == "open" else 2
    harmless = Instruction(_AND, ~architecture.open_flags & 0xFFFF_FFFF)
    return [_load(flags), harmless, *_allow_any([0]), _refused()]


def _allow_any(values: Iterable[int]) -> list[Instruction]:
    return [part for value in values for part in (Instruction(_EQUAL, value, 0, 1), _answer(ALLOW))]


def _zero_or_refused(load: Instruction) -> list[Instruction]:
    return [load, *_unless(0, [_refused()])]


def _when(value: int, block: list[Instruction]) -> list[Instruction]:
    return [Instruction(_EQUAL, value, 0, len(block)), *block]


def _unless(value: int, block: list[Instruction]) -> list[Instruction]:
    return [Instruction(_EQUAL, value, len(block), 0), *block]


def _load(argument: int, *, high: bool = False) -> Instruction:
    return Instruction(_LOAD, _ARGUMENTS + 8 * argument + 4 * high)


def _load_number() -> Instruction:
    return Instruction(_LOAD, _NUMBER)


def _refused() -> Instruction:
    return _answer(_ERROR | errno.EPERM)


def _answer(value: int) -> Instruction:
    return Instruction(_RETURN, value)
