"""From a case to a call of `trimtab.fit`: what is passed, and how many tokens an expression stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import trimtab
from case_files import CODEC_OF, Case, Json, Key, copy_of
from case_plugins import INTERCEPTORS, STRATEGY_PLUGINS, Interceptor, Strategy, inserter

PROTECTED_REASONS = frozenset(
    {"system", "developer", "character", "persona", "required", "pinned", "current-input", "open-step"}
)
MODEL = "gpt-4o"
ROOMY = 10_000_000
STEP = 10

_PLACEHOLDERS = frozenset({"any", "any-chat-model"})
_COUNT = re.compile(r"count\(([^)]*)\)([+-]\d+)?")
_SWEEP = re.compile(rf"every value from (\S+) to (\S+) in steps of {STEP}")


@dataclass(frozen=True)
class Setup:
    """The arguments of one fit, as data. `plugins` are (kind, name, object) to register first."""

    case: Case
    messages: list[Json]
    model: str
    limit: int
    reserve: int = 0
    strategy: str = "truncate"
    pins: tuple[Key, ...] = ()
    excluded: tuple[Key, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    tools: list[Json] | None = None
    response_format: Mapping[str, Json] | None = None
    body: Mapping[str, Json] | None = None
    plugins: tuple[tuple[str, str, Any], ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def budget(self) -> int:
        return self.limit - self.reserve

    def key_of(self, at: int) -> Key:
        """Give the key of the message at a place of the input."""
        return str(self.messages[at]["id"]) if self.case.format == "neutral" else at

    def place_of(self, key: Key) -> int:
        """Give the place of a message in the input."""
        return next(at for at in range(len(self.messages)) if self.key_of(at) == key)

    def select(self, keys: Sequence[Key]) -> list[Json]:
        """Give the messages with these keys, in the order of the keys."""
        return [self.messages[self.place_of(key)] for key in keys]

    def without_plugins(self) -> Setup:
        """Give the setup with the strategy `truncate` and nothing registered."""
        return replace(self, strategy="truncate", plugins=(), config={})


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
        model=MODEL if settings["model"] in _PLACEHOLDERS else settings["model"],
        limit=ROOMY,
        strategy=settings["strategy"],
        pins=tuple(case.key(name) for name in settings.get("pins", ())),
        excluded=tuple(case.key(name) for name in settings.get("excluded", ())),
        settings={"shorten_messages": True} if settings.get("shorten_messages") else {},
        tools=case.data.get("tools"),
        response_format=settings.get("response_format"),
        body=settings.get("body"),
        plugins=plugins,
        config=_config(settings, plugins),
    )
    return _with_budget(setup, settings["budget"])


def _with_budget(setup: Setup, budget: Mapping[str, Json]) -> Setup:
    if "context_limit" in budget:
        limit = tokens(budget["context_limit"], setup)
        return replace(setup, limit=limit, reserve=tokens(budget.get("reserve", 0), setup))
    if str(budget["max_input"]).startswith("see expect."):
        return setup
    return replace(setup, limit=tokens(budget["max_input"], setup))


def _strategy_plugins(name: str) -> tuple[tuple[str, str, Any], ...]:
    return (("strategy", name, Strategy(STRATEGY_PLUGINS[name])),) if name in STRATEGY_PLUGINS else ()


def _config(settings: Mapping[str, Json], plugins: Sequence[tuple[str, str, Any]]) -> dict[str, Any]:
    config: dict[str, Any] = {"interceptors": [name for kind, name, _ in plugins if kind == "interceptor"]}
    if "may_redact_protected" in settings:
        config["may_redact_protected"] = settings["may_redact_protected"]
    if "seconds" in settings:
        config["limits"] = {"*": {"seconds": settings["seconds"]}}
    return config


def _interceptors(entries: Sequence[Json]) -> tuple[tuple[str, str, Interceptor], ...]:
    return tuple(("interceptor", entry["name"], _interceptor(entry)) for entry in entries)


def _interceptor(entry: Json) -> Interceptor:
    if "insert" in entry:
        return inserter(entry["insert"]["text"], entry["insert"]["anchor"])
    return Interceptor(INTERCEPTORS[entry["does"]])


def fit(setup: Setup) -> trimtab.Fit:
    """Call the product on the messages of the setup themselves, so that a change made to them is seen."""
    given = setup.messages if setup.body is None else {**setup.body, "messages": setup.messages}
    return trimtab.fit(
        given,
        model=setup.model,
        strategy=setup.strategy,
        context_limit=setup.limit,
        reserve=setup.reserve,
        pins=setup.pins,
        excluded=setup.excluded,
        tools=setup.tools,
        response_format=setup.response_format,
        format=CODEC_OF[setup.case.format],
        settings=setup.settings or None,
        config=trimtab.Config(**setup.config),
        registry=_registry(setup),
    )


def _registry(setup: Setup) -> trimtab.ContextStrategyRegistry:
    registry = trimtab.ContextStrategyRegistry()
    register = {
        "strategy": registry.register,
        "interceptor": registry.register_interceptor,
        "tokenizer": registry.register_tokenizer,
    }
    for kind, name, plugin in setup.plugins:
        register[kind](name, plugin)
    return registry


def recount(setup: Setup, messages: list[Json]) -> int:
    """Give the product's own count of a request with just these messages."""
    return _alone(setup, messages).tokens_after


def _alone(setup: Setup, messages: list[Json]) -> trimtab.Fit:
    bare = replace(setup.without_plugins(), pins=(), excluded=())
    return fit(replace(bare, messages=copy_of(messages), limit=ROOMY, reserve=0))


def protected_keys(setup: Setup) -> tuple[Key, ...]:
    """Give the keys of what the product protects, in order."""
    roomy = fit(replace(setup.without_plugins(), limit=ROOMY, reserve=0, excluded=()))
    return tuple(setup.key_of(entry.index or 0) for entry in roomy.kept if entry.reason in PROTECTED_REASONS)


def budgets(value: Json, setup: Setup) -> list[int]:
    """Give the budgets that `for_each_budget` stands for: a list, a sweep, or figures joined by "and"."""
    if isinstance(value, list):
        return [tokens(item, setup) for item in value]
    sweep = _SWEEP.fullmatch(value)
    if sweep:
        first, last = (tokens(bound, setup) for bound in sweep.groups())
        return [*range(first, last, STEP), last]
    return [tokens(item, setup) for item in value.split(" and ")]


def tokens(value: Json, setup: Setup) -> int:
    """Give the limit that a figure or an expression such as `count(m0,m5)+4` stands for, in tokens."""
    if isinstance(value, int) or value.isdigit():
        return int(value)
    match = _COUNT.fullmatch(value)
    if match is None:
        raise ValueError(f"no budget expression: {value!r}")
    names, shift = match.groups()
    alone = _alone(setup, _named(names, setup))
    return _with_margin(alone.tokens_after + int(shift or 0), alone.budget)


def _with_margin(wanted: int, budget: trimtab.Budget) -> int:
    """Give the limit that leaves `wanted` tokens; an approximate profile takes its margin from it."""
    return wanted + -(-wanted * budget.margin // budget.available)


def _named(names: str, setup: Setup) -> list[Json]:
    if names == "all":
        return setup.messages
    if names == "protected":
        return setup.select(protected_keys(setup))
    return setup.select([setup.case.key(name) for name in names.split(",")])
