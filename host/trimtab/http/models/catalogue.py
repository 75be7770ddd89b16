"""What a server has: plugins, strategies, providers, models."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from trimtab.http.models.base import Shape


class Plugin(Shape):
    """An installed plugin: from whom it is, whether it is trusted, and why it cannot be used."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: Annotated[str, Field(examples=["strategy", "interceptor", "codec", "provider", "tokenizer"])]
    distribution: str
    version: str
    trust: Annotated[str, Field(examples=["built-in", "trusted", "confined"])]
    status: Annotated[str, Field(examples=["ready", "refused", "blocked", "off"])]
    reason: str


class Plugins(Shape):
    """All plugins, by name."""

    plugins: list[Plugin]


class Strategies(Shape):
    """The strategies, by name."""

    strategies: list[Plugin]


class Provider(Shape):
    """Whom a chat may name as its provider. `key`: whether the key it needs is there, never the key."""

    name: str
    driver: str
    configured: Annotated[bool, Field(description="Whether it is an endpoint of the configuration.")]
    usable: bool
    reason: Annotated[str, Field(description="Why it is not usable, empty when it is.")]
    mode: Annotated[str | None, Field(examples=["responses", "interactions", "threads", "stateless-loop"])]
    format: str | None
    key: Annotated[str, Field(examples=["present", "missing", "not-needed"])]


class Providers(Shape):
    """The providers, by name."""

    providers: list[Provider]


class Model(Shape):
    """A model whose limits are known, in tokens."""

    name: str
    provider: str
    context_limit: int | None
    max_input: int | None
    max_output: int | None
    encoding: str | None


class Models(Shape):
    """Models by name. Any other model works as well, when the chat gives its `contextLimit`."""

    models: list[Model]
    total: Annotated[int, Field(description="How many there are that match.")]
