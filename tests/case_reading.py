"""From the settings of a case to the arguments of a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from case_budgets import ROOMY, tokens
from case_files import Case, Json
from case_formats import MODELS
from case_plugins import INTERCEPTORS, STRATEGY_PLUGINS, inserter, interceptor, strategy
from case_setup import Registered, Setup
from factories import Interceptor

_SETTINGS_READ = frozenset(
    {
        "budget",
        "model",
        "strategy",
        "pins",
        "excluded",
        "shorten_messages",
        "interceptors",
        "body",
        "response_format",
        "may_redact_protected",
        "seconds",
        "target",
    }
)


def setup_of(case: Case) -> Setup:
    """Read a case. Its limit is that of `settings.budget`, or no limit to speak of where `expect` sets it."""
    settings = case.settings
    unread = settings.keys() - _SETTINGS_READ
    if unread:
        raise KeyError(f"{case.file}: settings the runner does not read: {sorted(unread)}")
    plugins = (*_strategy_plugins(settings["strategy"]), *_interceptors(settings.get("interceptors", ())))
    setup = Setup(
        case=case,
        messages=case.messages,
        model=MODELS.get(settings["model"], settings["model"]),
        limit=ROOMY,
        head=case.head,
        strategy=settings["strategy"],
        pins=tuple(case.key(name) for name in settings.get("pins", ())),
        excluded=tuple(case.key(name) for name in settings.get("excluded", ())),
        settings={"shorten_messages": True} if settings.get("shorten_messages") else {},
        tools=case.data.get("tools"),
        response_format=settings.get("response_format"),
        body=settings.get("body"),
        plugins=plugins,
        config=_config(settings, plugins),
        target=settings.get("target"),
    )
    return _with_budget(setup, settings["budget"])


def _with_budget(setup: Setup, budget: Mapping[str, Json]) -> Setup:
    if "context_limit" in budget:
        limit = tokens(budget["context_limit"], setup)
        return replace(setup, limit=limit, reserve=tokens(budget.get("reserve", 0), setup))
    if str(budget["max_input"]).startswith("see expect."):
        return setup
    return replace(setup, limit=tokens(budget["max_input"], setup))


def _strategy_plugins(name: str) -> tuple[Registered, ...]:
    return (("strategy", name, strategy(STRATEGY_PLUGINS[name])),) if name in STRATEGY_PLUGINS else ()


def _config(settings: Mapping[str, Json], plugins: Sequence[Registered]) -> dict[str, Any]:
    config: dict[str, Any] = {"interceptors": [name for kind, name, _ in plugins if kind == "interceptor"]}
    if "may_redact_protected" in settings:
        config["may_redact_protected"] = settings["may_redact_protected"]
    if "seconds" in settings:
        config["limits"] = {"*": {"seconds": settings["seconds"]}}
    return config


def _interceptors(entries: Sequence[Json]) -> tuple[Registered, ...]:
    return tuple(("interceptor", entry["name"], _interceptor(entry)) for entry in entries)


def _interceptor(entry: Json) -> Interceptor:
    if "insert" in entry:
        return inserter(entry["insert"]["text"], entry["insert"]["anchor"])
    return interceptor(INTERCEPTORS[entry["does"]])
