"""Waiting in asyncio for a transaction that runs in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TypeVar

from trimtab_sdk.errors import StoreUnavailableError

T = TypeVar("T")


async def in_thread(executor: Executor, work: Callable[[], T]) -> T:
    """Run `work` in a thread and give what it gives.

    Work that was handed over is done whole, also when nobody waits any more: a cancelled await cancels the waiting
    alone. Bound to no event loop but the running one.
    """
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[T] = loop.create_future()
    try:
        handed_over = executor.submit(work)
    except RuntimeError as error:
        raise StoreUnavailableError("the store was closed meanwhile; open it again") from error
    handed_over.add_done_callback(lambda done: _wake(loop, waiter, done))
    return await waiter


async def in_new_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread of its own, as `in_thread` does."""
    executor = ThreadPoolExecutor(1, "trimtab-store-door")
    try:
        return await in_thread(executor, work)
    finally:
        executor.shutdown(wait=False)


def _wake(loop: asyncio.AbstractEventLoop, waiter: asyncio.Future[T], done: Future[T]) -> None:
    if loop.is_closed():
        return
    try:
        loop.call_soon_threadsafe(_settle, waiter, done)
    except RuntimeError:
        # The loop was closed between the question and the call: nobody waits.
        return


def _settle(waiter: asyncio.Future[T], done: Future[T]) -> None:
    if waiter.done():
        return
    error = done.exception()
    if error is None:
        waiter.set_result(done.result())
    else:
        waiter.set_exception(error)
