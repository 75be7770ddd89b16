"""Whole fits with a plugin: what a host makes of it, single and turn after turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab.api import fit
from trimtab.config import Config, Interceptor
from trimtab.conformance.corpus import FORMAT, Chat, talk
from trimtab.conformance.requests import SUBJECT, Case, context_of
from trimtab.conversation import Conversation
from trimtab.fitting.budget import MARGIN_SHARE
from trimtab.loading.plugins import SHIFT
from trimtab.loading.registry import ContextStrategyRegistry
from trimtab.report import Fit, PluginCall

MODEL = "kit"
TURNS = 30
_START = 40


@dataclass(frozen=True, slots=True)
class Fitting:
    """A plugin in a registry of its own, ready for fits."""

    hook: str
    settings: Mapping[str, object]
    registry: ContextStrategyRegistry
    config: Config

    @property
    def is_strategy(self) -> bool:
        """Whether the plugin is the strategy of the fits, not their interceptor."""
        return self.hook == SHIFT

    @property
    def cuts_now_and_then(self) -> bool:
        """Whether the plugin is a strategy that is called only when the conversation is over its budget."""
        return self.is_strategy and not self.registry.strategy(SUBJECT, self.config).traits.per_turn

    def fit(self, case: Case) -> Fit:
        """Fit the conversation of a case into its budget."""
        return self.fit_again(case.chat.wire, case.budget)

    def fit_again(self, messages: object, budget: int) -> Fit:
        """Fit neutral messages into a budget of tokens."""
        return fit(
            messages,
            model=MODEL,
            context_limit=_limit(budget),
            reserve=0,
            format=FORMAT,
            strategy=SUBJECT if self.is_strategy else "truncate",
            settings=self.settings if self.is_strategy else None,
            registry=self.registry,
            config=self.config,
        )

    def conversation(self, messages: Sequence[object], budget: int) -> Conversation:
        """Give a conversation that is fitted turn after turn."""
        return Conversation(
            list(messages),
            model=MODEL,
            context_limit=_limit(budget),
            reserve=0,
            format=FORMAT,
            strategy=SUBJECT if self.is_strategy else "truncate",
            settings=self.settings if self.is_strategy else None,
            registry=self.registry,
            config=self.config,
        )

    def turns(self) -> Iterator[Fit]:
        """Give the fits of 30 turns of a conversation that is over its budget after a few of them."""
        whole = Chat("turns", talk(_START + 2 * TURNS))
        budget = context_of(Chat("start", talk(_START + 6))).total
        chat = self.conversation(whole.wire[: _START + 1], budget)
        for at in range(_START + 1, _START + 1 + 2 * TURNS, 2):
            yield chat.fit()
            chat.append(*whole.wire[at : at + 2])
        chat.close()


def make_fitting(
    subject: object, *, hook: str, settings: Mapping[str, object], may_redact: bool = False
) -> Fitting:
    """Register a plugin for fits. Raises PluginLoadError when it is none."""
    registry = ContextStrategyRegistry()
    models: dict[str, dict[str, object]] = {MODEL: {"encoding": "approximate-v1", "context_limit": 1_000_000}}
    if hook == SHIFT:
        registry.register(SUBJECT, subject)
        return Fitting(hook, settings, registry, Config(models=models, interceptors=()))
    registry.register_interceptor(SUBJECT, subject)
    config = Config(
        models=models,
        interceptors=(Interceptor(name=SUBJECT, settings=dict(settings)),),
        may_redact_protected=(SUBJECT,) if may_redact else (),
    )
    return Fitting(hook, settings, registry, config)


def own_call(result: Fit) -> PluginCall | None:
    """Give the record of the plugin's call in a fit, None when it was not due."""
    return next((call for call in result.calls if call.plugin == SUBJECT), None)


def was_used(result: Fit) -> bool:
    """Tell whether the plugin was called and its answer used."""
    call = own_call(result)
    return call is not None and not call.rejected


def _limit(budget: int) -> int:
    """The smallest context limit that leaves `budget` tokens after the margin of an approximate count."""
    return -(-budget * MARGIN_SHARE // (MARGIN_SHARE - 1))
