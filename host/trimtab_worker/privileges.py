"""Privileges given up: nothing can be gained, nothing is held, nobody of the same user may look inside."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Callable

from trimtab_worker.linux import STARTED_AS_ROOT, call, control

# prctl(2)
_DEATH_SIGNAL, _DUMPABLE, _BOUNDING_DROP, _SECUREBITS, _NO_NEW_PRIVS, _AMBIENT = 1, 4, 24, 28, 38, 47
_AMBIENT_CLEAR = 4
# capabilities(7): being root, changing the user or keeping them for a new program gives none back; all locked.
_NO_ROOT_LOCKED = 0b1110_1111
# capset(2): version 3 takes two 32-bit halves of (effective, permitted, inheritable).
_HEADER = struct.pack("Ii", 0x2008_0522, 0)
_NONE_HELD = bytes(24)
_MOST_CAPABILITIES = 64


def refuse_new() -> str:
    """Set no_new_privs: no program that is started can have more rights than this one."""
    control(_NO_NEW_PRIVS, 1)
    return "set"


def leave_groups() -> str:
    """Leave the supplementary groups, and say so; a user without privileges keeps them.

    Has to come before a user namespace, which forbids it.
    """
    try:
        os.setgroups([])
    except OSError as error:
        count = len(os.getgroups())
        return f"{count} supplementary groups stay: {error.strerror}" if count else "no supplementary groups"
    return "no supplementary groups"


def drop_capabilities(groups: str) -> str:
    """Drop every capability, for good where the platform allows it. `groups` is what `leave_groups` said.

    Raises OSError when some are still held.
    """
    control(_AMBIENT, _AMBIENT_CLEAR)
    lasting = [_told("bounding set empty", _empty_bounding_set), _told("securebits locked", _lock_root_out)]
    call("capset", _HEADER, _NONE_HELD)
    if _held() != _NONE_HELD:
        raise OSError("some are still held")
    root = ["still the user root: reads what root owns unless landlock holds"] if STARTED_AS_ROOT else []
    return "; ".join(["none held", *lasting, groups, *root])


def hide_memory() -> str:
    """Make the process undumpable: its memory and environment are closed to others of its user."""
    control(_DUMPABLE, 0)
    return "set"


def die_with(parent: int) -> str:
    """Die when the thread that started this process ends; at once if `parent` is gone already.

    Has to come after everything that changes credentials, which takes the order back.
    """
    control(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    return "SIGKILL"


def _empty_bounding_set() -> None:
    for capability in range(_MOST_CAPABILITIES):
        try:
            control(_BOUNDING_DROP, capability)
        except OSError as error:
            # The kernel's last capability is passed.
            if error.errno == errno.EINVAL and capability:
                return
            raise


def _lock_root_out() -> None:
    control(_SECUREBITS, _NO_ROOT_LOCKED)


def _told(words: str, act: Callable[[], None]) -> str:
    """Do what only the privileged may; without privileges there is nothing to take away either."""
    try:
        act()
    except OSError as error:
        return f"not {words}: {error.strerror}"
    return words


def _held() -> bytes:
    held = ctypes.create_string_buffer(24)
    call("capget", _HEADER, ctypes.addressof(held))
    return held.raw
