"""Server-sent events (HTML standard, 9.2): frames, and a response that notices when nobody reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Final, TypeVar

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from trimtab.http.streams import StreamSlot

MEDIA_TYPE: Final = "text/event-stream"
HEARTBEAT_SECONDS: Final = 15.0
"""How long a stream may be silent before something is written, so that nobody between takes it for dead."""
SEND_SECONDS: Final = 120.0
"""How long a caller may take nothing at all before it counts as gone."""
KEEP_ALIVE: Final = b": keep-alive\n\n"
RETRY: Final = b"retry: 1000\n\n"
DONE: Final = b"data: [DONE]\n\n"
"""How a stream in OpenAI's way ends."""

_Result = TypeVar("_Result")
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


def frame(data: Mapping[str, object] | str, *, id: int | None = None, event: str = "") -> bytes:
    """Give one event: an object as JSON, or a text without line breaks.

    `id` comes back as `Last-Event-ID` when the caller reconnects; `event` is the kind for `addEventListener`.
    """
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    lines = [f"id: {id}"] if id is not None else []
    if event:
        lines.append(f"event: {event}")
    return "\n".join([*lines, f"data: {text}", "", ""]).encode("utf-8", "replace")


class NotTakenError(Exception):
    """The caller is there and took nothing for two minutes."""


def in_time(send: Send) -> Send:
    """Give a `send` that raises NotTakenError once a caller has taken nothing for two minutes."""

    async def sending(message: Message) -> None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)
        except TimeoutError as error:
            raise NotTakenError from error

    return sending


class EventStreamResponse(Response):
    """Sends frames as they come, until they end or nobody is there to read them.

    - `frames` are closed in any case.
    - `slot` is given back then.
    - `gone` is awaited when the caller hung up before the end, or took nothing for two minutes.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        frames: AsyncGenerator[bytes, None],
        *,
        slot: StreamSlot | None = None,
        gone: Callable[[], Awaitable[object]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={**_HEADERS, **(headers or {})}, media_type=MEDIA_TYPE)
        del self.headers["content-length"]
        self._frames = frames
        self._slot = slot
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all of it."""
        try:
            sent = await unless_gone(receive, self._send(in_time(send)))
            if sent is None and self._gone is not None:
                await self._gone()
        finally:
            if self._slot is not None:
                self._slot.release()

    async def _send(self, send: Send) -> bool | None:
        """Send all; give None when it is not taken."""
        async with aclosing(self._frames):
            try:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                async for one in self._frames:
                    await send({"type": "http.response.body", "body": one, "more_body": True})
                if self._slot is not None:
                    # Before the caller can know that it is over, and ask again.
                    self._slot.release()
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            except NotTakenError:
                return None
        return True


async def unless_gone(receive: Receive, work: Awaitable[_Result]) -> _Result | None:
    """Await some work, and give None when the caller hangs up before it is done; the work is cancelled then.

    `receive` is that of a request whose body has been read.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_hung_up(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
