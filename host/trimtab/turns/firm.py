"""Waiting for what must come to its end, whoever is cancelled meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

_Result = TypeVar("_Result")


async def firmly(work: Coroutine[object, object, _Result]) -> tuple[_Result, bool]:
    """Await some work to its end; tell what it gave, and whether this task was to be cancelled meanwhile.

    A caller that is told so has to end itself. Raises what the work raises; a cancellation is lost then, for the
    caller ends anyway.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise
            cancelled = True
        except BaseException:
            break
    return task.result(), cancelled
