"""Calls run at once and within limits; whatever a tool does, the model gets an answer it can act on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from trimtab.turns.tool_context import ToolContext
from trimtab.turns.tool_running import ToolOutcome, run_calls
from trimtab.turns.tool_schema import AsyncFunction
from trimtab.turns.tools import Tool, ToolBox, ToolLimits
from trimtab_sdk import Image, Text, ToolCall, ToolResult

CONTEXT = ToolContext(chat_id="c1", turn_id="t1", owner="ann")
HASTY = ToolLimits(seconds=0.01, grace_seconds=0.01)


def call(name: str, arguments: str = "{}", id: str = "1") -> ToolCall:
    return ToolCall(id, name, arguments)


async def outcomes(
    calls: Sequence[ToolCall], *tools: Tool | AsyncFunction, limits: ToolLimits | None = None
) -> list[tuple[int, ToolOutcome]]:
    running = run_calls(calls, ToolBox(tools), context=CONTEXT, limits=limits or ToolLimits())
    return [one async for one in running]


def outcome(
    function: Tool | AsyncFunction, arguments: str = "{}", limits: ToolLimits | None = None
) -> ToolOutcome:
    made = function if isinstance(function, Tool) else Tool.of(function)
    [(at, found)] = asyncio.run(outcomes([call(made.name, arguments)], made, limits=limits))
    assert at == 0
    return found


async def add(a: int, b: int = 1) -> int:
    return a + b


def test_an_answer_becomes_the_result_of_its_call() -> None:
    found = outcome(add, '{"a": 2}')
    assert found.result == ToolResult("1", "3")
    assert (found.call, found.error_code, found.size) == (call("add", '{"a": 2}'), "", 1)
    assert found.seconds > 0


def test_calls_run_at_once_and_are_told_as_they_end() -> None:
    async def story() -> list[tuple[int, ToolOutcome]]:
        second_done = asyncio.Event()

        async def first() -> str:
            await second_done.wait()
            return "first"

        async def second() -> str:
            second_done.set()
            return "second"

        return await outcomes([call("first", id="a"), call("second", id="b")], first, second)

    found = asyncio.run(story())
    assert [(at, one.result) for at, one in found] == [
        (1, ToolResult("b", "second")),
        (0, ToolResult("a", "first")),
    ]


def test_calls_with_the_same_id_keep_their_places() -> None:
    found = dict(asyncio.run(outcomes([call("add", f'{{"a": {at}}}') for at in range(50)], add)))
    assert [found[at].result.content for at in range(50)] == [str(at + 1) for at in range(50)]


def test_no_more_tools_run_at_once_than_allowed() -> None:
    running = most = 0

    async def count() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1

    found = asyncio.run(outcomes([call("count")] * 10, count, limits=ToolLimits(parallel=3)))
    assert (len(found), most) == (10, 3)


def test_time_spent_waiting_for_a_place_is_not_the_tools() -> None:
    async def step(times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(0)

    calls = [call("step", '{"times": 5000}'), call("step", '{"times": 0}')]
    [(_, long), (_, short)] = asyncio.run(outcomes(calls, step, limits=ToolLimits(parallel=1)))
    assert short.seconds < long.seconds


def test_each_tool_knows_which_call_it_answers() -> None:
    async def who(context: ToolContext) -> list[str]:
        return [context.owner, context.chat_id, context.turn_id, context.call_id]

    [(_, one), (_, two)] = asyncio.run(outcomes([call("who", id="x"), call("who", id="y")], who))
    assert {one.result.content, two.result.content} == {'["ann","c1","t1","x"]', '["ann","c1","t1","y"]'}


def test_no_calls_have_no_outcomes() -> None:
    assert asyncio.run(outcomes([], add)) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"a": ', "they are no valid JSON"),
        ("[]", "they must be one JSON object"),
        ('{"a": "many"}', 'a: Input should be a valid integer, unable to parse string as an integer, not "many"'),
        ('{"a": 1, "c": 2}', "c: there is no such argument, only: a, b"),
    ],
)
def test_with_wrong_arguments_a_tool_is_not_run_and_the_model_is_told(arguments: str, said: str) -> None:
    ran = []

    async def add(a: int, b: int = 1) -> None:
        ran.append(a + b)

    found = outcome(add, arguments)
    assert (found.result.is_error, found.error_code, ran) == (True, "TOOL_FAILED", [])
    assert str(found.result.content).startswith("The tool add was not run, because of its arguments: ")
    assert said in found.result.content


def test_an_unknown_tool_is_answered_with_those_there_are() -> None:
    [(_, found)] = asyncio.run(outcomes([call("ad\x1bd" + "x" * 5000)], add, Tool(name="b", run=_none)))
    assert found.result.is_error
    assert found.error_code == "TOOL_FAILED"
    assert str(found.result.content).endswith("There are: add, b")
    assert "\x1b" not in found.result.content
    assert len(found.result.content) < 200
    [(_, found)] = asyncio.run(outcomes([call("add")]))
    assert found.result.content == "There is no tool 'add'. There are: none"


async def _none(arguments: object, context: ToolContext) -> None: ...


def test_a_tool_that_raises_is_told_to_the_model_and_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def read(name: str) -> str:
        raise FileNotFoundError(2, "No such file or directory", f"/home/ann/secret/{name}")

    with caplog.at_level(logging.WARNING, "trimtab.tools"):
        found = outcome(read, '{"name": "notes.txt"}')
    assert found.error_code == "TOOL_FAILED"
    assert found.result == ToolResult(
        "1",
        "The tool read failed: FileNotFoundError: [Errno 2] No such file or directory: '…/notes.txt'",
        is_error=True,
    )
    [record] = caplog.records
    assert (record.name, record.levelname) == ("trimtab.tools", "WARNING")
    assert record.exc_info is not None
    assert record.exc_info[2] is not None


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit(1), "SystemExit: 1"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "CancelledError"),
        (MuteError(), "MuteError"),
        (TimeoutError("late"), "TimeoutError: late"),
        (ExceptionGroup("two", [ValueError("a"), ValueError("b")]), "ExceptionGroup: two (2 sub-exceptions)"),
        (ValueError("a\x00b\x1b[31m" + "c" * 9000), "ValueError: a b [31mccc"),
    ],
)
def test_whatever_a_tool_raises_is_an_answer(error: BaseException, said: str) -> None:
    async def fail() -> None:
        raise error

    found = outcome(fail)
    assert (found.result.is_error, found.error_code) == (True, "TOOL_FAILED")
    assert str(found.result.content).startswith(f"The tool fail failed: {said}")
    assert len(found.result.content) <= 2000


def test_a_keyboard_interrupt_passes_on(recwarn: pytest.WarningsRecorder) -> None:
    async def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome(interrupt)


def test_a_check_in_a_type_that_breaks_is_a_failure_of_the_tool() -> None:
    def broken(value: int) -> int:
        raise LookupError(f"no {value}")

    async def pick(at: int) -> None: ...

    pick.__annotations__["at"] = Annotated[int, AfterValidator(broken)]
    assert outcome(pick, '{"at": 3}').result.content == "The tool pick failed: LookupError: no 3"


def test_a_late_tool_is_cancelled_and_the_model_is_told_the_limit() -> None:
    cancelled = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    for made, limits in [(Tool.of(hang, seconds=0.01), ToolLimits()), (Tool.of(hang), HASTY)]:
        found = outcome(made, limits=limits)
        assert found.error_code == "TOOL_FAILED"
        assert found.result.content == "The tool hang failed: it took longer than 0.01 s and was stopped."
    assert cancelled == [True, True]


def test_a_tool_that_ignores_its_end_is_left_alone_and_what_it_says_later_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def story() -> tuple[ToolOutcome, bool]:
        released, ended = asyncio.Event(), asyncio.Event()

        async def stubborn() -> str:
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue
            ended.set()
            raise ValueError("nobody takes this")

        [(_, found)] = await outcomes([call("stubborn")], stubborn, limits=HASTY)
        released.set()
        await ended.wait()
        return found, ended.is_set()

    found, ended = asyncio.run(story())
    assert ended
    assert found.error_code == "TOOL_FAILED"
    assert found.result.content == (
        "The tool stubborn failed: it took longer than 0.01 s and does not stop; what it still does is not known."
    )
    assert "tool stubborn does not end although it is cancelled; it is left alone" in caplog.text
    assert "never retrieved" not in caplog.text


def test_one_late_tool_holds_up_no_other() -> None:
    async def hang() -> None:
        await asyncio.Event().wait()

    found = asyncio.run(outcomes([call("hang"), call("add", '{"a": 1}')], hang, add, limits=HASTY))
    assert [(at, one.error_code) for at, one in found] == [(1, ""), (0, "TOOL_FAILED")]


def test_when_the_turn_is_cancelled_all_its_tools_are_and_that_passes_on() -> None:
    async def story() -> list[str]:
        started, ends = asyncio.Semaphore(0), []

        async def hang(name: str) -> None:
            started.release()
            try:
                await asyncio.Event().wait()
            finally:
                ends.append(name)

        calls = [call("hang", '{"name": "a"}'), call("hang", '{"name": "b"}')]
        turn = asyncio.create_task(outcomes(calls, hang))
        await started.acquire()
        await started.acquire()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return ends

    assert sorted(asyncio.run(story())) == ["a", "b"]


def test_leaving_early_stops_what_still_runs() -> None:
    async def story() -> list[str]:
        ends = []

        async def hang() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ends.append("hang")

        box = ToolBox([hang, add])
        async with aclosing(run_calls([call("hang"), call("add", '{"a": 1}')], box, context=CONTEXT)) as running:
            async for at, _ in running:
                assert at == 1
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return ends

    assert asyncio.run(story()) == ["hang"]


def test_a_stubborn_tool_does_not_hold_up_a_cancelled_turn() -> None:
    async def story() -> None:
        released, started = asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            started.set()
            while not released.is_set():
                try:
                    await released.wait()
                except asyncio.CancelledError:
                    continue

        limits = ToolLimits(grace_seconds=0.01)
        turn = asyncio.create_task(outcomes([call("stubborn")], stubborn, limits=limits))
        await started.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert not released.is_set()
        released.set()

    asyncio.run(story())


def test_parts_are_a_result_of_parts() -> None:
    async def look() -> list[object]:
        return ["a cat", Image(url="https://example.org/cat.png")]

    found = outcome(look)
    assert found.result == ToolResult("1", (Text("a cat"), Image(url="https://example.org/cat.png")))


def test_fifty_megabytes_are_too_much_and_the_model_gets_the_beginning() -> None:
    async def flood() -> str:
        return "Dear reader, " + "é" * 25_000_000

    found = outcome(flood)
    assert (found.error_code, found.size) == ("TOOL_FAILED", 50_000_013)
    told = str(found.result.content)
    assert told.startswith(
        "The tool flood failed: its answer is 50,000,013 bytes long; at most 8,388,608 are taken. It begins:\n"
        "Dear reader, ééé"
    )
    assert 2000 < len(told) < 2200


class Rude:
    def model_dump(self, **options: object) -> object:
        raise RuntimeError("not me")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"abc", "it returned a bytes; a tool returns a text, a value that JSON can hold"),
        (object(), "it returned a object; a tool returns"),
        ({"mean": float("nan")}, "cannot be written as JSON"),
        (Rude(), "RuntimeError: not me"),
    ],
)
def test_what_cannot_be_sent_is_a_failure_that_says_what_can(value: Any, said: str) -> None:
    async def give() -> object:
        return value

    found = outcome(give)
    assert (found.result.is_error, found.error_code) == (True, "TOOL_FAILED")
    assert said in found.result.content
