"""The models of the section `[server]` of a configuration; import them from `trimtab.config`."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

_Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
_Count: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000)]
_Variable: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_Owner: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
_Provider: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]


class GatewayModel(BaseModel):
    """What a model name of the gateway stands for: a provider of the configuration, and a model there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: _Provider
    model: str = ""


class Gateway(BaseModel):
    """How `/v1` answers clients of OpenAI.

    - `provider`: whom to ask for every model that is not in `models`; empty refuses those.
    - `models`: name a client may ask for → provider and model that answer.
    - `strategy`, `settings`: what makes a conversation fit. `context`: fields of a chat's context settings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    provider: Annotated[str, Field(pattern=r"^([a-z0-9][a-z0-9._-]{0,63})?$")] = ""
    models: dict[str, GatewayModel] = Field(default_factory=dict)
    strategy: str = "truncate"
    settings: dict[str, object] = Field(default_factory=dict)
    context: dict[str, object] = Field(default_factory=dict)


class Server(BaseModel):
    """How the HTTP host listens, whom it lets in, and what one caller may use.

    - `host`, `port`: where it listens. Anything but a loopback address needs `tokens`.
    - `tokens`: owner → the environment variable that holds the owner's bearer token. Without any, everybody who
      reaches the port is the owner `local`.
    - `database`: path or URL of the store.
    - `allowed_hosts`: names that a request may be for, besides those of this machine; empty takes any name where
      the server does not listen on loopback.
    - `cors_origins`: web pages that may call from a browser, as `https://app.example.com`; none by default.
    - `max_body_bytes`, `max_header_bytes`; `body_seconds` for a whole request body to arrive, `header_seconds` for
      a request's head.
    - `max_requests` at once, streams not counted; `max_streams` at once, `max_owner_streams` of one owner.
    - `client_gone`: a turn whose caller hangs up goes on, or is cancelled when nobody else reads along.
    - `drain_seconds`: how long running turns may take to end when the server is told to stop.
    - `gateway`: how `/v1` answers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: Annotated[str, Field(min_length=1, max_length=255)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535)] = 8420
    tokens: dict[_Owner, _Variable] = Field(default_factory=dict)
    database: str = ""
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    max_body_bytes: Annotated[int, Field(ge=1024, le=1 << 30)] = 16 << 20
    max_header_bytes: Annotated[int, Field(ge=1024, le=1 << 20)] = 32 << 10
    body_seconds: _Seconds = 30.0
    header_seconds: _Seconds = 10.0
    max_requests: _Count = 128
    max_streams: _Count = 256
    max_owner_streams: _Count = 64
    client_gone: Literal["continue", "cancel"] = "continue"
    drain_seconds: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 30.0
    gateway: Gateway = Field(default_factory=Gateway)

    @field_validator("tokens")
    @classmethod
    def _check_owners(cls, value: dict[str, str]) -> dict[str, str]:
        for owner in value:
            if not owner.isprintable():
                raise ValueError(f"the owner {owner!r} must be printable")
        return value

    @field_validator("cors_origins")
    @classmethod
    def _check_origins(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for origin in value:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https") or origin != f"{parts.scheme}://{parts.netloc.lower()}":
                raise ValueError(
                    f"{origin!r} is no origin; write scheme, host and port, as https://app.example.com"
                )
        return value

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(name: str) -> bool:
    """Tell whether a host name or address is one of this machine alone."""
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
