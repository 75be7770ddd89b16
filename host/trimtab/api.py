"""`fit` and `afit`: the library's front door."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from trimtab.catalogue import Catalogue, Model, resolve_model
from trimtab.config import Config, Interceptor
from trimtab.fitting.budget import BudgetRule
from trimtab.fitting.calling import PluginCaller
from trimtab.fitting.counting import APPROXIMATE, PLUGIN_COUNTS, Counter, Driver
from trimtab.fitting.job import Job, Step
from trimtab.fitting.outside import clean_input
from trimtab.fitting.pipeline import run_pipeline
from trimtab.fitting.reporting import make_fit
from trimtab.fitting.settings import check_settings
from trimtab.formats import find_codec
from trimtab.loading.registry import DEFAULT_REGISTRY, ContextStrategyRegistry
from trimtab.report import Diagnostic, Fit
from trimtab_sdk.errors import InvalidRequestError, TokenizerUnavailableError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from trimtab_sdk.codec import Decoded

_Given = TypeVar("_Given")
_Options = ParamSpec("_Options")

_CALLER = PluginCaller()
_pool: ThreadPoolExecutor | None = None
_pool_lock = threading.Lock()


def fit(
    messages: object,
    *,
    model: str,
    strategy: str = "truncate",
    context_limit: int | None = None,
    reserve: int | None = None,
    pins: Sequence[int | str] = (),
    excluded: Sequence[int | str] = (),
    tools: Sequence[object] | None = None,
    response_format: Mapping[str, object] | None = None,
    format: str | None = None,
    settings: Mapping[str, object] | None = None,
    scope: str | None = None,
    config: Config | None = None,
    registry: ContextStrategyRegistry | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Fit a conversation into a model's token budget and account for every message.

    - `messages`: a list of messages, or a whole request body (then `Fit.request` comes back too). It is not
      changed; messages that stay as they are come back as the same objects.
    - `model`: a name of the catalogue; an unknown one needs `context_limit`.
    - `strategy`: the name of the plugin that chooses what leaves; `settings` are its settings.
    - `context_limit`, `reserve`: tokens of the window, and tokens kept free for the answer. Left out, the
      catalogue gives the limit, and the reserve is what the body asks for, else the smaller of the longest
      answer and a quarter of the limit.
    - `pins`, `excluded`: messages that must stay or leave; an int is an index, a str an id.
    - `tools`, `response_format`: counted as part of the request, when `messages` is no body that has them.
    - `format`: the codec's name; left out, the format is recognized.
    - `scope`: the key of the conversation or tenant that plugins' counts are kept under; None keeps none.
    - `config`, `registry`: the host app's decisions and its own plugins.
    - `on_progress`: called with (counted messages, all messages) while counting.

    Raises InvalidRequestError, InvalidBudgetError, UnknownModelError, UnknownStrategyError,
    UnknownFormatError, ConfigError or PluginError for what cannot be done, and TokenBudgetExceededError when
    what must stay is over the budget. Safe to call from many threads.
    """
    config = config if config is not None else Config()
    registry = registry if registry is not None else DEFAULT_REGISTRY
    _check_texts(model=model, strategy=strategy)
    chosen = _find_model(model, context_limit, config)
    cleaned = clean_input(_checked_input(messages))
    codec = find_codec(cleaned.data, format=format, provider=chosen.provider, registry=registry, config=config)
    decoded = codec.decode(cleaned.data)
    driver, tokenizer_notes = _find_tokenizer(chosen, registry, config)
    counter = Counter(driver, codec.framing(chosen.encoding, chosen.name))
    rule = BudgetRule(chosen, reserve, decoded.max_output_tokens, driver.tokenizer.approximate)
    budget = rule.budget(context_limit)
    job = Job(
        codec=codec,
        decoded=decoded,
        counter=counter,
        overhead=counter.request(
            tools=_either("tools", tools, decoded.tools) or (),
            response_format=_either("response_format", response_format, decoded.response_format),
        ),
        budget=budget,
        rule=rule,
        target=budget.available,
        config=config,
        caller=_CALLER,
        strategy=_strategy_step(strategy, settings, registry, config, counter, scope),
        interceptors=_interceptor_steps(registry, config, counter, scope),
        pins=_ids("pins", pins, decoded),
        excluded=_ids("excluded", excluded, decoded),
        on_progress=on_progress,
    )
    notes = (*_notes(chosen, decoded, cleaned.replaced), *tokenizer_notes)
    return make_fit(job, run_pipeline(job), model=model, notes=notes)


def _in_pool(function: Callable[_Options, Fit]) -> Callable[_Options, Coroutine[object, object, Fit]]:
    async def run(*args: _Options.args, **options: _Options.kwargs) -> Fit:
        import asyncio

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(_threads(), partial(function, *args, **options))

    run.__name__ = run.__qualname__ = "afit"
    run.__doc__ = "Do what `fit` does, in a pool of threads of its own, so that the event loop goes on."
    return run


afit = _in_pool(fit)


def _threads() -> ThreadPoolExecutor:
    global _pool
    from concurrent.futures import ThreadPoolExecutor

    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1), thread_name_prefix="trimtab-fit")
        return _pool


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


def _either(name: str, given: _Given | None, from_body: _Given | None) -> _Given | None:
    if given is not None and from_body is not None:
        raise InvalidRequestError(f"the request body has {name} too; give them once", path=name)
    return from_body if given is None else given


def _strategy_step(
    name: str,
    settings: Mapping[str, object] | None,
    registry: ContextStrategyRegistry,
    config: Config,
    counter: Counter,
    scope: str | None,
) -> Step:
    plugin = registry.strategy(name, config)
    return Step(plugin, check_settings(plugin, settings or {}), _plugin_counter(counter, scope, name))


def _interceptor_steps(
    registry: ContextStrategyRegistry, config: Config, counter: Counter, scope: str | None
) -> tuple[Step, ...]:
    steps: list[Step] = []
    listing = config.interceptors
    if listing is None:
        listing = tuple(Interceptor(name=name) for name in registry.interceptor_names(config))
    for listed in listing:
        plugin = registry.interceptor(listed.name, config)
        settings = check_settings(plugin, listed.settings)
        steps.append(Step(plugin, settings, _plugin_counter(counter, scope, listed.name)))
    return tuple(steps)


def _plugin_counter(counter: Counter, scope: str | None, plugin: str) -> Counter:
    return counter.for_plugin(PLUGIN_COUNTS.of(None if scope is None else f"{plugin}\0{scope}"))


def _ids(what: str, wanted: Sequence[int | str], decoded: Decoded) -> frozenset[str]:
    """Give the ids of the messages that indexes and ids name. Raises InvalidRequestError for unknown ones."""
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Sequence | set | frozenset):
        raise InvalidRequestError(f"{what} must be a list of indexes and ids", path=what)
    known = {message.id for message in decoded.messages}
    found: set[str] = set()
    last = len(decoded.messages) - decoded.leading
    for one in wanted:
        if type(one) is int and 0 <= one < last:
            found.add(decoded.messages[decoded.leading + one].id)
        elif isinstance(one, str) and one in known:
            found.add(one)
        else:
            raise InvalidRequestError(
                f"{what} names {one!r}, but there is no such message; an index (an int, @N on the command line) "
                f"runs from 0 to {last - 1}, anything else is an id",
                path=what,
                ids=(str(one),),
            )
    return frozenset(found)


def _notes(model: Model, decoded: Decoded, replaced: Sequence[str]) -> tuple[Diagnostic, ...]:
    notes: list[Diagnostic] = []
    if not model.known:
        notes.append(
            Diagnostic(
                "unknown-model",
                f"{model.name!r} is not in the catalogue; it is counted with {model.encoding}",
            )
        )
    if replaced:
        more = f" and {len(replaced) - 5} more" if len(replaced) > 5 else ""
        notes.append(
            Diagnostic("wire-rule", f"half a surrogate pair became U+FFFD at {', '.join(replaced[:5])}{more}")
        )
    if decoded.uncounted:
        keys = ", ".join(decoded.uncounted[:10])
        notes.append(Diagnostic("uncounted", f"kept, but no part of the wire and so not counted: the keys {keys}"))
    return tuple(notes)
