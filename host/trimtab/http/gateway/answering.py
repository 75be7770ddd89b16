"""The answer to one request, while it comes: as JSON in the end, or as a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final, Protocol

from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from trimtab.http.gateway.dialect import openai_error
from trimtab.http.gateway.writing import Writer
from trimtab.http.sse import (
    DONE,
    HEARTBEAT_SECONDS,
    KEEP_ALIVE,
    MEDIA_TYPE,
    NotTakenError,
    in_time,
    unless_gone,
)
from trimtab_sdk.errors import StoreUnavailableError
from trimtab_sdk.provider import Answer

if TYPE_CHECKING:
    from trimtab.http.gateway.account import Account
    from trimtab.http.streams import StreamSlot

_JSON: Final = "application/json"
_OF_STREAMS: Final = {"content-type": MEDIA_TYPE, "x-accel-buffering": "no"}


class Source(Protocol):
    """Where an answer comes from: a generation without a chat, or a turn of one."""

    @property
    def model(self) -> str:
        """The model that answers."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that tell of more than the account."""
        ...

    async def account(self) -> Account | None:
        """Give the account of the context, None before there is one."""
        ...

    def batches(self) -> AsyncGenerator[Sequence[object], None]:
        """Give the events as they come; the last one is an Answer. Raises what went wrong."""
        ...


class GatewayAnswer(Response):
    """Answers when it is sent. What goes wrong before its first byte is an error with its status."""

    def __init__(self, source: Source, writer: Writer, *, slot: StreamSlot | None) -> None:
        super().__init__()
        self._source = source
        self._writer = writer
        self._slot = slot
        self._has_begun = False
        self._told = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and stop at once when the caller hangs up, or takes nothing for two minutes."""
        send = in_time(send)
        work = self._send_whole(send) if self._slot is None else self._send_stream(send)
        try:
            await unless_gone(receive, work)
        except (OSError, NotTakenError):
            # The caller hung up in the middle of what was sent, or as good as that.
            return
        finally:
            if self._slot is not None:
                self._slot.release()

    async def _send_whole(self, send: Send) -> None:
        try:
            answer = await self._heard()
        except Exception as error:
            await self._send_error(error, send)
            return
        self._writer.model = self._source.model
        body = json.dumps(self._writer.whole(answer), ensure_ascii=False).encode()
        headers = await self._told_headers() | {"content-type": _JSON, "content-length": str(len(body))}
        await send(_start(200, headers))
        await send({"type": "http.response.body", "body": body})

    async def _heard(self) -> Answer:
        answer: Answer | None = None
        async with aclosing(self._source.batches()) as batches:
            async for batch in batches:
                self._writer.hear(batch)
                answer = _answer_in(batch) or answer
        if answer is None:
            raise AssertionError("what is heard to its end has an answer")
        return answer

    async def _send_stream(self, send: Send) -> None:
        try:
            async with aclosing(self._source.batches()) as batches:
                await self._pass_on(batches, send)
        except NotTakenError:
            raise
        except Exception as error:
            if not self._has_begun:
                await self._send_error(error, send)
                return
            told = openai_error(error).frame() + await self._comment()
            await send({"type": "http.response.body", "body": told})

    async def _pass_on(self, batches: AsyncIterator[Sequence[object]], send: Send) -> None:
        beating = asyncio.ensure_future(self._beat(send))
        try:
            async for batch in batches:
                await self._pass_batch(batch, send)
        finally:
            beating.cancel()
            # Nothing of it may follow the end.
            await asyncio.gather(beating, return_exceptions=True)

    async def _beat(self, send: Send) -> None:
        """Say something whenever there was silence, so that nobody between takes the stream for dead."""
        while True:
            told = self._told
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if told == self._told:
                with suppress(OSError, NotTakenError, StoreUnavailableError):
                    await self._say(KEEP_ALIVE, send)

    async def _pass_batch(self, batch: Sequence[object], send: Send) -> None:
        self._writer.model = self._source.model
        told = self._writer.take(batch)
        answer = _answer_in(batch)
        if answer is None:
            if told:
                await self._say(told, send)
            return
        told += self._writer.end(answer) + await self._comment() + DONE
        if self._slot is not None:
            # Before the caller can know that it is over, and ask again.
            self._slot.release()
        await self._say(told, send, last=True)

    async def _say(self, told: bytes, send: Send, *, last: bool = False) -> None:
        self._told += 1
        if not self._has_begun:
            headers = await self._told_headers()
            if not self._has_begun:
                self._has_begun = True
                await send(_start(200, headers | _OF_STREAMS))
        await send({"type": "http.response.body", "body": told, "more_body": not last})

    async def _told_headers(self) -> dict[str, str]:
        account = await self._source.account()
        told = {} if account is None else account.headers()
        return {**told, **self._source.headers}

    async def _comment(self) -> bytes:
        account = await self._source.account()
        return b"" if account is None else account.comment()

    async def _send_error(self, error: Exception, send: Send) -> None:
        self._has_begun = True
        told = openai_error(error)
        body = json.dumps(told.body).encode()
        headers = {
            **await self._told_headers(),
            **{name.lower(): value for name, value in told.headers.items()},
            "content-type": _JSON,
            "content-length": str(len(body)),
        }
        await send(_start(told.status, headers))
        await send({"type": "http.response.body", "body": body})


def _answer_in(batch: Sequence[object]) -> Answer | None:
    last = batch[-1] if batch else None
    return last if isinstance(last, Answer) else None


def _start(status: int, headers: Mapping[str, str]) -> Message:
    raw = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": raw}
