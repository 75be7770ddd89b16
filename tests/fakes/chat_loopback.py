"""The fake server itself: a thread with an event loop, its connections, and what can be waited for."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, Unpack

from fakes.chat_answering import NO_QUESTION, Answerer
from fakes.chat_handlers import Handler
from fakes.chat_judge import ChatJudge
from fakes.chat_moments import PATIENCE, Gate, Moment, Watches
from fakes.chat_plans import Plan, plan_of
from fakes.chat_prices import Count, rough_tokens
from fakes.chat_refusals import REFUSALS, Kind, refusal, refusal_with
from fakes.chat_replies import Json, Options, Part, Reply, ask, reply
from fakes.chat_requests import Fate, Request, request_from
from fakes.chat_wire import BadHttpError, Connection, read_request, send

if TYPE_CHECKING:
    import ssl

_SEEN = ("GET", "/seen")


class Answering(Protocol):
    """What decides on answers: `script` goes first, in order; `plan` lays out the answer to a request."""

    script: deque[Reply]

    def plan(self, request: Request) -> Plan:
        """Decide what a request is answered; its body and its faults are noted in it."""


class LoopbackServer:
    """A server with a script; `with` starts and ends it. What it speaks is its answerer's affair.

    - `faults` is the list that the answerer adds to.
    - `tls`: what to speak instead of plain HTTP. `record`: False keeps no request; for benchmarks.
    """

    refusals: Mapping[str, Kind] = REFUSALS

    def __init__(
        self,
        answerer: Answering,
        *,
        faults: list[str],
        tls: ssl.SSLContext | None = None,
        record: bool = True,
        port: int = 0,
    ) -> None:
        self.port = port
        self.requests: list[Request] = []
        self.asked = 0
        self.faults = faults
        self.closed_early = Moment("a client's leaving in the middle of an answer")
        self._answerer = answerer
        self._tls = tls
        self._record = record
        self._connections: set[Connection] = set()
        self._watches = Watches()
        self._started = Moment("the server's start")
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="chat-server", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What a client is configured with."""
        return f"{self.origin}/v1"

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._connections)

    def start(self) -> None:
        """Listen. Raises OSError when that is not possible."""
        self._thread.start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Break off whatever runs and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def say(self, *parts: Part, **options: Unpack[Options]) -> None:
        """Add one answer to the script; the options are those of ChatReply."""
        self.reply(reply(*parts, **options))

    def call(self, *calls: tuple[str, Json], text: str = "", **options: Unpack[Options]) -> None:
        """Add one answer that calls tools, each a name and its arguments, all at once."""
        asks = [ask(name, arguments) for name, arguments in calls]
        self.reply(reply(*([text] if text else []), *asks, **options))

    def reply(self, *replies: Reply) -> None:
        """Add answers to the script."""
        self._answerer.script.extend(replies)

    def refuse(
        self,
        kind: str,
        *,
        message: str | None = None,
        retry_after: float | str | None = None,
        retry_after_ms: float | None = None,
        should_retry: bool | None = None,
    ) -> None:
        """Add a refusal of a kind in `refusals` to the script."""
        self.reply(
            refusal(
                kind,
                message=message,
                retry_after=retry_after,
                retry_after_ms=retry_after_ms,
                should_retry=should_retry,
                kinds=self.refusals,
            )
        )

    def gate(self, name: str = "gate") -> Gate:
        """Make a place to stop at; put it among the parts of an answer."""
        return Gate(name)

    def wait_for_request(self, number: int = 1, seconds: float = PATIENCE) -> Request:
        """Wait in a thread for the request of that number. Raises TimeoutError."""
        self.wait_until(lambda: self.asked >= number, seconds, what=f"request {number}")
        return self.requests[number - 1]

    async def wait_for_request_async(self, number: int = 1, seconds: float = PATIENCE) -> Request:
        """Wait in a coroutine for the request of that number. Raises TimeoutError."""
        await self.wait_until_async(lambda: self.asked >= number, seconds, what=f"request {number}")
        return self.requests[number - 1]

    def wait_until(self, holds: Callable[[], bool], seconds: float = PATIENCE, *, what: str = "it") -> None:
        """Wait in a thread for something about this server. Raises TimeoutError.

        It is asked again after each request, each answer, and each connection that opens or closes.
        """
        self._watches.moment(holds, what).wait(seconds)

    async def wait_until_async(
        self, holds: Callable[[], bool], seconds: float = PATIENCE, *, what: str = "it"
    ) -> None:
        """Wait in a coroutine for something about this server, as `wait_until`."""
        await self._watches.moment(holds, what).wait_async(seconds)

    def _run(self) -> None:
        try:
            asyncio.run(self._listen())
        except BaseException as error:  # whatever it is, the thread that waits for the start must hear of it
            self._failure = error
            self._started.happen()

    async def _listen(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        server = await self._loop.create_server(
            lambda: Connection(self._serve, self._count_connection),
            "127.0.0.1",
            self.port,
            ssl=self._tls,
            backlog=1024,
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.happen()
        await self._stop.wait()
        server.close()
        await self._break_off()

    async def _break_off(self) -> None:
        tasks = [connection.task for connection in self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self._connections):
            connection.writer.transport.abort()
        while self._connections:
            await asyncio.sleep(0)

    def _count_connection(self, connection: Connection) -> None:
        if connection.is_open:
            self._connections.add(connection)
        else:
            self._connections.discard(connection)
        self._watches.check()

    async def _serve(self, connection: Connection) -> None:
        try:
            while await self._exchange(connection):
                pass
        except BadHttpError as error:
            self.faults.append(f"no HTTP: {error}")
            await send(connection, plan_of(refusal("bad-request"), NO_QUESTION), _unheard)
        except Exception as error:  # a test looks at the faults, not at what a thread has logged
            self.faults.append(f"the server failed: {error!r}")
        finally:
            connection.close()

    async def _exchange(self, connection: Connection) -> bool:
        http = await read_request(connection.reader)
        if http is None:
            return False
        if (http.method, http.path) == _SEEN:
            return await send(connection, plan_of(refusal_with(200, self._seen()), NO_QUESTION), _unheard)
        connection.is_answering = True
        request = request_from(http, number=self.asked + 1, connection=connection.number)
        plan = self._answerer.plan(request)
        if self._record:
            self.requests.append(request)
        self.asked += 1
        self._watches.check()
        return await self._answer(connection, request, plan)

    async def _answer(self, connection: Connection, request: Request, plan: Plan) -> bool:
        if connection.has_left:
            self._settle(connection, request, "closed by client")
            return False
        try:
            return await send(connection, plan, lambda ending: self._settle(connection, request, ending))
        except (asyncio.CancelledError, ConnectionError):
            self._settle(connection, request, "closed by client" if connection.has_left else "server closed")
            return False

    def _settle(self, connection: Connection, request: Request, fate: Fate) -> None:
        connection.is_answering = False
        request.fate = fate
        request.done.happen()
        if fate == "closed by client":
            self.closed_early.happen()
        self._watches.check()

    def _seen(self) -> Json:
        return {"requests": self.asked, "faults": self.faults, "openConnections": self.open_connections}


class ChatServer(LoopbackServer):
    """The server; `with ChatServer() as server` starts and ends it.

    - `handler` is asked for a reply when no scripted one is left; without one that is a fault.
    - `judge`: False lets every body through; one of your own has stricter rules, as DeepSeekJudge. `extra_keys`,
      `strict_alternation`, `refuse_empty`: see ChatJudge.
    - `count` gives the tokens of one message; above `max_context` a request is refused, and a fault.
    - `api_key`: what a client must send; `tls`: what to speak instead of plain HTTP.
    - `record`, `caching`: False keeps no request, and no prefix; for benchmarks.
    """

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        judge: bool | ChatJudge = True,
        extra_keys: Collection[str] = (),
        strict_alternation: bool = False,
        refuse_empty: bool = False,
        count: Count = rough_tokens,
        max_context: int | None = None,
        api_key: str | None = None,
        tls: ssl.SSLContext | None = None,
        record: bool = True,
        caching: bool = True,
        port: int = 0,
    ) -> None:
        faults: list[str] = []
        if judge is True:
            judge = ChatJudge(
                extra_keys=extra_keys, strict_alternation=strict_alternation, refuse_empty=refuse_empty
            )
        answerer = Answerer(
            handler=handler,
            judge=judge or None,
            count=count,
            caching=caching,
            max_context=max_context,
            api_key=api_key,
            faults=faults,
        )
        super().__init__(answerer, faults=faults, tls=tls, record=record, port=port)


def _unheard(ending: str) -> None:
    """Nobody asks how this answer ends."""
