"""Running a case: every variant it asks for, each one fit or one conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from case_budgets import budgets, tokens
from case_files import Case, Json
from case_plugins import COUNTERS, FAULTY, Counter, strategy
from case_reading import setup_of
from case_run import Run, run_fit
from case_setup import Setup
from case_steps import run_steps
from case_targets import in_format

VARIANTS = (
    "for_each_budget",
    "for_each_counter",
    "for_each_plugin",
    "for_each_strategy",
    "runs",
    "steps",
    "targets",
)
"""The fields of `expect` that say what to run; all others say what to check."""


def run_case(case: Case) -> list[Run]:
    """Run a case in every variant it asks for, and in each of the formats it names as targets."""
    return list(_runs(case))


def _runs(case: Case) -> Iterator[Run]:
    steps = case.expect.get("steps")
    for codec in case.expect.get("targets", ()):
        target, origin = in_format(case, codec)
        for label, setup, expect in _variants(target):
            yield run_fit(setup, f"{codec} {label}", expect, origin)
    if "targets" in case.expect:
        return
    for label, setup, expect in _variants(case):
        if steps is None:
            yield run_fit(setup, label, expect)
        else:
            yield from run_steps(setup, label, expect, steps)


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
