"""The arguments of a fit as data, and the call itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import trimtab
from case_files import CODEC_OF, Case, Json, Key

Registered: TypeAlias = tuple[str, str, Any]
"""A plugin to register: strategy, interceptor or tokenizer, its name, the object."""


@dataclass(frozen=True)
class Setup:
    """The arguments of one fit."""

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
    plugins: tuple[Registered, ...] = ()
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
    register: dict[str, Callable[[str, Any], object]] = {
        "strategy": registry.register,
        "interceptor": registry.register_interceptor,
        "tokenizer": partial(registry.register_tokenizer, replace=True),
    }
    for kind, name, plugin in setup.plugins:
        register[kind](name, plugin)
    return registry
