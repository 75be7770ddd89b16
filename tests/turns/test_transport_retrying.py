"""What is tried again, how often, and after how long."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from email.utils import formatdate

import pytest

from trimtab.turns.faults import CallFaultError
from trimtab.turns.retrying import Advice, Pacing, read_advice, wait_before
from trimtab.turns.transport import Transport
from trimtab_sdk import Answer, Fault, ProviderError, ProviderEvent, TextDelta
from turns.pocket_driver import BUSY, DONE, HELLO, call, target
from turns.raw_server import END, KEEP, RESET, STALL, Reply, chunk, events, head, serve, stream, whole

OK = stream(HELLO, DONE)
NOW = 1_800_000_000.0


@dataclass
class Story:
    """What came of a call: its events or its error, the requests the server saw, the waits that were made."""

    told: list[ProviderEvent] = field(default_factory=list)
    error: ProviderError | None = None
    asked: int = 0
    waits: list[float] = field(default_factory=list)


def tell(*replies: Reply, retries: int = 2) -> Story:
    """Make a call to a server with these replies; nothing waits, and chance is always 1."""
    story = Story()

    async def sleep(seconds: float) -> None:
        story.waits.append(seconds)

    async def run() -> None:
        transport = Transport(pacing=Pacing(sleep=sleep, random=lambda: 1.0, clock=lambda: NOW))
        async with serve(*replies) as server:
            try:
                async for event in transport.stream(target(server.url, limits={"retries": retries}), call()):
                    story.told.append(event)
            except ProviderError as error:
                story.error = error
            finally:
                await transport.aclose()
            story.asked = len(server.seen)

    asyncio.run(run())
    return story


def test_a_refusal_that_passes_is_tried_again_and_the_answer_is_told_once() -> None:
    story = tell(whole(503, b"{}"), whole(429, b"{}"), OK)
    assert [type(event) for event in story.told] == [TextDelta, Answer]
    assert (story.asked, story.waits) == (3, [0.5, 1.0])


def test_there_are_no_more_tries_than_the_endpoint_allows() -> None:
    for retries in (0, 1, 3):
        story = tell(whole(503, b"{}"), retries=retries)
        assert (story.asked, len(story.waits)) == (retries + 1, retries)
        assert story.error is not None
        assert (story.error.status, story.error.retryable) == (503, True)


def test_a_refusal_that_stays_is_not_tried_again_unless_the_server_says_so() -> None:
    assert tell(whole(400, b"{}"), OK).asked == 1
    assert tell(whole(400, b"{}", x_should_retry="true"), OK).asked == 2
    firm = tell(whole(503, b"{}", x_should_retry="false"), OK)
    assert firm.asked == 1
    assert firm.error is not None
    assert not firm.error.retryable


@pytest.mark.parametrize("before", [b"", b"HTTP/1"], ids=["nothing", "some of its head"])
@pytest.mark.parametrize("end", [None, RESET], ids=["closed", "reset"])
def test_a_connection_that_ends_is_tried_again_only_when_no_byte_of_a_reply_came(
    before: bytes, end: bytes | None
) -> None:
    story = tell([before, *([end] if end else [])], OK)
    if before:
        assert story.asked == 1
        assert story.error is not None
        assert (story.error.code, story.error.status) == ("PROVIDER_STREAM_BROKEN", 0)
    else:
        assert (story.asked, story.error) == (2, None)


def test_a_server_that_never_answers_a_connection_is_unreachable() -> None:
    story = tell([], retries=1)
    assert story.asked == 2
    assert story.error is not None
    assert (story.error.code, story.error.status) == ("PROVIDER_UNREACHABLE", 0)


def test_a_connection_that_the_server_has_left_meanwhile_is_replaced() -> None:
    async def run() -> list[int]:
        transport = Transport()
        asked = []
        # The server closes after each reply, and says nothing of it.
        async with serve(OK[:-1]) as server:
            aim = target(server.url, limits={"retries": 1})
            for _ in range(5):
                assert [event async for event in transport.stream(aim, call())]
                asked.append(server.connections)
            await transport.aclose()
        return asked

    assert asyncio.run(run()) == [1, 2, 3, 4, 5]


def test_an_error_that_is_first_in_the_stream_is_tried_again() -> None:
    story = tell(stream(BUSY), OK)
    assert (story.asked, story.error) == (2, None)


def test_nothing_is_tried_again_once_something_was_told() -> None:
    for rest in ([chunk(events(BUSY)) + END, KEEP], [RESET], [END, KEEP]):
        story = tell([head() + chunk(events(HELLO)), *rest], OK, retries=5)
        assert (story.told, story.asked, story.waits) == ([TextDelta("hello")], 1, [])
        assert story.error is not None
        assert story.error.retryable


def test_a_stream_that_breaks_before_its_first_event_is_not_tried_again() -> None:
    assert tell([head(), chunk(b": hi\n"), RESET], OK, retries=5).asked == 1


def test_the_servers_own_wait_is_kept() -> None:
    assert tell(whole(429, b"{}", retry_after="7"), OK).waits == [7.0]
    assert tell(whole(429, b"{}", retry_after="7", retry_after_ms="1500"), OK).waits == [1.5]
    assert tell(whole(429, b"{}", retry_after=formatdate(NOW + 20, usegmt=True)), OK).waits == [20.0]


def test_a_wait_over_a_minute_is_not_made_and_the_error_tells_of_it() -> None:
    story = tell(whole(429, b"{}", retry_after="61"), OK)
    assert (story.asked, story.waits) == (1, [])
    assert story.error is not None
    assert (story.error.retry_after, story.error.retryable) == (61.0, True)


def test_a_call_that_waits_for_its_next_try_can_be_cancelled() -> None:
    async def run() -> None:
        waiting = asyncio.Event()

        async def sleep(seconds: float) -> None:
            waiting.set()
            await asyncio.Event().wait()

        transport = Transport(pacing=Pacing(sleep=sleep))
        async with serve(whole(503, b"{}")) as server:
            told = transport.stream(target(server.url, limits={"retries": 1}), call())
            task = asyncio.create_task(anext(told))
            await waiting.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await transport.aclose()
            assert len(server.seen) == 1

    asyncio.run(run())


def test_a_stall_before_the_first_byte_is_not_tried_again() -> None:
    async def run() -> int:
        transport = Transport()
        async with serve([STALL], OK) as server:
            aim = target(server.url, limits={"retries": 5, "first_byte_seconds": 0.05})
            with pytest.raises(ProviderError, match="first_byte_seconds"):
                await anext(transport.stream(aim, call()))
            await transport.aclose()
            return len(server.seen)

    assert asyncio.run(run()) == 1


@pytest.mark.parametrize(
    ("headers", "advice"),
    [
        ({}, Advice()),
        ({"x-should-retry": "TRUE"}, Advice(True)),
        ({"x-should-retry": "perhaps"}, Advice()),
        ({"retry-after": "2.5"}, Advice(None, 2.5)),
        ({"retry-after": "-3"}, Advice(None, 0.0)),
        ({"retry-after": "nan"}, Advice()),
        ({"retry-after": "1e400"}, Advice()),
        ({"retry-after": "soon"}, Advice()),
        ({"retry-after": formatdate(NOW - 5, usegmt=True)}, Advice(None, 0.0)),
        ({"retry-after": "Mon, 99 Foo 99999 99:99:99 GMT"}, Advice()),
        ({"retry-after-ms": "soon", "retry-after": "4"}, Advice(None, 4.0)),
    ],
)
def test_the_headers_of_a_server_are_read_or_passed_over(headers: dict[str, str], advice: Advice) -> None:
    assert read_advice(headers, now=NOW) == advice


def test_waits_without_advice_double_up_to_eight_seconds_and_are_spread() -> None:
    failure = CallFaultError(Fault(code="PROVIDER_OVERLOADED", retryable=True), repeatable=True)
    most = [wait_before(failure, tries=n, retries=10, pacing=Pacing(random=lambda: 1.0)) for n in range(1, 8)]
    assert most == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert wait_before(failure, tries=3, retries=10, pacing=Pacing(random=lambda: 0.25)) == 0.5
    at_once = CallFaultError(failure.fault, repeatable=True, retry_after=0.0)
    assert wait_before(at_once, tries=1, retries=1, pacing=Pacing(random=lambda: 1.0)) == 0.5
