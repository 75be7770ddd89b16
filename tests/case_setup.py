"""The arguments of a fit as data, and the calls themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import trimtab
from case_files import Case, Json, Key
from case_formats import HEAD, WIRES, Wire
from trimtab.report import Entry

Registered: TypeAlias = tuple[str, str, Any]
"""A plugin to register: strategy, interceptor or tokenizer, its name, the object."""


@dataclass(frozen=True)
class Setup:
    """The arguments of one fit. `head` is the system text that stands in a field of its own, None for none.

    `target` is that of a conversation; a single fit has none.
    """

    case: Case
    messages: list[Json]
    model: str
    limit: int
    head: Json = None
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
    target: float | None = None

    @property
    def budget(self) -> int:
        return self.limit - self.reserve

    @property
    def wire(self) -> Wire:
        return WIRES[self.case.format]

    @property
    def given(self) -> Json:
        """What is handed to the product: the messages, or a body with these very messages in it."""
        if self.body is None and self.head is None:
            return self.messages
        head = {} if self.head is None else {self.wire.head_key: self.head}
        return {**(self.body or {}), **head, self.wire.list_key: self.messages}

    @property
    def keys(self) -> list[Key]:
        """The keys of the whole input, in order."""
        head: list[Key] = [] if self.head is None else [HEAD]
        return [*head, *map(self.key_of, range(len(self.messages)))]

    def key_of(self, at: int) -> Key:
        """Give the key of the message at a place of the input."""
        return str(self.messages[at]["id"]) if self.case.format == "neutral" else at

    def place_of(self, key: Key) -> int:
        """Give the place of a message in the input."""
        return next(at for at in range(len(self.messages)) if self.key_of(at) == key)

    def select(self, keys: Sequence[Key]) -> list[Json]:
        """Give the messages with these keys, in the order of the keys. The head is none of them."""
        return [self.messages[self.place_of(key)] for key in keys if self.head is None or key != HEAD]

    def without_plugins(self) -> Setup:
        """Give the setup with the strategy `truncate` and nothing registered."""
        return replace(self, strategy="truncate", plugins=(), config={})


def key_of_entry(setup: Setup, entry: Entry) -> Key:
    """Give the key of a report entry; an inserted text has its id."""
    if entry.index is not None:
        return setup.key_of(entry.index)
    return HEAD if setup.head is not None and entry.id == setup.wire.head_id else entry.id


def fit(setup: Setup) -> trimtab.Fit:
    """Call the product on the messages of the setup themselves, so that a change made to them is seen."""
    return trimtab.fit(setup.given, **_options(setup))


def converse(setup: Setup) -> trimtab.Conversation:
    """Open a conversation on the messages of the setup."""
    options = _options(setup)
    if setup.target is not None:
        options["target"] = setup.target
    return trimtab.Conversation(setup.given, **options)


def _options(setup: Setup) -> dict[str, Any]:
    return {
        "model": setup.model,
        "strategy": setup.strategy,
        "context_limit": setup.limit,
        "reserve": setup.reserve,
        "pins": tuple(_name(setup, key) for key in setup.pins),
        "excluded": tuple(_name(setup, key) for key in setup.excluded),
        "tools": setup.tools,
        "response_format": setup.response_format,
        "format": setup.wire.codec,
        "settings": setup.settings or None,
        "config": trimtab.Config(**setup.config),
        "registry": _registry(setup),
    }


def _name(setup: Setup, key: Key) -> Key:
    return setup.wire.head_id if key == HEAD and setup.head is not None else key


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
