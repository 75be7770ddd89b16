"""Asking a driver what an answer means. What it gives is outside data, and what it raises stops one call only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, get_args

from trimtab.fitting.cleaning import class_name
from trimtab.turns.faults import CallFaultError, checked_fault
from trimtab.turns.streaming import unreadable
from trimtab.turns.targets import Target
from trimtab_sdk.provider import (
    Answer,
    CountsTokens,
    Fault,
    Finish,
    ProviderCall,
    ProviderEvent,
    ProviderFaultError,
    ReasoningDelta,
    ServerEvent,
    StreamReader,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
)

_T = TypeVar("_T")
_TEXTS: Mapping[type, tuple[str, ...]] = {
    TextDelta: ("text",),
    ReasoningDelta: ("text",),
    ToolCallStarted: ("call_id", "name"),
    ToolCallDelta: ("call_id", "arguments"),
    ToolCallCompleted: ("call_id", "name", "arguments"),
}
_FIGURES = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
_FINISHES: frozenset[object] = frozenset(get_args(Finish))


class Driven:
    """The driver of a target as it is asked about one answer. Each method raises CallFaultError alone."""

    def __init__(self, target: Target, call: ProviderCall) -> None:
        self._target = target
        self._call = call
        self._reader: StreamReader | None = None

    def read(self, events: Iterable[ServerEvent]) -> Iterator[ProviderEvent]:
        """Give what events of the server mean."""
        for event in events:
            yield from self._parse(event)

    def end(self) -> Answer:
        """Give the answer of a stream that ended without saying so."""
        answer = self._ask("end", self._opened().end)
        if answer is None:
            fault = Fault(code="PROVIDER_STREAM_BROKEN", retryable=True)
            raise CallFaultError(fault, detail="it ended before it was complete")
        self._check("end", answer)
        if not isinstance(answer, Answer):
            raise self._wrong("end", "gave no Answer")
        return answer

    def fault(self, status: int, body: object) -> Fault:
        """Name the fault behind a refusal."""
        return self._checked("classify", self._ask("classify", lambda: self._classified(status, body)))

    def count(self, body: object) -> int:
        """Give the tokens that the answer to a count tells."""
        driver = self._target.provider
        if not isinstance(driver, CountsTokens):
            raise self._wrong("read_count", "it counts nothing")
        tokens = self._ask("read_count", lambda: driver.read_count(body))
        if type(tokens) is not int or tokens < 0:
            raise self._wrong("read_count", "it gives no count")
        return tokens

    def events(self) -> Iterator[ProviderEvent]:
        """Give the answer of a driver that needs no server, up to its Answer."""
        answers = self._ask("respond", lambda: iter(self._target.provider.respond(self._call)))
        while True:
            event = self._ask("respond", lambda: next(answers, None))
            if event is None:
                raise self._wrong("respond", "gave no Answer")
            self._check("respond", event)
            yield event
            if isinstance(event, Answer):
                return

    def _parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        reader = self._opened()
        events = self._ask("parse", lambda: reader.parse(event))
        if not isinstance(events, list | tuple):
            raise self._wrong("parse", "gave no list")
        for one in events:
            self._check("parse", one)
        return events

    def _classified(self, status: int, body: object) -> Fault:
        try:
            return self._target.provider.classify(status, body)
        except ProviderFaultError as error:
            return error.fault

    def _opened(self) -> StreamReader:
        if self._reader is None:
            self._reader = self._ask("reader", lambda: self._target.provider.reader(self._call))
        return self._reader

    def _ask(self, what: str, question: Callable[[], _T]) -> _T:
        try:
            return question()
        except ProviderFaultError as error:
            fault = self._checked(what, error.fault)
            raise CallFaultError(fault, repeatable=fault.retryable) from error
        except Exception as error:
            raise self._wrong(what, f"raised {class_name(error)}") from error

    def _checked(self, what: str, fault: object) -> Fault:
        checked = checked_fault(fault, secret=self._target.key)
        if checked is None:
            raise self._wrong(what, "gave no Fault")
        return checked

    def _check(self, what: str, event: object) -> None:
        if not _is_event(event):
            raise self._wrong(what, f"gave a wrong {class_name(event)}")

    def _wrong(self, what: str, problem: str) -> CallFaultError:
        return unreadable(f"{what} of the driver {self._target.provider.name!r} {problem}")


def _is_event(event: object) -> bool:
    kind = type(event)
    if kind in _TEXTS:
        return all(isinstance(getattr(event, name), str) for name in _TEXTS[kind])
    if isinstance(event, Answer):
        return _is_answer(event)
    return isinstance(event, Usage) and _is_usage(event)


def _is_answer(answer: Answer) -> bool:
    return (
        isinstance(answer.items, tuple)
        and isinstance(answer.finish, str)
        and answer.finish in _FINISHES
        and (answer.usage is None or (isinstance(answer.usage, Usage) and _is_usage(answer.usage)))
        and (answer.cursor is None or isinstance(answer.cursor, str))
        and isinstance(answer.state, Mapping)
        and (answer.resume is None or isinstance(answer.resume, str))
        and isinstance(answer.remarks, tuple)
        and all(isinstance(remark, str) for remark in answer.remarks)
    )


def _is_usage(usage: Usage) -> bool:
    figures = [getattr(usage, name) for name in _FIGURES]
    return all(figure is None or (type(figure) is int and figure >= 0) for figure in figures)
