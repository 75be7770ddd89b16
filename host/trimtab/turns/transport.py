"""Calls to providers: a request out, the events of its answer in.

    transport = Transport()
    async with aclosing(transport.stream(target, call)) as events:
        async for event in events: ...

A call is tried again only before its first event, and only where that is safe: when the server refused it with
something that passes (or says `x-should-retry: true`), when the first thing in its stream is such a refusal, when
there was no connection, or when the connection was closed before the first byte of a reply. A model that began to
answer, or may be at work still (a time limit ran out), is not asked a second time by itself.

There is no proxy, no redirect and no cookie. One line for each call goes to the logger `trimtab.transport`.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trimtab.fitting.cleaning import clean_note
from trimtab.turns.driving import Driven
from trimtab.turns.faults import CallFaultError, provider_error
from trimtab.turns.granting import Credentials, grant
from trimtab.turns.patience import Patience
from trimtab.turns.requesting import Prepared, prepare, prepare_count
from trimtab.turns.retrying import Pacing, read_advice, wait_before
from trimtab.turns.streaming import EventStream, unreadable
from trimtab.turns.targets import Target
from trimtab_sdk.errors import ProviderError
from trimtab_sdk.provider import Answer, Fault, ProviderCall, ProviderEvent

if TYPE_CHECKING:
    from trimtab.turns.connecting import Connections, Reply

MAX_REFUSAL_BYTES = 64 * 1024
_log = logging.getLogger("trimtab.transport")


@dataclass(slots=True)
class _Progress:
    """How far a call has come: tries made, status of the last reply (0 for none), whether an event was given."""

    tries: int = 0
    status: int = 0
    begun: bool = False


class Transport:
    """Makes calls over connections that it keeps. It belongs to one event loop."""

    def __init__(self, *, pacing: Pacing | None = None) -> None:
        self._pacing = pacing or Pacing()
        self._connections: Connections | None = None

    async def stream(
        self, target: Target, call: ProviderCall, prepared: Prepared | None = None
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Give the events of an answer, which end in exactly one Answer.

        `prepared` is what `prepare` gave for this call; without it the request is prepared here. Closing the
        iterator, or cancelling the task in it, closes the connection at once.

        Raises ProviderError when the call fails, and what `prepare` raises.
        """
        progress = _Progress()
        started = time.perf_counter()
        try:
            async with aclosing(self._tries(target, call, prepared, progress)) as events:
                async for event in events:
                    progress.begun = True
                    yield event
        except CallFaultError as failure:
            raise _error(failure, target, call, progress) from failure
        finally:
            _note(target, call, progress, seconds=time.perf_counter() - started)

    async def count(self, target: Target, call: ProviderCall, *, credentials: Credentials | None = None) -> int:
        """Let the provider count the tokens of a call that is not made, with what it keeps of the conversation.

        Asked once. Raises ProviderError when that fails, InvalidRequestError when the provider counts nothing.
        """
        progress = _Progress(tries=1)
        prepared = prepare_count(target, call)
        if credentials is not None:
            target, prepared = await grant(target, prepared, credentials, refresh=False)
        driven = Driven(target, call)
        try:
            async with self._open_connections().send(
                prepared, target.endpoint, Patience(target.endpoint)
            ) as reply:
                progress.status = reply.status
                if not 200 <= reply.status < 300:
                    raise await self._refusal(reply, driven)
                return driven.count(_json_or_text(await _start_of(reply)))
        except CallFaultError as failure:
            raise _error(failure, target, call, progress) from failure

    async def aclose(self) -> None:
        """Close all connections. Answers that are still coming fail."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.aclose()

    async def _tries(
        self, target: Target, call: ProviderCall, prepared: Prepared | None, progress: _Progress
    ) -> AsyncGenerator[ProviderEvent, None]:
        if target.provider.offline:
            for event in Driven(target, call).events():
                yield event
            return
        prepared = prepared or prepare(target, call)
        retries = target.endpoint.retries
        while True:
            progress.tries += 1
            progress.status = 0
            try:
                async with aclosing(self._try(target, call, prepared, progress)) as events:
                    async for event in events:
                        yield event
                return
            except CallFaultError as failure:
                wait = wait_before(failure, tries=progress.tries, retries=retries, pacing=self._pacing)
                if wait is None or progress.begun:
                    raise
            await self._pacing.sleep(wait)

    async def _try(
        self, target: Target, call: ProviderCall, prepared: Prepared, progress: _Progress
    ) -> AsyncGenerator[ProviderEvent, None]:
        driven = Driven(target, call)
        patience = Patience(target.endpoint)
        async with self._open_connections().send(prepared, target.endpoint, patience) as reply:
            progress.status = reply.status
            if not 200 <= reply.status < 300 or reply.media_type not in ("text/event-stream", ""):
                raise await self._refusal(reply, driven)
            stream = EventStream()
            while (piece := await reply.piece()) is not None:
                for event in driven.read(stream.feed(piece)):
                    yield event
                    if isinstance(event, Answer):
                        await reply.drain()
                        return
            yield driven.end()

    def _open_connections(self) -> Connections:
        if self._connections is None:
            from trimtab.turns.connecting import Connections

            self._connections = Connections()
        return self._connections

    async def _refusal(self, reply: Reply, driven: Driven) -> CallFaultError:
        """Name the fault behind a reply that is no stream of events."""
        if 300 <= reply.status < 400:
            return CallFaultError(Fault(code="PROVIDER_REDIRECTED"))
        body = _json_or_text(await _start_of(reply))
        if reply.status < 300 and not (isinstance(body, dict) and isinstance(body.get("error"), dict)):
            return unreadable("it is no stream of events")
        advice = read_advice(reply.headers, now=self._pacing.clock())
        fault = driven.fault(reply.status, body)
        repeat = fault.retryable if advice.repeat is None else advice.repeat
        return CallFaultError(
            replace(fault, retryable=repeat),
            repeatable=repeat,
            retry_after=fault.retry_after if advice.seconds is None else advice.seconds,
        )


async def _start_of(reply: Reply) -> bytes:
    taken = bytearray()
    try:
        while len(taken) < MAX_REFUSAL_BYTES and (piece := await reply.piece()) is not None:
            taken += piece
    except CallFaultError:
        # The status says the most, and what came of the body is taken: a fault has a name all the same.
        pass
    return bytes(taken[:MAX_REFUSAL_BYTES])


def _json_or_text(body: bytes) -> object:
    text = body.decode("utf-8", "replace")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value


def _error(failure: CallFaultError, target: Target, call: ProviderCall, progress: _Progress) -> ProviderError:
    return provider_error(
        failure.fault,
        provider=target.name,
        model=call.model,
        variable=target.variable,
        status=progress.status,
        retry_after=failure.retry_after,
        detail=failure.detail,
    )


def _note(target: Target, call: ProviderCall, progress: _Progress, *, seconds: float) -> None:
    _log.debug(
        "%s %s: status %d, %d ms, tries %d",
        target.name,
        clean_note(call.model),
        progress.status,
        round(seconds * 1000),
        progress.tries,
    )
