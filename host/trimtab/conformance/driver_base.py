"""What the contracts of all drivers share: made as a host makes it, no network, time, examples."""

from __future__ import annotations

import math
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple, NoReturn, ParamSpec, TypeAlias, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.conformance.base import Contract
from trimtab.loading.discovery import is_name
from trimtab_sdk.provider import Credential

Example = TypeVar("Example")
Given = ParamSpec("Given")
Faults: TypeAlias = Iterable[str]

_GROWTH = 40.0
_TOO_QUICK = 0.05
_PARTS: dict[str, tuple[Callable[[object], bool], str]] = {
    "name": (lambda value: type(value) is str and is_name(value), "a name of a-z, 0-9, dot, dash and underscore"),
    "text": (lambda value: type(value) is str and value.strip() != "" and value.isprintable(), "a line of text"),
    "line": (
        lambda value: type(value) is str and (not value or value.isprintable()),
        "a line of text, or an empty one",
    ),
    "schema": (lambda value: value is None or isinstance(value, Mapping), "a JSON schema as a dict, or None"),
    "credential": (lambda value: isinstance(value, Credential), "a trimtab_sdk.Credential"),
    "flag": (lambda value: type(value) is bool, "True or False"),
    "time": (lambda value: value is None or _is_time(value), "a number of seconds above 0, or None"),
    "size": (lambda value: type(value) is int and value > 0, "a whole number above 0"),
    "method": (callable, "a method"),
}


def _is_time(value: object) -> bool:
    return (type(value) is int or type(value) is float) and 0 < value < math.inf


class Outcome(NamedTuple):
    """What a call gave: a value, or the error it ended in. A native library's panic is an error too."""

    value: object = None
    error: BaseException | None = None


class NetworkRefusedError(RuntimeError):
    """A driver wanted the network while it was being tested."""


class Door:
    """Refuses every socket and remembers in `knocks` who asked for one."""

    def __init__(self, knocks: list[str]) -> None:
        self.knocks = knocks

    def close(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Refuse sockets, connections and addresses from now on, until the monkeypatch is undone."""
        monkeypatch.setattr(socket.socket, "__init__", self._refuse)
        for name in ("create_connection", "create_server", "getaddrinfo", "gethostbyname"):
            monkeypatch.setattr(socket, name, self._refuse)

    def _refuse(self, *args: object, **options: object) -> NoReturn:
        frame = next(one for one in reversed(traceback.extract_stack()[:-1]) if one.filename != socket.__file__)
        self.knocks.append(f"the network was used in {frame.name}, {frame.filename}:{frame.lineno}")
        raise NetworkRefusedError("this driver must not use the network")


class DriverContract(Contract):
    """The base of the contracts of drivers.

    The subject may be an instance or a class, as in an entry point; a class is called without arguments.

    `parts` names what the protocol demands, each with its kind. `examples` is how many generated inputs a rule
    is tried on.
    """

    parts: ClassVar[dict[str, str]] = {}
    examples: int = 25

    # For the class, not for the test: a driver may try the network once and never again.
    _knocks: ClassVar[dict[type, list[str]]] = {}

    @property
    def may_use_network(self) -> bool:
        """Whether sockets are allowed while the driver works."""
        return False

    @pytest.fixture(autouse=True)
    def door(self, monkeypatch: pytest.MonkeyPatch) -> Door:
        """What refuses the network in every test, also while a subject of function scope is made."""
        door = Door(self._knocks.setdefault(type(self), []))
        if not self.may_use_network:
            door.close(monkeypatch)
        return door

    @pytest.fixture
    def made(self, subject: object, door: Door) -> object:
        """The subject, or what its class gives."""
        return subject() if isinstance(subject, type) else subject

    def whole(self, made: object) -> None:
        """End the running test unless the driver has all its parts."""
        if any(part_faults(made, self.parts)):
            self.not_judged("the driver lacks a part; mend test_has_all_its_parts first")

    def test_has_all_its_parts(self, made: object) -> None:
        """Give the driver every attribute and method of its protocol in `trimtab_sdk`, each of the right type.

        A host reads them before it uses the driver, and checks types exactly, since a subclass could lie.
        """
        self.judge(part_faults(made, self.parts))

    def judge_examples(self, examples: st.SearchStrategy[Example], faults: Callable[[Example], Faults]) -> None:
        """Judge generated input, the same in every run; the smallest that shows a fault is told."""
        __tracebackhide__ = True

        @settings(
            max_examples=self.examples,
            derandomize=True,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        @given(example=examples)
        def holds(example: Example) -> None:
            __tracebackhide__ = True
            self.judge(faults(example))

        holds()


def part_faults(driver: object, parts: dict[str, str]) -> Iterator[str]:
    """Tell which parts of a driver are missing or of the wrong type."""
    for name, kind in parts.items():
        holds, words = _PARTS[kind]
        got = outcome_of(getattr, driver, name)
        if got.error is not None:
            yield f"`{name}` cannot be read ({shown(got.error)}); it must be {words}"
        elif not holds(got.value):
            yield f"`{name}` is {got.value!r:.80}; it must be {words}"


def outcome_of(call: Callable[Given, object], *args: Given.args, **options: Given.kwargs) -> Outcome:
    """Give what a call gave or raised, whatever it raised."""
    try:
        return Outcome(call(*args, **options))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Outcome(error=error)


def shown(error: BaseException) -> str:
    """Give an error on one short line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def cost_in_seconds(work: Callable[[], object], *, times: int = 3) -> float:
    """Give the processor time of the quickest of some runs, so that a busy machine changes little."""
    return min(_seconds(work) for _ in range(times))


def growth_faults(what: str, few: float, many: float) -> Iterator[str]:
    """Tell when ten times the input took far more than ten times the time; both in seconds."""
    if many > max(_TOO_QUICK, _GROWTH * few):
        yield f"{what}: ten times the input took {many / max(few, 1e-6):.0f} times as long ({many:.2f} s)"


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
