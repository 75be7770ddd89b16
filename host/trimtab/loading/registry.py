"""Plugins by name: those the host app registered, and those that are installed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, cast

from trimtab.fitting.counting import Driver
from trimtab.loading.discovery import Installed, built_in, find, in_process, installed, is_name
from trimtab.loading.drivers import load_driver, load_object
from trimtab.loading.plugins import INTERCEPT, SHIFT, Plugin, make_plugin
from trimtab.loading.worker.spec import Bounds, WorkerSpec, bounds_of
from trimtab_sdk.errors import (
    ConfigError,
    Origin,
    PluginLoadError,
    PluginNotTrustedError,
    UnknownFormatError,
    UnknownProviderError,
    UnknownStrategyError,
)

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab_sdk.codec import Codec
    from trimtab_sdk.counting import Tokenizer
    from trimtab_sdk.provider import Provider

STRATEGIES = "trimtab.strategies"
INTERCEPTORS = "trimtab.interceptors"
CODECS = "trimtab.codecs"
TOKENIZERS = "trimtab.tokenizers"
PROVIDERS = "trimtab.providers"
CONFINED = frozenset({"confined", "unprotected-install"})

_loaded: dict[tuple[object, ...], object] = {}
_locks: dict[tuple[object, ...], AbstractContextManager[object]] = {}
_loading = threading.Lock()


class ContextStrategyRegistry:
    """Strategies, interceptors, tokenizers, codecs and providers by name. Safe to share between threads.

    What is registered here goes before what is installed, and is trusted: the host app handed it over
    itself. The names of built-ins are reserved; `replace=True` overrides one on purpose.
    """

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], object] = {}
        self._lock = threading.Lock()

    def register(self, name: str, strategy: object, *, replace: bool = False) -> Callable[[], None]:
        """Register a strategy, a module or instance with `trimtab_shift`; give the function that takes it out.

        Raises PluginLoadError when it is no strategy, ConfigError when the name is taken.
        """
        plugin = make_plugin(strategy, Origin(name), hook=SHIFT)
        return self._add(STRATEGIES, name, plugin, replace=replace)

    def register_interceptor(self, name: str, interceptor: object, *, replace: bool = False) -> Callable[[], None]:
        """Register an interceptor, with `trimtab_intercept`. It runs when the config lists it, or lists none."""
        plugin = make_plugin(interceptor, Origin(name), hook=INTERCEPT)
        return self._add(INTERCEPTORS, name, plugin, replace=replace)

    def register_tokenizer(
        self, profile: str, tokenizer: Tokenizer, *, replace: bool = False
    ) -> Callable[[], None]:
        """Register a tokenizer driver under the name of its profile; give the function that takes it out."""
        return self._add(TOKENIZERS, profile, Driver(tokenizer), replace=replace)

    def register_codec(self, name: str, codec: Codec, *, replace: bool = False) -> Callable[[], None]:
        """Register a codec under the name of its format; give the function that takes it out."""
        return self._add(CODECS, name, codec, replace=replace)

    def register_provider(self, name: str, provider: Provider, *, replace: bool = False) -> Callable[[], None]:
        """Register a provider driver by its name; give the function that takes it out."""
        return self._add(PROVIDERS, name, provider, replace=replace)

    def strategy(self, name: str, config: Config) -> Plugin:
        """Give the strategy of this name.

        Raises UnknownStrategyError, PluginNotTrustedError or PluginLoadError.
        """
        own = self._own.get((STRATEGIES, name))
        if own is not None:
            return cast("Plugin", own)
        row = find(STRATEGIES, name, config=config)
        if row is None:
            known = self.strategy_names(config)
            raise UnknownStrategyError(
                f"there is no strategy {name!r}; known are {', '.join(known)} (`trimtab plugins` shows "
                "also what cannot be read)",
                name=name,
                known=known,
            )
        return _load_plugin(row, SHIFT, config)

    def interceptor(self, name: str, config: Config) -> Plugin:
        """Give the interceptor of this name.

        Raises ConfigError when there is none, PluginNotTrustedError or PluginLoadError.
        """
        own = self._own.get((INTERCEPTORS, name))
        if own is not None:
            return cast("Plugin", own)
        row = find(INTERCEPTORS, name, config=config)
        if row is None:
            why = "is not installed" if config.plugins else "cannot run, as plugins are switched off"
            raise ConfigError(f"the configuration lists the interceptor {name!r}, which {why}; take it out there")
        return _load_plugin(row, INTERCEPT, config)

    def interceptor_names(self, config: Config) -> tuple[str, ...]:
        """Give the interceptors that run when the config lists none: the registered and the trusted, sorted."""
        own = {name for group, name in self._own if group == INTERCEPTORS}
        rows = in_process(INTERCEPTORS, config=config)
        return tuple(sorted(own | {row.name for row in rows}))

    def tokenizer(self, profile: str, config: Config) -> Driver:
        """Give the tokenizer driver of this profile.

        Raises TokenizerUnavailableError, ConfigError when there is none, or an error of loading.
        """
        own = self._own.get((TOKENIZERS, profile))
        if own is not None:
            return cast("Driver", own)
        row = find(TOKENIZERS, profile, config=config)
        if row is None:
            raise ConfigError(f"there is no tokenizer for the profile {profile!r}; is its package installed?")
        return cast("Driver", _load_once(row, _load_tokenizer))

    def codec(self, name: str, config: Config) -> Codec:
        """Give the codec of this name. Raises UnknownFormatError or an error of loading."""
        own = self._own.get((CODECS, name))
        if own is not None:
            return cast("Codec", own)
        row = find(CODECS, name, config=config)
        if row is None:
            known = self.codec_names(config)
            raise UnknownFormatError(f"there is no format {name!r}; known are {', '.join(known)}", known=known)
        return cast("Codec", _load_once(row, load_driver))

    def codec_names(self, config: Config) -> tuple[str, ...]:
        """Give the names of the codecs that can be used, sorted."""
        own = {name for group, name in self._own if group == CODECS}
        ready = {row.name for row in in_process(CODECS, config=config)}
        return tuple(sorted(own | ready))

    def provider(self, name: str, config: Config) -> Provider:
        """Give the provider driver of this name. Raises UnknownProviderError or an error of loading."""
        own = self._own.get((PROVIDERS, name))
        if own is not None:
            return cast("Provider", own)
        row = find(PROVIDERS, name, config=config)
        if row is None:
            known = self.provider_names(config)
            raise UnknownProviderError(
                f"there is no provider {name!r}; known are {', '.join(known)}", name=name, known=known
            )
        return cast("Provider", _load_once(row, load_driver))

    def provider_names(self, config: Config) -> tuple[str, ...]:
        """Give the names of the provider drivers that can be used, sorted."""
        own = {name for group, name in self._own if group == PROVIDERS}
        ready = {row.name for row in in_process(PROVIDERS, config=config)}
        return tuple(sorted(own | ready))

    def strategy_names(self, config: Config | None = None) -> tuple[str, ...]:
        """Give the names of all strategies, sorted; those of a plugin directory only where `config` names it."""
        own = {name for group, name in self._own if group == STRATEGIES}
        return tuple(sorted(own | {row.name for row in installed(STRATEGIES, config=config) if is_name(row.name)}))

    def _add(self, group: str, name: str, subject: object, *, replace: bool) -> Callable[[], None]:
        if not is_name(name):
            raise ConfigError(f"{name!r} is no name; use a to z, 0 to 9, dot, dash and underscore, at most 64")
        key = (group, name)
        with self._lock:
            previous = self._own.get(key)
            if not replace and (previous is not None or _is_built_in(group, name)):
                raise ConfigError(f"the name {name!r} is taken; give replace=True to override it on purpose")
            self._own[key] = subject

        def clean_up() -> None:
            with self._lock:
                if self._own.get(key) is not subject:
                    return
                del self._own[key]
                if previous is not None:
                    self._own[key] = previous

        return clean_up


def _is_built_in(group: str, name: str) -> bool:
    return any(row.name == name for row in built_in(group))


def _load_plugin(row: Installed, hook: str, config: Config) -> Plugin:
    origin = Origin(row.name, row.distribution, row.version)
    if row.trust not in CONFINED:
        return cast("Plugin", _load_once(row, lambda row: make_plugin(load_object(row), origin, hook=hook)))
    bounds = bounds_of(config, row.name)
    loaded = _load_once(row, lambda row: _load_confined(row, origin, hook, bounds), within=bounds)
    return cast("Plugin", loaded)


def _load_confined(row: Installed, origin: Origin, hook: str, bounds: Bounds) -> Plugin:
    from trimtab.loading.worker.calling import load_confined
    from trimtab.loading.worker.pool import refused_steps, worker_pool

    module, _, attribute = row.candidate.value.partition(":")
    spec = WorkerSpec(origin, module.strip(), attribute.strip(), hook, row.candidate.paths, row.candidate.file)
    loaded = load_confined(worker_pool(), spec, bounds)
    return Plugin(origin, {}, loaded.traits, spec, refused_steps(loaded.steps))


def _load_tokenizer(row: Installed) -> Driver:
    return Driver(cast("Tokenizer", load_driver(row)))


def _load_once(row: Installed, load: Callable[[Installed], object], *, within: object = None) -> object:
    """Load a row that may run, once per process, and once for each of the bounds it may run `within`."""
    _refuse(row)
    key = (row.candidate, row.trust, within)
    with _loading:
        lock = _locks.setdefault(key, threading.RLock())
    # A plugin that takes long to load holds up those who want it, and nobody else.
    with lock:
        if key not in _loaded:
            _loaded[key] = load(row)
        return _loaded[key]


def _refuse(row: Installed) -> None:
    if row.status == "ready":
        return
    origin = Origin(row.name, row.distribution, row.version)
    if row.trust == "needs-trust" and row.status == "refused" and not row.candidate.fault:
        raise PluginNotTrustedError(f"cannot run: {row.reason}", origin=origin)
    raise PluginLoadError(f"cannot run: {row.reason}", origin=origin)


DEFAULT_REGISTRY = ContextStrategyRegistry()
