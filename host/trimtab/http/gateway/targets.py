"""Which provider and model a name of the gateway stands for, and which names there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trimtab.catalogue import Catalogue, Model
from trimtab_sdk.errors import UnknownModelError

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.config_server import Gateway
    from trimtab.host import Host
    from trimtab_sdk.provider import Provider


@dataclass(frozen=True, slots=True)
class Target:
    """A provider of the configuration, and a model there."""

    provider: str
    model: str


def find_target(gateway: Gateway, name: str) -> Target:
    """Give what a model name stands for: an alias, else a model of the gateway's provider.

    Raises UnknownModelError.
    """
    alias = gateway.models.get(name)
    if alias is not None:
        return Target(alias.provider, alias.model or name)
    if gateway.provider:
        return Target(gateway.provider, name)
    known = tuple(sorted(gateway.models))
    there = ", ".join(known) or "none; name a provider or models in [server.gateway]"
    raise UnknownModelError(f"there is no model {name[:100]!r} here; there are: {there}", name=name, known=known)


def driver_of(host: Host, provider: str) -> Provider:
    """Give the driver behind a provider of the configuration. Raises UnknownProviderError."""
    endpoint = host.config.providers.get(provider)
    return host.registry.provider((endpoint.driver if endpoint is not None else "") or provider, host.config)


def listed_models(host: Host, gateway: Gateway) -> dict[str, tuple[str, Model | None]]:
    """Give the models that can be asked for: name → provider, and what is known of it.

    They are the aliases, the models of the configuration, and those of the catalogue that are of the gateway's
    provider. Any other model of that provider can be asked for all the same.
    """
    catalogue = _catalogue(host.config)
    listed: dict[str, tuple[str, Model | None]] = {}
    if gateway.provider:
        models = _models_of(host, gateway.provider, catalogue)
        listed = {model.name: (gateway.provider, model) for model in models}
    for name, alias in gateway.models.items():
        listed[name] = (alias.provider, catalogue.find(alias.model or name))
    return dict(sorted(listed.items()))


def _catalogue(config: Config) -> Catalogue:
    catalogue = Catalogue.load()
    return catalogue.with_overrides(config.models) if config.models else catalogue


def _models_of(host: Host, provider: str, catalogue: Catalogue) -> Iterator[Model]:
    own = driver_of(host, provider).name
    for model in catalogue.models():
        if model.provider == own or model.name in host.config.models:
            yield model
