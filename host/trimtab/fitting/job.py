"""One fit with everything resolved: what the pipeline works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trimtab.config import Config
from trimtab.fitting.account import PluginKey
from trimtab.fitting.binding import Binding
from trimtab.fitting.budget import BudgetRule
from trimtab.fitting.calling import PluginCaller
from trimtab.fitting.carrying import Carried
from trimtab.fitting.conduct import Conduct
from trimtab.fitting.counting import Counter
from trimtab.fitting.stability import Stage
from trimtab.loading.plugins import INTERCEPT, SHIFT, Plugin
from trimtab.report import Budget, Diagnostic
from trimtab_sdk.codec import Codec, Originals
from trimtab_sdk.counting import Cost
from trimtab_sdk.messages import Message
from trimtab_sdk.protection import Tail


@dataclass(frozen=True, slots=True)
class Step:
    """A plugin that will be called, the settings it gets and the counter that answers it."""

    plugin: Plugin
    settings: Mapping[str, object]
    counter: Counter


@dataclass(frozen=True, slots=True)
class Setup:
    """What stays the same from fit to fit of one conversation.

    - `budget` is what `rule` makes of the limit; `overhead` is what the request costs besides its messages.
    - `target` is what a strategy brings the total down to, in tokens.
    - `scope` is the key of the conversation or tenant, None when each fit stands alone; `conduct` is how plugins
      behaved in it.
    """

    model: str
    codec: Codec
    counter: Counter
    overhead: Cost
    budget: Budget
    rule: BudgetRule
    target: int
    config: Config
    caller: PluginCaller
    strategy: Step
    interceptors: tuple[Step, ...] = ()
    notes: tuple[Diagnostic, ...] = ()
    scope: str | None = None
    conduct: Conduct = field(default_factory=Conduct, compare=False)

    @property
    def counting(self) -> tuple[str, ...]:
        """All that the cost of a message depends on besides the message: codec, model, tokenizer, its version.

        A last word tells whether texts are counted approximately, also by a tokenizer that was caught lying.
        """
        info = self.counter.info(frozenset(), images=False)
        counted = "approximate" if info.approximate else "exact"
        return self.codec.name, self.rule.model.name, info.profile, info.version, counted

    @property
    def watched(self) -> tuple[PluginKey, ...]:
        """The plugins that are called on every turn and are not built in."""
        plugins = [(step.plugin.origin, INTERCEPT) for step in self.interceptors if not step.plugin.is_built_in]
        strategy = self.strategy.plugin
        if strategy.traits.per_turn and not strategy.is_built_in:
            plugins.append((strategy.origin, SHIFT))
        return tuple(plugins)


@dataclass(frozen=True, slots=True)
class Job:
    """One fit: the messages that are still in play, and what is known of them.

    - `places` is id → index in the input, negative for what stands in fields of its own.
    - `pins` and `excluded` are ids. `tail` is how the whole conversation ends, None when these messages are it.
    - `costs` are known already; `carried` is the edit of the fits before, whose dropped messages are not here.
    - `since` is id → index, for messages that may be left out: all that stands there or behind was said without
      that message.
    - `binding` knows on which prefixes reasoning was made; None where the server does not ask.
    - `stages` names the plugins that broke the prefix too often in the fits before.
    """

    setup: Setup
    messages: tuple[Message, ...]
    originals: Originals
    places: Mapping[str, int]
    pins: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    tail: Tail | None = None
    costs: Mapping[str, Cost] | None = None
    carried: Carried | None = None
    stages: Mapping[PluginKey, Stage] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)
    binding: Binding | None = field(default=None, compare=False)
    on_progress: Callable[[int, int], None] | None = field(default=None, compare=False)
