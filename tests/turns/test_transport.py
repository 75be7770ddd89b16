"""Calls over real sockets: what comes back, and what each kind of trouble is called."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TypeAlias, TypeVar

import pytest

from trimtab.turns.requesting import prepare
from trimtab.turns.transport import Transport
from trimtab_sdk import (
    Answer,
    Fault,
    ProviderCall,
    ProviderError,
    ProviderEvent,
    ProviderRequest,
    ServerEvent,
    StreamReader,
    TextDelta,
)
from turns.pocket_driver import DONE, HELLO, PocketDriver, PocketReader, call, target
from turns.raw_server import END, KEEP, RESET, STALL, RawServer, Reply, chunk, events, head, serve, stream, whole

T = TypeVar("T")
Limits: TypeAlias = Mapping[str, float]
OK = stream(HELLO, DONE)


async def ask(url: str, driver: PocketDriver | None = None, limits: Limits | None = None) -> list[ProviderEvent]:
    """Make one call and give its events."""
    transport = Transport()
    try:
        return [event async for event in transport.stream(target(url, driver=driver, limits=limits), call())]
    finally:
        await transport.aclose()


def answer_to(
    *replies: Reply, driver: PocketDriver | None = None, limits: Limits | None = None
) -> list[ProviderEvent]:
    """Make one call to a server with these replies."""

    async def run() -> list[ProviderEvent]:
        async with serve(*replies) as server:
            return await ask(server.url, driver, limits)

    return asyncio.run(run())


def error_of(*replies: Reply, driver: PocketDriver | None = None, limits: Limits | None = None) -> ProviderError:
    """Likewise, and give the error that the call ends with."""
    with pytest.raises(ProviderError) as caught:
        answer_to(*replies, driver=driver, limits=limits)
    return caught.value


def with_server(story: Callable[[RawServer, Transport], Awaitable[T]], *replies: Reply) -> T:
    """Run a story with a server and a transport."""

    async def run() -> T:
        transport = Transport()
        async with serve(*replies) as server:
            try:
                return await story(server, transport)
            finally:
                await transport.aclose()

    return asyncio.run(run())


def texts(told: Iterable[ProviderEvent]) -> str:
    return "".join(event.text for event in told if isinstance(event, TextDelta))


def test_an_answer_is_told_piece_by_piece_and_ends_in_one_answer() -> None:
    told = answer_to(stream(HELLO, '{"text": " you"}', DONE, HELLO))
    assert told == [
        TextDelta("hello"),
        TextDelta(" you"),
        Answer(items=({"text": "hello you"},), finish="stop"),
    ]


def test_the_request_that_arrives_is_the_one_that_was_prepared() -> None:
    async def story(server: RawServer, transport: Transport) -> None:
        aim = target(server.url, key="k-1")
        prepared = prepare(aim, call())
        assert [event async for event in transport.stream(aim, call(), prepared)]
        seen = server.seen[0]
        assert seen.line == "POST /v1/chat HTTP/1.1"
        assert seen.body == prepared.body == b'{"model":"m-1","stream":true}'
        assert seen.headers == dict(prepared.headers) | {
            "host": f"localhost:{server.port}",
            "content-length": str(len(prepared.body)),
        }
        assert seen.headers["authorization"] == "Bearer k-1"

    with_server(story, OK)


def test_one_connection_serves_call_after_call_and_no_cookie_is_kept() -> None:
    async def story(server: RawServer, transport: Transport) -> None:
        for _ in range(5):
            assert [event async for event in transport.stream(target(server.url), call())]
        assert (server.connections, len(server.seen)) == (1, 5)
        assert all("cookie" not in seen.headers for seen in server.seen)

    reply: Reply = [head(set_cookie="a=b; path=/") + chunk(events(HELLO, DONE)) + END, KEEP]
    with_server(story, reply)


def test_an_answer_is_whole_wherever_its_bytes_are_cut() -> None:
    data = (
        '\ufeff: hi\r\n\r\ndata: {"text": "naïve \U0001f600 \u2028 x"}\r\rdata: {"done":\ndata:true}\n\n'.encode()
    )
    told = answer_to([head(), *(chunk(data[n : n + 1]) for n in range(len(data))), END, KEEP])
    assert texts(told) == "naïve \U0001f600 \u2028 x"
    assert isinstance(told[-1], Answer)


def test_gzip_that_nobody_asked_for_is_read_all_the_same() -> None:
    body = gzip.compress(events(HELLO, DONE))
    cut = [chunk(body[n : n + 3]) for n in range(0, len(body), 3)]
    assert texts(answer_to([head(content_encoding="gzip"), *cut, END, KEEP])) == "hello"


@pytest.mark.parametrize(
    ("encoding", "body", "detail"),
    [
        ("gzip", gzip.compress(bytes(100_000_000)), "a line is longer"),
        ("gzip", gzip.compress((b": " + bytes(65_000) + b"\n") * 1100), "longer than any answer"),
        ("gzip", b"no gzip at all", "its gzip is broken"),
        ("br", b"whatever", "content encoding"),
    ],
    ids=["one long line", "many lines", "no gzip", "brotli"],
)
def test_a_body_that_unpacks_without_end_or_not_at_all_is_refused(encoding: str, body: bytes, detail: str) -> None:
    error = error_of([head(content_encoding=encoding), chunk(body), END, KEEP])
    assert error.code == "PROVIDER_BAD_RESPONSE"
    assert detail in str(error)


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_refusal_is_read_up_to_64_kib_and_named_by_its_status(encoding: str) -> None:
    heard: list[object] = []

    class Listening(PocketDriver):
        def classify(self, status: int, body: object) -> Fault:
            heard.append(body)
            return Fault(code="PROVIDER_REQUEST_REFUSED")

    body = b"x" * 3_000_000
    packed = gzip.compress(body) if encoding else body
    error = error_of(whole(400, packed, content_encoding=encoding), driver=Listening())
    assert (error.code, error.status) == ("PROVIDER_REQUEST_REFUSED", 400)
    assert heard == ["x" * 65536]


def test_the_words_of_a_refusal_are_machine_words_and_its_sentence_stays_out() -> None:
    body = json.dumps({"error": {"code": "too_much", "message": "SECRET SENTENCE"}}).encode()
    error = error_of(whole(429, body, retry_after="7"))
    assert error.details == {
        "provider": "here",
        "model": "m-1",
        "status": 429,
        "upstreamCode": "too_much",
        "retryAfter": 7.0,
        "retryable": True,
    }
    assert "SECRET" not in str(error)
    odd = json.dumps({"error": {"code": "two words\n"}}).encode()
    assert error_of(whole(429, odd)).fault.upstream_code == ""


def test_a_stalled_or_broken_refusal_is_named_by_its_status_too() -> None:
    for rest in (STALL, RESET):
        error = error_of([head(503), chunk(b"part"), rest], limits={"idle_seconds": 0.05})
        assert (error.status, error.retryable) == (503, True)


def test_a_redirect_is_an_error_and_nobody_goes_there() -> None:
    async def story(server: RawServer, transport: Transport) -> None:
        with pytest.raises(ProviderError, match="base_url") as caught:
            await anext(transport.stream(target(server.url, key="k-1"), call()))
        assert caught.value.code == "PROVIDER_REDIRECTED"
        assert len(server.seen) == 1

    with_server(story, whole(307, b"", location="/v1/elsewhere"), OK)


def test_a_reply_that_is_no_stream_is_an_error_and_one_that_tells_an_error_is_named() -> None:
    page = error_of(whole(200, b"<html>", kind="text/html"))
    assert (page.code, page.status) == ("PROVIDER_BAD_RESPONSE", 200)
    assert error_of(whole(200, b'{"choices": []}')).code == "PROVIDER_BAD_RESPONSE"
    told = error_of(whole(200, b'{"error": {"code": "no_such_model"}}'))
    assert (told.code, told.fault.upstream_code) == ("PROVIDER_FAILED", "no_such_model")


def test_a_stream_without_a_content_type_is_a_stream() -> None:
    plain = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    assert texts(answer_to([plain + chunk(events(HELLO, DONE)) + END, KEEP])) == "hello"


def test_a_stream_that_ends_early_is_broken_unless_its_reader_has_all_of_it() -> None:
    error = error_of([head() + chunk(events(HELLO)) + END, KEEP])
    assert (error.code, error.retryable) == ("PROVIDER_STREAM_BROKEN", True)
    assert isinstance(answer_to(stream('{"text": "complete"}'))[-1], Answer)


@pytest.mark.parametrize(
    "rest",
    [[chunk(events(HELLO)), b"5\r\nda"], [chunk(events(HELLO)), RESET], [b"zz\r\n"], [chunk(b"\xf0\x9f")], []],
    ids=["in a chunk", "by a reset", "no chunk", "in a character", "at once"],
)
def test_a_connection_that_breaks_is_a_broken_stream_and_is_not_tried_again(rest: list[bytes]) -> None:
    error = error_of([head(), *rest], OK, limits={"retries": 5})
    assert (error.code, error.status) == ("PROVIDER_STREAM_BROKEN", 200)


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        ("first_byte_seconds", [STALL]),
        ("first_byte_seconds", [b"HTTP/1.1 200 O", STALL]),
        ("first_byte_seconds", [head(), STALL]),
        ("idle_seconds", [head(), chunk(b": wait\n"), STALL]),
        ("idle_seconds", [head(), chunk(events(HELLO)), STALL]),
        ("answer_seconds", [STALL]),
        ("answer_seconds", [head(), chunk(events(HELLO)), STALL]),
    ],
)
def test_a_stall_is_a_timeout_that_says_which_limit_ran_out(limit: str, steps: list[bytes]) -> None:
    error = error_of(steps, OK, limits={limit: 0.05, "retries": 5})
    assert error.code == "PROVIDER_TIMEOUT"
    assert f"{limit}, 0.05, ran out" in str(error)


def test_keep_alive_comments_are_life_but_no_answer() -> None:
    async def story(server: RawServer, transport: Transport) -> str:
        aim = target(server.url, limits={"first_byte_seconds": 0.5, "idle_seconds": 5, "answer_seconds": 0.8})
        with pytest.raises(ProviderError, match="answer_seconds") as caught:
            await anext(transport.stream(aim, call()))
        return caught.value.code

    assert with_server(story, [head(), chunk(b": ping\n\n"), STALL]) == "PROVIDER_TIMEOUT"


def test_a_server_that_lingers_after_the_answer_costs_the_connection_and_nothing_else() -> None:
    told = answer_to([head(), chunk(events(HELLO, DONE)), STALL])
    assert isinstance(told[-1], Answer)


def test_what_is_no_http_is_a_bad_response() -> None:
    assert error_of([b"SSH-2.0-nobody\r\n\r\n"]).code == "PROVIDER_BAD_RESPONSE"


def test_closing_the_iterator_closes_the_connection_at_once() -> None:
    async def story(server: RawServer, transport: Transport) -> None:
        async with aclosing(transport.stream(target(server.url), call())) as told:
            assert await anext(told) == TextDelta("hello")
        await asyncio.wait_for(server.gone.wait(), 5)

    with_server(story, [head(), chunk(events(HELLO)), STALL])


@pytest.mark.parametrize("before", [[], [head()], [head(), chunk(events(HELLO))]], ids=["nothing", "head", "text"])
def test_cancelling_the_task_closes_the_connection_at_once(before: list[bytes]) -> None:
    async def story(server: RawServer, transport: Transport) -> None:
        begun = asyncio.Event()

        async def turn() -> None:
            async for _ in transport.stream(target(server.url), call()):
                begun.set()

        task = asyncio.create_task(turn())
        await asyncio.wait_for((begun if len(before) == 2 else server.asked).wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.gone.wait(), 5)

    with_server(story, [*before, STALL])


def test_two_hundred_calls_run_at_once() -> None:
    async def story(server: RawServer, transport: Transport) -> None:
        async def one() -> str:
            return texts([event async for event in transport.stream(target(server.url), call())])

        assert await asyncio.gather(*(one() for _ in range(200))) == ["hello"] * 200

    with_server(story, OK)


class Broken(PocketDriver):
    """A driver whose reader, or whose naming of faults, goes wrong in the way that is given."""

    def __init__(self, wrong: Callable[[], object]) -> None:
        self.wrong = wrong

    def reader(self, call: ProviderCall) -> StreamReader:
        return _BrokenReader(self.wrong)

    def classify(self, status: int, body: object) -> Fault:
        return self.wrong()  # type: ignore[return-value]


class _BrokenReader(PocketReader):
    def __init__(self, wrong: Callable[[], object]) -> None:
        super().__init__()
        self.wrong = wrong

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        return self.wrong()  # type: ignore[return-value]

    def end(self) -> Answer | None:
        return self.wrong()  # type: ignore[return-value]


def _raise() -> object:
    raise KeyError("SECRET")


@pytest.mark.parametrize(
    "wrong",
    [
        _raise,
        lambda: None,
        lambda: ["text"],
        lambda: [TextDelta(3)],  # type: ignore[arg-type]
        lambda: [Answer(items=(), finish="done")],  # type: ignore[arg-type]
        lambda: [Answer(items=(), finish=[])],  # type: ignore[arg-type]
        lambda: Fault(code="OWN_CODE"),  # type: ignore[arg-type]
    ],
)
def test_a_driver_that_goes_wrong_ends_the_call_and_is_named(wrong: Callable[[], object]) -> None:
    read = error_of(OK, OK, driver=Broken(wrong), limits={"retries": 3})
    refused = error_of(whole(500, b"{}"), driver=Broken(wrong))
    for error, place in ((read, "parse"), (refused, "classify")):
        assert error.code == "PROVIDER_BAD_RESPONSE"
        assert f"{place} of the driver 'pocket'" in str(error)
        assert "SECRET" not in str(error)


def test_a_reader_that_ends_with_something_else_than_an_answer_is_named() -> None:
    error = error_of([head() + END, KEEP], driver=Broken(lambda: TextDelta("x")))
    assert "end of the driver 'pocket' gave no Answer" in str(error)


def test_a_driver_that_is_stopped_from_outside_stops_the_task() -> None:
    class Stop(BaseException):
        pass

    def stop() -> object:
        raise Stop

    with pytest.raises(Stop):
        answer_to(OK, driver=Broken(stop))


def test_a_driver_without_a_server_answers_by_itself() -> None:
    class Offline(PocketDriver):
        offline = True

        def request(self, call: ProviderCall) -> ProviderRequest:
            raise AssertionError("nothing is sent")

    assert asyncio.run(ask("http://localhost:1", Offline())) == [
        TextDelta("by myself"),
        Answer(items=(), finish="stop"),
    ]


def test_a_driver_without_a_server_that_never_comes_to_an_end_of_its_answer_is_named() -> None:
    class Endless(PocketDriver):
        offline = True

        def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
            return [TextDelta("and")]

    with pytest.raises(ProviderError, match="respond of the driver 'pocket' gave no Answer"):
        asyncio.run(ask("http://localhost:1", Endless()))


KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize(
    "reply",
    [
        OK,
        whole(401, json.dumps({"error": {"code": KEY, "message": f"no such key {KEY}"}}).encode()),
        whole(401, f"no such key {KEY}".encode()),
        [head(), chunk(events(json.dumps({"error": KEY}))), END],
        [head(), STALL],
        [b"HTTP/1.1 " + KEY.encode() + b"\r\n\r\n"],
        [RESET],
    ],
    ids=["answer", "refused", "refused in text", "in the stream", "stall", "no HTTP", "reset"],
)
def test_the_key_is_in_no_log_no_error_and_no_repr(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def story(server: RawServer, transport: Transport) -> str:
        aim = target(server.url, key=KEY, limits={"first_byte_seconds": 0.05})
        told = [repr(aim), repr(prepare(aim, call())), str(aim)]
        try:
            told += [repr(event) async for event in transport.stream(aim, call())]
        except ProviderError as error:
            told += [repr(error), json.dumps(error.to_dict()), str(error.__dict__)]
            told += traceback.format_exception(error)[-1:]
        return "".join(told)

    told = with_server(story, reply)
    ours = [record for record in caplog.records if record.name.startswith("trimtab")]
    assert [record.name for record in ours] == ["trimtab.transport"]
    assert KEY not in told
    assert KEY not in "".join(record.getMessage() + str(record.__dict__) for record in ours)
    sent = [record.getMessage() for record in caplog.records if ".send_request" in record.getMessage()]
    assert KEY not in "".join(sent)


def test_one_line_is_logged_for_a_call(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="trimtab.transport")
    answer_to(OK)
    (record,) = caplog.records
    assert record.getMessage().startswith("here m-1: status 200, ")
    assert record.getMessage().endswith(" ms, tries 1")
