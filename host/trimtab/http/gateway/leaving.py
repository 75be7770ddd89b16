"""Callers who hang up: what is done for them ends at once."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.types import Receive

_T = TypeVar("_T")


class ClientGoneError(Exception):
    """The caller has closed the connection."""


async def unless_gone(receive: Receive, work: Coroutine[object, object, _T]) -> _T:
    """Do something, and cancel it when the caller hangs up before it is done. Raises ClientGoneError then.

    The body of the request has been read: the next thing that comes from the caller is the end.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientGoneError
    finally:
        leaving.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait({working})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
