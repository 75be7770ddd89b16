"""Making many small values at once."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ours = threading.local()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from running.

    A fit of a long conversation makes tens of thousands of values that all live to its end and hold no cycles.
    The collector would walk through them, and through everything else in the process, again and again: in a
    large application a quarter of the time of a fit. When it is off already nothing is done, so of fits that
    overlap only one pauses it, and it runs again when that one ends.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    _ours.paused = True
    try:
        yield
    finally:
        _ours.paused = False
        gc.enable()


@contextmanager
def gc_resumed() -> Iterator[None]:
    """Let the collector run inside, when this thread has paused it: for code that is not ours."""
    if not getattr(_ours, "paused", False):
        yield
        return
    gc.enable()
    try:
        yield
    finally:
        gc.disable()
