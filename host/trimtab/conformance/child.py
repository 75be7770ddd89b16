"""The child process of `trimtab conform`: the contract of one plugin, and a line of JSON for each of its rules.

It is a plugin of pytest. The folder that pytest is rooted in holds the order, and gets what the rules came to.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from trimtab.config import Config
from trimtab.conformance.base import NOT_CLAIMED, NOT_JUDGED, Contract, advice_of
from trimtab.conformance.confined_subject import UNSEEN, confined_subject
from trimtab.conformance.orders import ORDER, TOLD, Order, Outcome, contract_of, order_from
from trimtab.loading.discovery import Installed, find
from trimtab.loading.drivers import load_driver, load_object
from trimtab.loading.plugins import Plugin
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab_sdk.errors import Origin, PluginError, PluginLoadError, TrimtabError

_ADVICE = "\n\nWhat to do: "
_SHOWN = 4_000
_FIRST_RULES = frozenset({"test_is_a_plugin", "test_has_all_its_parts"})


def contract_from(folder: Path) -> type:
    """Give the contract class for the order in a folder; its name makes pytest collect it."""
    order = order_from((folder / ORDER).read_text("utf-8"))
    contract = contract_of(order.kind)
    unkept = {rule: _unkept(getattr(contract, rule), reason) for rule, reason in order.xfails.items()}
    body = {"__module__": "ordered", "subject": pytest.fixture(_subject_of(order)), **order.claims, **unkept}
    return type("TestContract", (contract,), body)


def _unkept(rule: Callable[..., object], reason: str) -> Callable[..., object]:
    @functools.wraps(rule)
    def again(*args: object, **fixtures: object) -> object:
        return rule(*args, **fixtures)

    marked: Callable[..., object] = pytest.mark.xfail(reason=reason, strict=True)(again)
    return marked


def _subject_of(order: Order) -> Callable[..., Iterator[object]]:
    config = Config(**order.config)

    @functools.cache
    def loaded() -> Plugin | PluginError:
        return _load_confined(order, config)

    def confined(self: object) -> Iterator[object]:
        made = confined_subject(loaded(), config)
        yield made
        made.close()

    def here(self: Contract, request: pytest.FixtureRequest) -> Iterator[object]:
        try:
            made = _load_here(order, config)
        except TrimtabError as error:
            if request.function.__name__ not in _FIRST_RULES:
                self.not_judged("it could not be loaded")
            pytest.fail(error.message, pytrace=False)
        yield made

    return confined if order.confined else here


def _load_confined(order: Order, config: Config) -> Plugin | PluginError:
    load = DEFAULT_REGISTRY.strategy if order.kind == "strategy" else DEFAULT_REGISTRY.interceptor
    try:
        return load(order.name, config)
    except PluginError as error:
        return error


def _load_here(order: Order, config: Config) -> object:
    row = _ready(order, config)
    return load_object(row) if order.kind in ("strategy", "interceptor") else load_driver(row)


def _ready(order: Order, config: Config) -> Installed:
    row = find(order.group, order.name, config=config)
    if row is None or row.status != "ready" or row.trust not in ("built-in", "trusted"):
        reason = "it is not there any more" if row is None else row.reason or "it is not trusted"
        raise PluginLoadError(f"cannot run: {reason}", origin=Origin(order.name))
    return row


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tell all rules, and take out of judgement what cannot be seen from outside of a worker."""
    order = order_from((config.rootpath / ORDER).read_text("utf-8"))
    for item in items:
        _tell(config, {"rule": _rule(item), "outcome": "not-run", "advice": _advice(item)})
        reason = UNSEEN.get(_rule(item)) if order.confined else None
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=f"{NOT_JUDGED}: {reason}"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Tell which rule runs, should it be the last."""
    _tell(item.config, {"rule": _rule(item), "outcome": "began"})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell what a rule came to."""
    report = yield
    if report.when == "call" or not report.passed:
        _tell(item.config, _row(item, call, report))
    return report


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Tell that the run has come to its end."""
    _tell(session.config, {"ended": int(exitstatus)})


def _tell(config: pytest.Config, row: dict[str, object]) -> None:
    with (config.rootpath / TOLD).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, default=str) + "\n")


def _row(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> dict[str, object]:
    advice = _advice(item)
    outcome, words = _outcome(call, report)
    return {
        "rule": _rule(item),
        "outcome": outcome,
        "words": words.removesuffix(f"{_ADVICE}{advice}")[:_SHOWN],
        "advice": advice,
        "seconds": round(report.duration, 3),
        "measures": dict(report.user_properties),
    }


def _advice(item: pytest.Item) -> str:
    return advice_of(getattr(item, "function", _advice))


def _rule(item: pytest.Item) -> str:
    return str(getattr(item, "originalname", item.name))


def _outcome(call: pytest.CallInfo[None], report: pytest.TestReport) -> tuple[Outcome, str]:
    if report.passed:
        return "passed", ""
    if hasattr(report, "wasxfail"):
        return "expected-failure", str(report.wasxfail)
    if report.skipped:
        return _skipped(str(call.excinfo.value) if call.excinfo is not None else "")
    if call.excinfo is None:
        return "failed", f"it is kept by now, so take the xfail back ({report.longrepr})"
    return "failed", _words(call.excinfo.value)


def _skipped(reason: str) -> tuple[Outcome, str]:
    for outcome in (NOT_CLAIMED, NOT_JUDGED):
        if reason.startswith(f"{outcome}: "):
            return cast("Outcome", outcome.replace(" ", "-")), reason.removeprefix(f"{outcome}: ")
    return "not-judged", reason


def _words(error: BaseException) -> str:
    said = str(error)
    return said if isinstance(error, AssertionError | pytest.fail.Exception) else f"{type(error).__name__}: {said}"
