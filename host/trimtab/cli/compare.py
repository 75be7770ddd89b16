"""`trimtab fit --compare`: the same conversation fitted by every strategy that is ready."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from trimtab.cli.failures import exit_code, tell_failure
from trimtab.cli.screen import clean, console_for
from trimtab_sdk.errors import PluginError, TokenBudgetExceededError, TrimtabError

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.plugins import Plugin
    from trimtab.loading.registry import ContextStrategyRegistry
    from trimtab.report import Fit

_CHANGES_NOTHING = "--compare writes no conversation; leave out --out, and fit with the strategy you choose"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What each strategy made of one conversation: name → its fit, or name → why it failed."""

    fits: Mapping[str, Fit]
    errors: Mapping[str, TrimtabError]

    @property
    def worst(self) -> TrimtabError:
        """The error to end with when nothing fits: what must stay being too much, else the first one."""
        over = (error for error in self.errors.values() if isinstance(error, TokenBudgetExceededError))
        return next(over, next(iter(self.errors.values())))

    def to_dict(self) -> dict[str, object]:
        """Give name → report or error as JSON values; when nothing fits, the fields of an error stand beside."""
        told: dict[str, Fit | TrimtabError] = {**self.fits, **self.errors}
        strategies = {name: told[name].to_dict() for name in sorted(told)}
        failure = {} if self.fits else self.worst.to_dict()
        return {**failure, "strategies": strategies}


def check_alone(out: str | None) -> None:
    """Raise click.UsageError where an option asks for one strategy's conversation."""
    if out is not None:
        raise click.UsageError(_CHANGES_NOTHING)
    if click.get_current_context().get_parameter_source("strategy") is click.core.ParameterSource.COMMANDLINE:
        raise click.UsageError("--compare tries every strategy; leave out --strategy")


def compare(
    fit_with: Callable[..., Fit],
    registry: ContextStrategyRegistry | None,
    settings: Mapping[str, object],
    config: Config,
) -> Comparison:
    """Fit with every strategy that is ready in `registry`, the default one where it is None.

    `fit_with` is `trimtab.fit` with all but strategy, settings and config; each strategy gets those of the
    settings that its schema names. One that breaks the contract counts as failed: the host's own shift, which
    would answer in its place, is not what is compared, whatever `config` says. Raises click.UsageError for a
    setting that no strategy knows, and when none is ready.
    """
    from trimtab.loading.registry import DEFAULT_REGISTRY

    config = config.model_copy(update={"on_violation": "error"})
    plugins, errors = _loaded(DEFAULT_REGISTRY if registry is None else registry, config)
    known = {name: _known_settings(plugin, settings) for name, plugin in plugins.items()}
    _check_known(settings, known)
    fits: dict[str, Fit] = {}
    for name in plugins:
        try:
            fits[name] = fit_with(strategy=name, settings=known[name], config=config)
        except TrimtabError as error:
            errors[name] = error
    return Comparison(fits, errors)


def tell(
    comparison: Comparison,
    messages_of: Callable[[Fit], Sequence[object]],
    *,
    as_json: bool,
    show_all: bool,
) -> None:
    """Print the comparison on stdout. When nothing fits, end with the exit code that a fit would end with.

    `messages_of` gives the input as the indices of a fit's entries count it.
    """
    if as_json:
        from trimtab.cli.writing import write_stdout

        write_stdout([json.dumps(comparison.to_dict(), ensure_ascii=False), "\n"])
    elif comparison.fits:
        from trimtab.cli.compare_report import print_comparison

        messages = messages_of(next(iter(comparison.fits.values())))
        print_comparison(console_for(sys.stdout), comparison, messages, show_all=show_all)
    else:
        _tell_errors(comparison)
    if not comparison.fits:
        raise click.exceptions.Exit(exit_code(comparison.worst))


def _loaded(
    registry: ContextStrategyRegistry, config: Config
) -> tuple[dict[str, Plugin], dict[str, TrimtabError]]:
    plugins: dict[str, Plugin] = {}
    errors: dict[str, TrimtabError] = {}
    for name in _ready(registry, config):
        try:
            plugins[name] = registry.strategy(name, config)
        except PluginError as error:
            errors[name] = error
    if not plugins and not errors:
        raise click.UsageError("no strategy is ready; `trimtab strategies` says why")
    return plugins, errors


def _ready(registry: ContextStrategyRegistry, config: Config) -> list[str]:
    """Give the names of what is registered, and of what is installed and may run."""
    from trimtab.loading import installed
    from trimtab.loading.discovery import by_name
    from trimtab.loading.registry import STRATEGIES

    rows = by_name(installed(STRATEGIES, config=config))
    ready = {name for name, row in rows.items() if row.status == "ready"}
    return sorted(ready.union(registry.strategy_names()) - (rows.keys() - ready))


def _known_settings(plugin: Plugin, settings: Mapping[str, object]) -> Mapping[str, object]:
    properties = (plugin.traits.settings_schema or {}).get("properties", {})
    if not isinstance(properties, Mapping):
        return settings
    return {key: value for key, value in settings.items() if key in properties}


def _check_known(settings: Mapping[str, object], known: Mapping[str, Mapping[str, object]]) -> None:
    strangers = [clean(key, limit=60) for key in settings if not any(key in one for one in known.values())]
    if strangers:
        raise click.UsageError(f"no strategy knows the setting {', '.join(strangers)}")


def _tell_errors(comparison: Comparison) -> None:
    """Tell each error once, the one to end with first."""
    by_text = {str(error): error for error in (comparison.worst, *comparison.errors.values())}
    for error in by_text.values():
        tell_failure(error, as_json=False)
