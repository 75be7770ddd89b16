"""One fit with everything resolved: what the pipeline works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from trimtab.config import Config
from trimtab.fitting.budget import BudgetRule
from trimtab.fitting.calling import PluginCaller
from trimtab.fitting.counting import Counter
from trimtab.loading.plugins import Plugin
from trimtab.report import Budget
from trimtab_sdk.codec import Codec, Decoded
from trimtab_sdk.counting import Cost


@dataclass(frozen=True, slots=True)
class Step:
    """A plugin that will be called, the settings it gets and the counter that answers it."""

    plugin: Plugin
    settings: Mapping[str, object]
    counter: Counter


@dataclass(frozen=True, slots=True)
class Job:
    """One fit.

    - `budget` is what `rule` makes of the limit.
    - `pins` and `excluded` are ids; `overhead` is what the request costs besides its messages.
    - `target` is what a strategy brings the total down to, in tokens.
    """

    codec: Codec
    decoded: Decoded
    counter: Counter
    overhead: Cost
    budget: Budget
    rule: BudgetRule
    target: int
    config: Config
    caller: PluginCaller
    strategy: Step
    interceptors: tuple[Step, ...] = ()
    pins: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()
    on_progress: Callable[[int, int], None] | None = field(default=None, compare=False)
