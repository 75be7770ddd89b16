"""From a caller's input and options to everything a fit stands on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from trimtab.catalogue import Catalogue, Model, resolve_model
from trimtab.config import Config, Interceptor
from trimtab.fitting.budget import BudgetRule
from trimtab.fitting.calling import PluginCaller
from trimtab.fitting.conduct import Conducts
from trimtab.fitting.counting import APPROXIMATE, Counter, Driver
from trimtab.fitting.job import Setup, Step
from trimtab.fitting.outside import clean_input
from trimtab.fitting.settings import check_settings
from trimtab.formats import find_codec
from trimtab.loading.plugins import Plugin
from trimtab.loading.registry import DEFAULT_REGISTRY, ContextStrategyRegistry
from trimtab.report import Diagnostic
from trimtab_sdk.codec import Codec, Decoded
from trimtab_sdk.counting import Cost
from trimtab_sdk.errors import InvalidRequestError, PluginNotTrustedError, TokenizerUnavailableError
from trimtab_sdk.shifting import checked_tokens

KEY_LENGTH = 200
_Given = TypeVar("_Given")
_CALLER = PluginCaller()
_CONDUCTS = Conducts()


@dataclass(frozen=True, slots=True)
class Options:
    """What a caller says about a fit besides the messages; the fields are those of `trimtab.fit`.

    `target` is the share of the budget that a strategy cuts down to.
    """

    model: str
    strategy: str = "truncate"
    context_limit: int | None = None
    reserve: int | None = None
    tools: Sequence[object] | None = None
    response_format: Mapping[str, object] | None = None
    format: str | None = None
    settings: Mapping[str, object] | None = None
    scope: str | None = None
    config: Config | None = None
    registry: ContextStrategyRegistry | None = None
    target: float = 1.0


@dataclass(frozen=True, slots=True)
class Opened:
    """A conversation that was read, what its fits stand on, and remarks on this input."""

    setup: Setup
    decoded: Decoded
    notes: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class SetupOpened:
    """What the fits of a conversation stand on, and remarks on what it was made from."""

    setup: Setup
    notes: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a request says besides its messages, as `Decoded` has it."""

    tools: tuple[object, ...] | None
    response_format: Mapping[str, object] | None
    max_output_tokens: int | None


@dataclass(frozen=True, slots=True)
class _Basis:
    """Options with everything looked up that does not depend on the wire."""

    options: Options
    config: Config
    registry: ContextStrategyRegistry
    model: Model


def open_conversation(messages: object, options: Options) -> Opened:
    """Read a conversation and resolve the model, the codec, the tokenizer and the plugins.

    Raises the errors of `trimtab.fit`, all but those of the fit itself.
    """
    basis = _basis(options)
    skipped: list[Diagnostic] = []
    cleaned = clean_input(_checked_input(messages))
    codec = find_codec(
        cleaned.data,
        format=options.format,
        provider=basis.model.provider,
        registry=basis.registry,
        config=basis.config,
        skipped=skipped,
    )
    decoded = codec.decode(cleaned.data)
    asked = _Asked(decoded.tools, decoded.response_format, decoded.max_output_tokens)
    setup = _make_setup(basis, codec, asked)
    return Opened(setup, decoded, (*skipped, *replaced_note(cleaned.replaced), *_uncounted_note(decoded)))


def make_setup(
    options: Options,
    *,
    codec: Codec,
    tools: Sequence[object] | None = None,
    response_format: Mapping[str, object] | None = None,
    max_output_tokens: int | None = None,
) -> SetupOpened:
    """Resolve the model, the tokenizer and the plugins for messages that are at hand already.

    - `codec` writes them; `options.format` is not looked at.
    - `tools`, `response_format`: in the shape of the wire, given here or in the options. `max_output_tokens` is
      what the request asks for; it is the reserve when the options have none.

    Raises the errors of `trimtab.fit`, all but those of reading and of the fit itself.
    """
    basis = _basis(options)
    cleaned = clean_input({"tools": _listed_tools(tools), "response_format": response_format})
    own = cleaned.data if isinstance(cleaned.data, dict) else {}
    asked = _Asked(
        None if tools is None else tuple(own["tools"]),
        _checked_format(own["response_format"]),
        None if max_output_tokens is None else checked_tokens("max_output_tokens", max_output_tokens),
    )
    return SetupOpened(_make_setup(basis, codec, asked), replaced_note(cleaned.replaced))


def count_key(setup: Setup) -> str:
    """Name everything that the cost of a message depends on besides the message, in at most 200 characters.

    Costs that were counted under one key hold under the same key in any process. The version of Trimtab is part of
    it, for the rules by which a wire packs texts may be mended from release to release.
    """
    key = "/".join((_own_version(), *setup.counting))
    return key if len(key) <= KEY_LENGTH else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


@cache
def _own_version() -> str:
    from importlib.metadata import version

    return version("trimtab")


def _basis(options: Options) -> _Basis:
    config = options.config if options.config is not None else Config()
    registry = options.registry if options.registry is not None else DEFAULT_REGISTRY
    _check_texts(model=options.model, strategy=options.strategy)
    if options.scope is not None:
        _check_texts(scope=options.scope)
    return _Basis(options, config, registry, _find_model(options.model, options.context_limit, config))


def _make_setup(basis: _Basis, codec: Codec, asked: _Asked) -> Setup:
    options, config, registry, model = basis.options, basis.config, basis.registry, basis.model
    driver, tokenizer_notes = _find_tokenizer(model, registry, config)
    counter = Counter(driver, codec.framing(model.encoding, model.name))
    rule = BudgetRule(model, options.reserve, asked.max_output_tokens, driver.tokenizer.approximate)
    budget = rule.budget(options.context_limit)
    return Setup(
        model=options.model,
        codec=codec,
        counter=counter,
        overhead=_overhead(options, asked, counter),
        budget=budget,
        rule=rule,
        target=int(budget.available * options.target),
        config=config,
        caller=_CALLER,
        strategy=_strategy_step(options, registry, config, counter),
        interceptors=_interceptor_steps(options, registry, config, counter),
        notes=(*_model_notes(model), *tokenizer_notes),
        scope=options.scope,
        conduct=_CONDUCTS.of(options.scope),
    )


def _overhead(options: Options, asked: _Asked, counter: Counter) -> Cost:
    return counter.request(
        tools=_either("tools", _checked_tools(options.tools), asked.tools) or (),
        response_format=_either(
            "response_format", _checked_format(options.response_format), asked.response_format
        ),
    )


def replaced_note(paths: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Give the remark on lone surrogates that were replaced, if there were any."""
    if not paths:
        return ()
    more = f" and {len(paths) - 5} more" if len(paths) > 5 else ""
    text = f"half a surrogate pair became U+FFFD at {', '.join(paths[:5])}{more}"
    return (Diagnostic("wire-rule", text),)


def _uncounted_note(decoded: Decoded) -> tuple[Diagnostic, ...]:
    if not decoded.uncounted:
        return ()
    keys = ", ".join(decoded.uncounted[:10])
    return (Diagnostic("uncounted", f"kept, but no part of the wire and so not counted: the keys {keys}"),)


def _model_notes(model: Model) -> tuple[Diagnostic, ...]:
    if model.known:
        return ()
    text = f"{model.name!r} is not in the catalogue; it is counted with {model.encoding}"
    return (Diagnostic("unknown-model", text),)


def _check_texts(**values: object) -> None:
    for name, value in values.items():
        if not isinstance(value, str) or not value:
            raise InvalidRequestError(f"{name} must be a text, not {type(value).__name__}", path=name)


def _checked_input(messages: object) -> object:
    if isinstance(messages, str | bytes | bytearray):
        raise InvalidRequestError("messages is text; parse it first and give the list or the request body")
    if messages is None:
        raise InvalidRequestError("messages is None; give a list of messages or a request body")
    return messages


def _find_model(name: str, context_limit: int | None, config: Config) -> Model:
    catalogue = Catalogue.load()
    if config.models:
        catalogue = catalogue.with_overrides(config.models)
    return resolve_model(name, catalogue=catalogue, context_limit=context_limit)


def _find_tokenizer(
    model: Model, registry: ContextStrategyRegistry, config: Config
) -> tuple[Driver, tuple[Diagnostic, ...]]:
    """Give the model's tokenizer, or the approximate one with a note on how to get exact counts."""
    if model.encoding == APPROXIMATE.tokenizer.profile:
        note = f"no tokenizer of {model.provider or 'this model'} is public, so the count is approximate"
        return APPROXIMATE, (Diagnostic("approximate-tokenizer", note),)
    try:
        return registry.tokenizer(model.encoding, config), ()
    except TokenizerUnavailableError as error:
        return APPROXIMATE, (Diagnostic("approximate-tokenizer", f"the count is approximate: {error.message}"),)


def _checked_tools(tools: object) -> tuple[object, ...] | None:
    if tools is None:
        return None
    cleaned = clean_input({"tools": _listed_tools(tools)}).data
    return tuple(cleaned["tools"]) if isinstance(cleaned, dict) else None


def _listed_tools(tools: object) -> list[object] | None:
    if tools is None:
        return None
    if not isinstance(tools, list | tuple):
        raise InvalidRequestError(f"tools must be a list, not a {type(tools).__name__}", path="tools")
    return list(tools)


def _checked_format(response_format: object) -> Mapping[str, object] | None:
    if response_format is None:
        return None
    if not isinstance(response_format, Mapping):
        raise InvalidRequestError(
            f"response_format must be an object, not a {type(response_format).__name__}", path="response_format"
        )
    clean_input({"response_format": response_format})
    return response_format


def _either(name: str, given: _Given | None, from_body: _Given | None) -> _Given | None:
    if given is not None and from_body is not None:
        raise InvalidRequestError(f"the request body has {name} too; give them once", path=name)
    return from_body if given is None else given


def _strategy_step(options: Options, registry: ContextStrategyRegistry, config: Config, counter: Counter) -> Step:
    plugin = registry.strategy(options.strategy, config)
    settings = check_settings(plugin, {} if options.settings is None else options.settings)
    return Step(plugin, settings, counter.for_plugin(options.strategy, options.scope))


def _interceptor_steps(
    options: Options, registry: ContextStrategyRegistry, config: Config, counter: Counter
) -> tuple[Step, ...]:
    listing = config.interceptors
    if listing is None:
        listing = tuple(Interceptor(name=name) for name in registry.interceptor_names(config))
    steps: list[Step] = []
    for listed in listing:
        plugin = registry.interceptor(listed.name, config)
        _check_redactor(plugin, config)
        settings = check_settings(plugin, listed.settings)
        steps.append(Step(plugin, settings, counter.for_plugin(listed.name, options.scope)))
    return tuple(steps)


def _check_redactor(plugin: Plugin, config: Config) -> None:
    """Raise where somebody counts on an interceptor to take secrets out that it would not be allowed to."""
    if plugin.confined is None or plugin.origin.plugin not in config.may_redact_protected:
        return
    raise PluginNotTrustedError(
        "may_redact_protected names it, but only a trusted plugin may shorten what is protected; add "
        f"{plugin.origin.distribution!r} to Config(trusted=[...]), or take it out of may_redact_protected",
        origin=plugin.origin,
    )
