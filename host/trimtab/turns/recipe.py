"""What a chat is fitted for: a provider, a model, a strategy, tools. Resolved from its settings, once a turn."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trimtab.fitting.job import Setup
from trimtab.opening import Options, make_setup
from trimtab.report import Diagnostic
from trimtab.turns.reading import Reader
from trimtab.turns.settings import ChatSettings
from trimtab.turns.targets import Target, check_options, resolve_target
from trimtab_sdk.provider import ToolSpec

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything a chat's requests are made with.

    - `key` names all that held messages and counts depend on; two recipes with the same key share them.
    - `tools` are in the shape of the wire, `tool_names` in the same order.
    """

    key: str
    settings: ChatSettings
    target: Target
    reader: Reader
    setup: Setup
    tools: tuple[object, ...] = ()
    tool_names: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = field(default=(), compare=False)


def with_stale(recipe: Recipe, until: str) -> Recipe:
    """Give the recipe for a chat whose provider cannot read its own reasoning any more, up to a message."""
    reader = replace(recipe.reader, stale_until=until)
    return replace(recipe, reader=reader, key=f"{recipe.key}{until}") if until else recipe


def without_keeping(recipe: Recipe) -> Recipe:
    """Give the recipe for a call of which the provider shall keep nothing."""
    return replace(recipe, target=recipe.target.unkept(), key=f"{recipe.key} unkept")


def make_recipe(
    settings: ChatSettings,
    *,
    tools: Sequence[ToolSpec],
    scope: str | None,
    config: Config,
    registry: ContextStrategyRegistry,
    environ: Mapping[str, str],
    granted: Container[str] = (),
) -> Recipe:
    """Resolve the settings of a chat. `tools` are those the model may call, sorted by name.

    Raises UnknownProviderError, UnknownModelError, UnknownStrategyError, ConfigError, InvalidRequestError,
    PluginError, and ProviderError when a key is missing.
    """
    target = resolve_target(settings.provider, config=config, registry=registry, environ=environ, granted=granted)
    driver = target.provider
    check_options(target, settings.options)
    codec = registry.codec(driver.codec, config)
    wire_tools = tuple(driver.write_tools(tools, target.endpoint.settings))
    context = settings.context_settings
    options = Options(
        model=settings.model,
        strategy=settings.context_strategy,
        context_limit=context.context_limit,
        reserve=context.reserve,
        settings=context.strategy,
        scope=scope,
        config=config,
        registry=registry,
        target=context.target,
    )
    made = make_setup(
        options,
        codec=codec,
        tools=wire_tools,
        response_format=settings.response_format,
        max_output_tokens=settings.max_output_tokens,
    )
    return Recipe(
        key=_key(settings, target, wire_tools),
        settings=settings,
        target=target,
        reader=Reader(target.name, driver, codec, settings.model, target.endpoint.settings),
        setup=made.setup,
        tools=wire_tools,
        tool_names=tuple(tool.name for tool in tools),
        notes=made.notes,
    )


def _key(settings: ChatSettings, target: Target, tools: Sequence[object]) -> str:
    facts = [settings.to_dict(), target.endpoint.model_dump(mode="json"), list(tools)]
    return json.dumps(facts, sort_keys=True, default=str)
