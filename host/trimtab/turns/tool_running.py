"""Running the calls a model made: all at once, each within its limits, and each with an answer for the model.

A tool that fails ends no turn. The model is told what went wrong, in words it can act on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab.turns.tool_answers import AnswerError, Content, answer_of, utf8_size
from trimtab.turns.tool_context import ToolContext
from trimtab.turns.tool_schema import ArgumentsError
from trimtab.turns.tool_words import MOST_CHARS, clean_text, error_text, one_line
from trimtab.turns.tools import Tool, ToolBox, ToolLimits
from trimtab_sdk.errors import ToolFailedError
from trimtab_sdk.messages import ToolCall, ToolResult

TOOL_FAILED = ToolFailedError.code
_MOST_NAME = 80

logger = logging.getLogger("trimtab.tools")

# An event loop holds its tasks weakly: a tool that nobody waits for any more must not vanish in the middle.
_abandoned: set[asyncio.Task[_Ended]] = set()


DEFAULT_LIMITS = ToolLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """How a call ended.

    - `result` answers the call. `error_code` is TOOL_FAILED when it is an error, else empty.
    - `size` is what the tool answered in bytes, also when that was too much; `seconds` is the time it took.
    """

    call: ToolCall
    result: ToolResult
    error_code: str = ""
    size: int = 0
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class _Ended:
    """What came of a tool: a value, or what it raised."""

    value: object = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Told:
    """What the model is told."""

    content: Content
    size: int
    is_error: bool = False


async def run_calls(
    calls: Sequence[ToolCall],
    box: ToolBox,
    *,
    context: ToolContext,
    limits: ToolLimits = DEFAULT_LIMITS,
) -> AsyncGenerator[tuple[int, ToolOutcome], None]:
    """Run calls at once; give the outcome of each as it ends, with its place among the calls, counted from 0.

    Each tool gets `context` with the id of its call. Leave the loop early only inside `contextlib.aclosing`:
    then, and when the task that iterates is cancelled, all tools still running are cancelled and waited for.
    """
    room = asyncio.Semaphore(limits.parallel)
    tasks = [asyncio.create_task(_run(at, call, box, context, limits, room)) for at, call in enumerate(calls)]
    try:
        for next_done in asyncio.as_completed(tasks):
            yield await next_done
    finally:
        await _end(tasks)


async def _run(
    at: int,
    call: ToolCall,
    box: ToolBox,
    context: ToolContext,
    limits: ToolLimits,
    room: asyncio.Semaphore,
) -> tuple[int, ToolOutcome]:
    async with room:
        began = time.perf_counter()
        told = await _told(call, box, replace(context, call_id=call.call_id), limits)
        seconds = time.perf_counter() - began
    return at, ToolOutcome(
        call=call,
        result=ToolResult(call.call_id, told.content, told.is_error),
        error_code=TOOL_FAILED if told.is_error else "",
        size=told.size,
        seconds=seconds,
    )


async def _told(call: ToolCall, box: ToolBox, context: ToolContext, limits: ToolLimits) -> _Told:
    tool = box.get(call.name)
    if tool is None:
        return _error(_nobody(call.name, box))
    try:
        arguments = tool.arguments(call.arguments)
    except ArgumentsError as error:
        return _error(f"The tool {tool.name} was not run, because of its arguments: {error}")
    except Exception as error:  # a type may check itself, and its check may have a fault
        return _raised(tool, context, error)
    try:
        ended = await _call(tool, arguments, context, limits)
        if ended.error is not None:
            return _raised(tool, context, ended.error)
        answer = answer_of(ended.value, most_bytes=limits.output_bytes)
    except ToolFailedError as error:
        return _error(error.message)
    except AnswerError as error:
        # The text holds the beginning of an answer that was too long, which is nobody's business in a log.
        why = f"{error.size} bytes are too many" if error.size else one_line(error.text, MOST_CHARS)
        logger.warning("the answer of tool %s cannot be taken: %s", tool.name, why)
        return _error(f"The tool {tool.name} failed: {error.text}", size=error.size)
    except Exception as error:  # an answer may write itself as JSON, likewise
        return _raised(tool, context, error)
    return _Told(answer.content, answer.size)


async def _call(tool: Tool, arguments: Mapping[str, object], context: ToolContext, limits: ToolLimits) -> _Ended:
    """Give what came of a tool. Raises ToolFailedError when it is late."""
    seconds = tool.seconds if limits.seconds is None else min(tool.seconds, limits.seconds)
    work = asyncio.create_task(_guarded(tool, arguments, context), name=f"tool {tool.name}")
    try:
        await asyncio.wait({work}, timeout=seconds)
    except asyncio.CancelledError:
        await _stop(work, tool, limits.grace_seconds)
        raise
    if work.done():
        return _ended(work)
    stopped = await _stop(work, tool, limits.grace_seconds)
    end = "was stopped" if stopped else "does not stop; what it still does is not known"
    logger.warning("tool %s took longer than %g s and %s", tool.name, seconds, end)
    raise ToolFailedError(
        f"The tool {tool.name} failed: it took longer than {seconds:g} s and {end}.",
        tool=tool.name,
        call_id=context.call_id,
    )


async def _guarded(tool: Tool, arguments: Mapping[str, object], context: ToolContext) -> _Ended:
    try:
        return _Ended(await tool.run(arguments, context))
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise
    except BaseException as error:  # a SystemExit in a task would end the event loop
        return _Ended(error=error)


def _ended(work: asyncio.Task[_Ended]) -> _Ended:
    try:
        return work.result()
    except asyncio.CancelledError as error:
        return _Ended(error=error)


async def _stop(work: asyncio.Task[_Ended], tool: Tool, grace: float) -> bool:
    """Tell a tool to end, and say whether it did."""
    work.cancel()
    try:
        await asyncio.wait({work}, timeout=grace)
    finally:
        if not work.done():
            logger.warning("tool %s does not end although it is cancelled; it is left alone", tool.name)
            _abandoned.add(work)
            work.add_done_callback(_forget)
    return work.done()


def _forget(work: asyncio.Task[_Ended]) -> None:
    _abandoned.discard(work)
    _look_at(work)


def _look_at(task: asyncio.Task[_Ended] | asyncio.Task[tuple[int, ToolOutcome]]) -> None:
    """Take a task's exception, so that asyncio does not complain of one that nobody took."""
    if not task.cancelled():
        task.exception()


async def _end(tasks: Sequence[asyncio.Task[tuple[int, ToolOutcome]]]) -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in tasks:
        _look_at(task)


def _raised(tool: Tool, context: ToolContext, error: BaseException) -> _Told:
    logger.warning("tool %s failed in call %r", tool.name, context.call_id[:_MOST_NAME], exc_info=error)
    return _error(clean_text(f"The tool {tool.name} failed: {error_text(error)}"))


def _nobody(name: str, box: ToolBox) -> str:
    known = ", ".join(box.names) or "none"
    return clean_text(f"There is no tool {one_line(name, _MOST_NAME)!r}. There are: {known}")


def _error(text: str, *, size: int = 0) -> _Told:
    return _Told(text, size or utf8_size(text), is_error=True)
