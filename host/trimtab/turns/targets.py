"""Where a turn goes: a name as the driver, the address, the key and the limits behind it."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from trimtab.config_models import Endpoint
from trimtab.fitting.settings import check_settings
from trimtab.loading.plugins import Plugin
from trimtab.turns.faults import provider_error
from trimtab_sdk.errors import (
    ConfigError,
    InvalidRequestError,
    Origin,
    PluginRejectedError,
    ProviderError,
    UnknownProviderError,
)
from trimtab_sdk.provider import ContinuationMode, Fault, Provider, mode_of, retention_of
from trimtab_sdk.request import Traits

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.registry import ContextStrategyRegistry

_KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Target:
    """A provider that can be asked.

    - `name` is the one in the configuration, or the driver's own; `endpoint` has the limits and the settings.
    - `base_url` has no slash at its end; it is empty for a driver that needs no server.
    - `variable` is the environment variable that held the `key`; both are empty where no key is needed.
    """

    name: str
    provider: Provider
    endpoint: Endpoint
    base_url: str
    variable: str = ""
    key: str = field(default="", repr=False)

    @property
    def mode(self) -> ContinuationMode:
        """How a conversation is carried on here; `stateless-loop` where the endpoint forbids to keep it."""
        return "stateless-loop" if self.endpoint.retention == 0 else mode_of(self.provider, self.endpoint.settings)

    @property
    def retention(self) -> float | None:
        """For how many seconds the provider keeps a conversation; None when nobody knows."""
        own = self.endpoint.retention
        return retention_of(self.provider, self.endpoint.settings) if own is None else own

    def unkept(self) -> Target:
        """Give the target as it is asked to keep nothing."""
        return replace(self, endpoint=self.endpoint.model_copy(update={"retention": 0.0}))


def resolve_target(
    name: str,
    *,
    config: Config,
    registry: ContextStrategyRegistry,
    environ: Mapping[str, str],
    granted: Container[str] = (),
) -> Target:
    """Give the target of this name: an endpoint of the configuration, or a driver that needs none.

    The key of an endpoint in `granted` is handed out by the host app later, and not looked up.

    A driver's usual key goes to its usual address alone. Raises UnknownProviderError, ConfigError for an endpoint
    that cannot work, ProviderError (PROVIDER_KEY_MISSING) when its variable holds no key, an error of loading.
    """
    endpoint = config.providers.get(name)
    provider = _driver(name, endpoint, config, registry)
    own = _own_address(name, provider)
    settings = Endpoint() if endpoint is None else endpoint
    base_url = settings.base_url or own
    if not base_url and not provider.offline:
        raise ConfigError(
            f"the provider {name!r} has no address of its own; add a line to [providers.{name}], such as "
            'base_url = "https://HOST/v1"'
        )
    _check_endpoint_settings(name, provider, settings)
    usual = provider.key_variable if base_url == own else ""
    variable = "" if provider.offline or name in granted else settings.key_variable or usual
    return Target(name, provider, settings, base_url, variable, _key(name, variable, environ))


def check_options(target: Target, options: Mapping[str, object]) -> None:
    """Check a chat's options against the driver's schema. Raises InvalidRequestError with the wrong one."""
    _check(target.provider, options, target.provider.options_schema, word="options")


def _driver(name: str, endpoint: Endpoint | None, config: Config, registry: ContextStrategyRegistry) -> Provider:
    driver = name if endpoint is None else endpoint.driver or name
    try:
        return registry.provider(driver, config)
    except UnknownProviderError as error:
        known = tuple(sorted({*config.providers, *error.known}))
        asked = f"there is no provider {name!r}"
        if endpoint is not None:
            asked = f"the endpoint {name!r} of the configuration names the driver {driver!r}, which is not there"
            known = error.known
        raise UnknownProviderError(f"{asked}; known are {', '.join(known)}", name=driver, known=known) from error


def _own_address(name: str, provider: Provider) -> str:
    try:
        return Endpoint(base_url=provider.base_url).base_url
    except ValueError as error:
        said = "its base_url is no http or https address without user, query and fragment"
        raise PluginRejectedError(said, origin=Origin(name)) from error


def _check_endpoint_settings(name: str, provider: Provider, endpoint: Endpoint) -> None:
    try:
        _check(provider, endpoint.settings, provider.settings_schema, word="settings")
    except InvalidRequestError as error:
        raise ConfigError(f"providers.{name}: {error.message}") from error


def _check(
    provider: Provider, values: Mapping[str, object], schema: Mapping[str, object] | None, *, word: str
) -> None:
    check_settings(Plugin(Origin(provider.name), {}, Traits(settings_schema=schema)), values, word=word)


def _key(name: str, variable: str, environ: Mapping[str, str]) -> str:
    if not variable:
        return ""
    key = environ.get(variable, "").removesuffix("\n").removesuffix("\r")
    if not key.strip():
        raise _no_key(name, variable, "it is not set, or empty")
    if not _KEY.fullmatch(key):
        raise _no_key(name, variable, "it holds blanks, control characters or letters beyond ASCII")
    return key


def _no_key(name: str, variable: str, detail: str) -> ProviderError:
    fault = Fault(code="PROVIDER_KEY_MISSING")
    return provider_error(fault, provider=name, variable=variable, detail=detail)
