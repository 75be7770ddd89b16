"""Calls into Linux that the standard library does not offer."""

from __future__ import annotations

import ctypes
import os
from functools import cache

# Told at import: later a user namespace hides it.
STARTED_AS_ROOT = hasattr(os, "getuid") and os.getuid() == 0


def call(name: str, *arguments: int | bytes | None) -> int:
    """Call the C library's function `name` and give its result. Raises OSError with the errno it left.

    Whole numbers go as longs, addresses too; bytes go as a pointer to them.
    """
    longs = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(getattr(_library(), name)(*longs))
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def control(option: int, *arguments: int) -> int:
    """Call prctl(2); arguments left out are zero."""
    return call("prctl", option, *arguments, *[0] * (4 - len(arguments)))


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
