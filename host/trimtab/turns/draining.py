"""Ending what runs before a host stops."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trimtab.turns.machinery import Machinery


async def drain(machinery: Machinery, seconds: float) -> None:
    """Take no new turns, wait for those that run, and cancel them after so many seconds; all of it is stored."""
    live = machinery.live
    live.is_stopping = True
    if await _left(machinery, seconds):
        for runner in list(live.runners):
            runner.cancel()
        for generation in list(machinery.generations):
            generation.cancel()
        await _left(machinery, None)
    live.stop()


async def _left(machinery: Machinery, seconds: float | None) -> bool:
    """Wait for what runs, for so long at most; tell whether something still does."""
    generations = [asyncio.ensure_future(one.ended()) for one in machinery.generations]
    running = {*machinery.tasks, *generations}
    if not running:
        return False
    _, left = await asyncio.wait(running, timeout=seconds)
    for one in generations:
        one.cancel()
    return bool(left)
