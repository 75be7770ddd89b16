"""Running a case: every variant it asks for, each one fit, with what came of it."""

from __future__ import annotations

import contextlib
import socket
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from case_budgets import budgets, tokens
from case_files import Case, Json, Key, copy_of, dump
from case_plugins import COUNTERS, FAULTY, Counter, strategy
from case_reading import setup_of
from case_setup import Setup, fit
from trimtab import Fit
from trimtab.report import Entry
from trimtab_sdk import TrimtabError

VARIANTS = ("for_each_budget", "for_each_counter", "for_each_plugin", "for_each_strategy", "runs")
"""The fields of `expect` that say what to run; all others say what to check."""


@dataclass(frozen=True)
class Run:
    """One fit of a case, and what is expected of it. `before` is a dump of the input as it was."""

    label: str
    setup: Setup
    expect: Mapping[str, Json]
    result: Fit | TrimtabError
    before: str
    seconds: float
    connections: int

    @property
    def fit(self) -> Fit:
        """The fit; an assertion fails when the run ended in an error."""
        assert isinstance(self.result, Fit), f"{self.label}: {self.result!r}"
        return self.result

    @property
    def error(self) -> TrimtabError:
        """The error; an assertion fails when the run went well."""
        assert isinstance(self.result, TrimtabError), f"{self.label}: no error came"
        return self.result

    @property
    def has_extras(self) -> bool:
        """Whether the request holds more than messages: tools or a response format."""
        body = self.setup.body or {}
        return any((self.setup.tools, self.setup.response_format, body.get("tools"), body.get("response_format")))

    @property
    def case(self) -> Case:
        return self.setup.case

    @property
    def messages(self) -> list[Json]:
        """The messages as they would be sent."""
        return list(self.fit.messages)

    def keys(self, entries: Sequence[Entry]) -> list[Key]:
        """Give the keys of report entries; an inserted text has its id."""
        return [entry.id if entry.index is None else self.setup.key_of(entry.index) for entry in entries]

    def entry(self, key: Key) -> Entry:
        """Give the report entry of an input message."""
        fit = self.fit
        found = [e for e in (*fit.kept, *fit.excluded, *fit.truncated) if e.index == self.setup.place_of(key)]
        assert len(found) == 1, f"{self.label}: {key} has {len(found)} entries"
        return found[0]

    def given(self, key: Key) -> Json:
        """Give an input message."""
        return self.setup.messages[self.setup.place_of(key)]

    def sent(self) -> list[Key | None]:
        """Give the key of each message that is sent; None for one that equals no kept input message."""
        if self.case.format == "neutral":
            return [message["id"] for message in self.messages]
        waiting: dict[str, deque[Key]] = {}
        for key in self.keys(self.fit.kept):
            waiting.setdefault(dump(self.given(key)), deque()).append(key)
        found = (waiting.get(dump(message)) for message in self.messages)
        return [keys.popleft() if keys else None for keys in found]

    def named(self, code: str) -> set[str]:
        """Give the ids that the diagnostics with a code name."""
        return {name for diagnostic in self.fit.diagnostics if diagnostic.code == code for name in diagnostic.ids}

    def blamed(self) -> set[tuple[str, str]]:
        """Give the plugins that the diagnostics name, each with the code."""
        return {(one.plugin, one.code) for one in self.fit.diagnostics if one.plugin}

    def again(self, **changes: Any) -> Fit:
        """Fit once more with something changed."""
        return fit(replace(self.setup, **changes))


def run_case(case: Case) -> list[Run]:
    """Run a case in every variant it asks for."""
    return [_run(setup, label, expect) for label, setup, expect in _variants(case)]


def _variants(case: Case) -> Iterator[tuple[str, Setup, Mapping[str, Json]]]:
    expect = {field: value for field, value in case.expect.items() if field not in ("facts", *VARIANTS)}
    if expect["outcome"] == "two_inputs":
        yield from _two_inputs(case, expect)
        return
    setup = setup_of(case)
    if expect["outcome"] == "two_runs":
        for own in case.expect["runs"]:
            limit = tokens(own["max_input"], setup)
            yield f"max_input {limit}", replace(setup, limit=limit), {**expect, **_without(own, "max_input")}
        return
    for label, variant in _each(setup, case.expect):
        yield label, variant, expect


def _two_inputs(case: Case, expect: Mapping[str, Json]) -> Iterator[tuple[str, Setup, Mapping[str, Json]]]:
    """The list may be empty in one of the two; whether that is an error is the product's choice."""
    for key in ("messages", "messages_b"):
        setup = setup_of(case.with_data(messages=case.data[key]))
        yield key, setup, {**expect, "outcome": "ok" if setup.messages else "ok_or_error"}


def _each(setup: Setup, expect: Mapping[str, Json]) -> Iterator[tuple[str, Setup]]:
    for name in expect.get("for_each_strategy", [setup.strategy]):
        for label, plugged in _plugged(replace(setup, strategy=name), expect):
            limits = budgets(expect["for_each_budget"], plugged) if "for_each_budget" in expect else [setup.limit]
            for limit in limits:
                yield f"{name} {label} {limit}", replace(plugged, limit=limit)


def _plugged(setup: Setup, expect: Mapping[str, Json]) -> Iterator[tuple[str, Setup]]:
    if not {"for_each_plugin", "for_each_counter"} & expect.keys():
        yield "", setup
    for fault in expect.get("for_each_plugin", ()):
        for number, answer in enumerate(FAULTY[fault]):
            plugin = ("strategy", setup.strategy, strategy(answer))
            yield f"{fault} ({number})", replace(setup, plugins=(*setup.plugins, plugin))
    for fault in expect.get("for_each_counter", ()):
        driver = ("tokenizer", Counter.profile, Counter(fault, COUNTERS[fault]))
        yield fault, replace(setup, plugins=(*setup.plugins, driver))


def _without(mapping: Mapping[str, Json], key: str) -> dict[str, Json]:
    return {name: value for name, value in mapping.items() if name != key}


def _run(setup: Setup, label: str, expect: Mapping[str, Json]) -> Run:
    setup = replace(setup, messages=copy_of(setup.messages))
    before = dump(setup.messages)
    with _no_network() as connections:
        started = time.perf_counter()
        result = _result(setup)
        seconds = time.perf_counter() - started
    return Run(f"{setup.case.file} [{label}]", setup, expect, result, before, seconds, len(connections))


def _result(setup: Setup) -> Fit | TrimtabError:
    try:
        return fit(setup)
    except TrimtabError as error:
        return error


@contextlib.contextmanager
def _no_network() -> Iterator[list[object]]:
    """Refuse and count every connection."""
    attempts: list[object] = []

    def refuse(self: socket.socket, address: object) -> None:
        attempts.append(address)
        raise OSError(f"no connection is made while cases run, not to {address!r} either")

    with mock.patch.multiple(socket.socket, connect=refuse, connect_ex=refuse):
        yield attempts
