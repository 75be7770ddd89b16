"""Landlock: files are read beneath the given places only, nothing is written, no TCP, no signals to others.

The rights and when they came: https://docs.kernel.org/userspace-api/landlock.html
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterable, Sequence

from trimtab_worker.linux import call

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# How many file rights each version knows, the last number for all later ones.
_FILE_RIGHTS = (13, 14, 15, 15, 16)
_TCP_SINCE, _TCP = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11


def restrict(readable: Sequence[str], own: Iterable[str]) -> str:
    """Allow reading beneath `readable` and `own` and nothing else that Landlock knows, for good.

    Places that cannot be opened are passed over; those of `readable` are named. Raises OSError when refused.
    """
    version = call("syscall", _CREATE, None, 0, _ASK_VERSION)
    files, tcp, scopes = handled(version)
    attributes = struct.pack("QQQ", files, tcp, scopes)[: _size(version)]
    ruleset = call("syscall", _CREATE, attributes, len(attributes), 0)
    try:
        missing = [place for place in readable if not _allow(ruleset, place)]
        for place in own:
            _allow(ruleset, place)
        call("syscall", _RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    rights = sum(mask.bit_count() for mask in (files, tcp, scopes))
    return "; ".join([f"ABI {version}, {rights} rights", *(f"cannot be opened: {place}" for place in missing)])


def handled(version: int) -> tuple[int, int, int]:
    """What that version of Landlock can be told to refuse: rights on files, on TCP ports, and scopes."""
    files = (1 << _FILE_RIGHTS[min(version, len(_FILE_RIGHTS)) - 1]) - 1
    return files, _TCP if version >= _TCP_SINCE else 0, _SCOPES if version >= _SCOPES_SINCE else 0


def _size(version: int) -> int:
    return 8 * (1 + (version >= _TCP_SINCE) + (version >= _SCOPES_SINCE))


def _allow(ruleset: int, place: str) -> bool:
    try:
        descriptor = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rights = _READ_FILE | _READ_DIR if is_folder else _READ_FILE
        call("syscall", _ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
    return True
