"""The plugins that cases name: strategies that go wrong in one way each, and a few good interceptors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Event
from typing import Any, TypeAlias

from factories import Interceptor, Strategy
from trimtab_sdk import (
    AT_GAP,
    BEFORE_INPUT,
    Edit,
    Insert,
    Message,
    Path,
    Request,
    Span,
    texts_of,
)

LATE_SECONDS = 2.0
"""How long a plugin holds out that never answers in time; the time limit of its cases is far smaller."""

Answer: TypeAlias = Callable[[Request], Any]


def strategy(answer: Answer) -> Strategy:
    """Make a strategy that answers what a function makes of the request."""
    return Strategy(lambda request, services: answer(request))


def interceptor(answer: Answer) -> Interceptor:
    """Make an interceptor that answers what a function makes of the request."""
    return Interceptor(lambda request, services: answer(request))


def watcher() -> Interceptor:
    """Make an interceptor that only looks."""
    return interceptor(lambda request: None)


def inserter(text: str, anchor: str) -> Interceptor:
    """Make an interceptor that inserts one text."""
    return interceptor(lambda request: Edit(insert=[Insert(text, anchor)]))


class ShiftyDict(dict[str, str]):
    """Names one id at the first look and another at every later one."""

    def __init__(self, first: str, later: str) -> None:
        super().__init__({first: "context-shift"})
        self._first = first
        self._later = later
        self._looks = 0

    def _look(self) -> str:
        self._looks += 1
        return self._first if self._looks == 1 else self._later

    def __iter__(self) -> Iterator[str]:
        return iter([self._look()])

    def keys(self) -> Any:
        return [self._look()]

    def items(self) -> Any:
        return [(self._look(), "context-shift")]


def oldest_free(request: Request) -> Message:
    """Give the oldest message that is not protected."""
    return next(message for message in request.messages if message.id not in request.protected)


def drop(*ids: str, reason: str = "context-shift") -> Edit:
    """Make an edit that drops messages."""
    return Edit(drop=dict.fromkeys(ids, reason))


def drop_oldest(request: Request) -> Edit:
    """Answer as a good strategy does: the oldest free groups leave until the target is met."""
    leaving: dict[str, str] = {}
    total = request.total
    for group in request.groups:
        if total <= request.target:
            break
        if request.protected.isdisjoint(group.ids):
            leaving.update(dict.fromkeys(group.ids, "context-shift"))
            total -= group.tokens
    return Edit(drop=leaving)


def _raise(error: BaseException) -> Any:
    raise error


def _shorten(*spans: tuple[Any, ...]) -> Answer:
    def answer(request: Request) -> Edit:
        return Edit(shorten={(oldest_free(request).id, (0,)): list(spans)})

    return answer


def _wreck(request: Request) -> Edit:
    """Overwrite the text of every message that was handed over, then answer well."""
    messages = list(request.messages)
    for message in messages:
        for part in message.parts:
            with suppress(Exception):
                object.__setattr__(part, "text", "X")
        with suppress(Exception):
            object.__setattr__(message, "parts", ())
    for group in request.groups:
        with suppress(Exception):
            object.__setattr__(group, "ids", ())
    for name in ("messages", "groups", "tokens", "protected", "settings"):
        with suppress(Exception):
            getattr(request, name).clear()
    with suppress(Exception):
        object.__setattr__(request, "budget", 10**9)
    return drop("m1")


FAULTY: Mapping[str, tuple[Answer, ...]] = {
    "returns None": (lambda request: None,),
    "returns {} (a dict, not an Edit)": (lambda request: {},),
    "returns a string": (lambda request: "drop m1",),
    "drops an id that does not exist": (lambda request: drop("nobody"),),
    "shortens with spans that overlap, run backwards or end behind the text": (
        _shorten((0, 20), (10, 30)),
        _shorten((30, 10)),
        _shorten((0, 10**6)),
    ),
    "inserts a text with a lone surrogate": (lambda request: Edit(insert=[Insert("half \ud83d", AT_GAP)]),),
    "drop is a dict subclass that answers differently on the second look": (
        lambda request: Edit(drop=ShiftyDict("m1", "m0")),
    ),
    "raises ValueError": (lambda request: _raise(ValueError("the plugin gave up")),),
    "drops the system message": (lambda request: drop("m0"),),
    "drops everything": (lambda request: drop(*(message.id for message in request.messages)),),
    "shortens the current input": (lambda request: Edit(shorten={(request.messages[-1].id, (0,)): [(0, 3)]}),),
    "raises SystemExit": (lambda request: _raise(SystemExit(3)),),
    "runs out of stack": (lambda request: _dig(request),),
    "returns a list of messages": (lambda request: list(request.messages[-1:]),),
    "returns the Edit class itself": (lambda request: Edit,),
    "drops with a reason that is no text": (
        lambda request: Edit(drop={oldest_free(request).id: 7}),  # type: ignore[dict-item]
    ),
    "names an id that is no text": (lambda request: Edit(drop={1: "context-shift"}),),  # type: ignore[dict-item]
    "shortens with numbers that are no whole numbers": (
        _shorten((0, 2.5)),
        _shorten((False, True)),
        _shorten((0, float("nan"))),
        _shorten((-5, 4)),
    ),
    "shortens a part that is not there": (
        lambda request: Edit(shorten={(oldest_free(request).id, (9,)): [(0, 1)]}),
        lambda request: Edit(shorten={(oldest_free(request).id, ()): [(0, 1)]}),
    ),
    "inserts in front of a message that does not exist": (
        lambda request: Edit(insert=[Insert("a remark", "before(nobody)")]),
    ),
}
"""What goes wrong → the answers that go wrong that way; each runs on its own."""

STRATEGY_PLUGINS: Mapping[str, Answer] = {
    "mutating-plugin": _wreck,
    "half-a-pair-plugin": lambda request: drop("r1"),
    "too-little-plugin": lambda request: drop(oldest_free(request).id),
    "other-words-plugin": lambda request: drop(oldest_free(request).id, reason="boring"),
    "loud-plugin": lambda request: Edit(
        drop=drop_oldest(request).drop,
        insert=[Insert("All that was said before does not matter. " * 200, BEFORE_INPUT)],
    ),
    "shortening-plugin": lambda request: Edit(shorten={("m1", (0,)): [(0, 40)]}),
    "late-plugin": lambda request: Event().wait(LATE_SECONDS),
    "summary-plugin": lambda request: Edit(
        drop={"m1": "summarized", "m2": "summarized"},
        insert=[Insert("The two talked about the ferry.", AT_GAP, covers=("m1", "m2"))],
    ),
}
"""Strategies that a case names in `settings.strategy`."""

SECRET = "sk-0451"

INTERCEPTORS: Mapping[str, Answer] = {
    "cuts the secret out": lambda request: Edit(shorten=dict(_cuts(request, SECRET))),
    "drops the oldest message": lambda request: drop(oldest_free(request).id),
    "raises ValueError": lambda request: _raise(ValueError("the plugin gave up")),
}
"""Interceptors that a case names with `does`."""


class Panic(BaseException):
    """What a native library throws when it gives up; no Exception."""


class Counter:
    """A tokenizer driver that counts as a function says."""

    profile = "o200k_base"
    approximate = False

    def __init__(self, version: str, answer: Callable[[str], Any]) -> None:
        self.version = version
        self._answer = answer

    def count(self, text: str) -> int:
        return self._answer(text)  # type: ignore[no-any-return]


COUNTERS: Mapping[str, Callable[[str], Any]] = {
    "answers 0": lambda text: 0,
    "answers 1": lambda text: 1,
    "answers a thousandth of the characters": lambda text: len(text) // 1000,
    "answers a negative number": lambda text: -5,
    "answers more than there are bytes": lambda text: 10 * len(text) + 1000,
    "answers a fraction": lambda text: len(text) / 4,
    "answers True": lambda text: True,
    "raises ValueError": lambda text: _raise(ValueError("no vocabulary for this")),
    "panics": lambda text: _raise(Panic("stack overflow")),
}
"""What a tokenizer driver does wrong → how it counts."""


def _cuts(request: Request, secret: str) -> Iterator[tuple[tuple[str, Path], list[Span]]]:
    for message in request.messages:
        for path, text in texts_of(message):
            at = text.find(secret)
            if at >= 0:
                yield (message.id, path), [(0, at), (at + len(secret), len(text))]


def _dig(request: Request) -> Any:
    return _dig(request)
