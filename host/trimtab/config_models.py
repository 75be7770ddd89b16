"""The models behind `trimtab.config`; import them from there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from trimtab.config_server import Gateway, GatewayModel, Server
from trimtab.loading.discovery import normalized
from trimtab_sdk.errors import ConfigError

if TYPE_CHECKING:
    from packaging.requirements import Requirement

INTERCEPTOR_SECONDS = 5.0
STRATEGY_SECONDS = 60.0
MEMORY_MB = 512
SERVICE_CALLS = 100_000

_Seconds: TypeAlias = Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)]


class Limits(BaseModel):
    """What one plugin may use.

    - `seconds` of time in a call, by default 5 for an interceptor and 60 for a strategy; `turn_seconds` in all
      calls of a turn, by default twice as much.
    - `memory_mb`: address space of a confined worker, in MiB.
    - `service_calls`: how often a confined plugin may ask the host for something in one call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: _Seconds | None = None
    turn_seconds: _Seconds | None = None
    memory_mb: Annotated[int, Field(ge=64, le=65536)] = MEMORY_MB
    service_calls: Annotated[int, Field(ge=0, le=10_000_000)] = SERVICE_CALLS


class Grant(BaseModel):
    """What a confined plugin gets beyond the least: keys of `meta` it may read, services it may call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    meta: tuple[str, ...] = ()
    services: tuple[Literal["count", "embed", "complete"], ...] = ("count", "embed")


class Interceptor(BaseModel):
    """An interceptor that runs, with its settings. A plain name stands for one without settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    settings: dict[str, object] = Field(default_factory=dict)


class Endpoint(BaseModel):
    """A provider to ask: which driver, where, with which key, within which limits.

    - `driver`: the driver's name; left out, it is the name of the endpoint.
    - `base_url`: where requests go, with the path before the driver's own; left out, the driver's usual one. The
      only address a request of this endpoint ever goes to: nothing is redirected.
    - `key_variable`: the environment variable that holds the key; left out, the driver's usual one at the driver's
      usual address, and no key at an address of your own.
    - `settings`: the driver's own settings.
    - `connect_seconds` to open a connection, `first_byte_seconds` until the answer begins, `idle_seconds` between
      two pieces of it, keep-alive signs included; `answer_seconds` for a whole answer.
    - `retries`: how often a call is tried again where that is safe.
    - `retention`: for how many seconds the provider keeps a conversation, where it keeps one; 0 asks it not to.
    - `ca_file`: certificates to trust besides the usual ones.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    driver: str = ""
    base_url: str = ""
    key_variable: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    settings: dict[str, object] = Field(default_factory=dict)
    connect_seconds: _Seconds = 10.0
    first_byte_seconds: _Seconds = 120.0
    idle_seconds: _Seconds = 60.0
    answer_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 3600.0
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    retention: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    ca_file: Path | None = None

    @field_validator("base_url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        if not value:
            return value
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(value)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            sound = False
        if not sound or any(mark in value for mark in "@?#\\") or not value.isascii() or not value.isprintable():
            raise ValueError("must be an http or https address without user, query and fragment")
        return value.rstrip("/")


class Config(BaseModel):
    """The host app's decisions. All of them are optional, and none is read from a file: `load_config` does that.

    - `trusted`: distributions whose plugins may run in this process, with a version range if wanted, as
      `"trimtab-recap>=1,<2"`.
    - `blocked`: distributions or plugin names that never run. Built-ins cannot be blocked.
    - `interceptors`: which ones run, in this order. None means all that are registered or come from a trusted
      distribution, by name.
    - `may_redact_protected`: trusted interceptors that may shorten protected text, to take secrets out.
    - `on_violation`: a plugin that broke the contract is replaced by the host's own shift (`fallback`), or
      the fit ends with its error (`error`).
    - `limits`: plugin name → what it may use; the key `*` stands for all others.
    - `plugins`: whether anything but the built-ins and what the host app registered may run.
    - `plugin_directory`: a folder with one folder a distribution, whose strategies and interceptors run confined.
    - `untrusted`: strategies and interceptors that are not trusted run confined (`confine`) or not at all
      (`refuse`).
    - `strict`: a plugin runs confined only where the platform did every step of the confinement.
    - `grants`: plugin name → what a confined one gets beyond the least.
    - `workers`: how many worker processes there may be at once.
    - `models`: model name → figures that go before the catalogue's (`context_limit`, `max_input`,
      `max_output`, `encoding`, `provider`).
    - `providers`: name → an endpoint that turns may go to.
    - `server`: how `trimtab serve` listens, whom it lets in, and what one caller may use.

    Raises ConfigError when a field is wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trusted: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    interceptors: tuple[Interceptor, ...] | None = None
    may_redact_protected: tuple[str, ...] = ()
    on_violation: Literal["fallback", "error"] = "fallback"
    limits: dict[str, Limits] = Field(default_factory=dict)
    plugins: bool = True
    plugin_directory: Path | None = None
    untrusted: Literal["confine", "refuse"] = "confine"
    strict: bool = False
    grants: dict[str, Grant] = Field(default_factory=dict)
    workers: Annotated[int, Field(ge=1, le=256)] = 4
    models: dict[str, dict[str, object]] = Field(default_factory=dict)
    providers: dict[str, Endpoint] = Field(default_factory=dict)
    server: Server = Field(default_factory=Server)

    def __init__(self, /, **fields: object) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ConfigError(_explain(error)) from error

    @field_validator("trusted")
    @classmethod
    def _check_trusted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for line in value:
            requirement = _requirement(line)
            if requirement.url or requirement.extras or requirement.marker:
                raise ValueError(f"{line!r} says more than a distribution and a version range; leave the rest out")
        return value

    @field_validator("interceptors", mode="before")
    @classmethod
    def _name_interceptors(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return tuple({"name": one} if isinstance(one, str) else one for one in value)

    def trusts(self, distribution: str, version: str) -> bool:
        """Tell whether a distribution is named in `trusted` with a range that this version is in."""
        lines = map(_requirement, self.trusted)
        named = [one for one in lines if normalized(one.name) == normalized(distribution)]
        return any(_is_in_range(version, one) for one in named)

    def blocks(self, distribution: str, name: str) -> bool:
        """Tell whether a plugin, or its distribution, is named in `blocked`."""
        return name in self.blocked or normalized(distribution) in {normalized(one) for one in self.blocked}

    def may_redact(self, name: str, *, confined: bool) -> bool:
        """Tell whether an interceptor may shorten protected text: it must be named, and be trusted."""
        return name in self.may_redact_protected and not confined

    def limits_for(self, name: str) -> Limits:
        """Give what a plugin may use."""
        return self.limits.get(name) or self.limits.get("*") or _USUAL_LIMITS

    def grant_for(self, name: str) -> Grant:
        """Give what a confined plugin gets beyond the least."""
        return self.grants.get(name) or _LEAST

    def seconds_for(self, name: str, *, strategy: bool) -> float:
        """Give the time limit of one call of a plugin, in seconds."""
        seconds = self.limits_for(name).seconds
        if seconds is not None:
            return seconds
        return STRATEGY_SECONDS if strategy else INTERCEPTOR_SECONDS

    def turn_seconds_for(self, name: str, *, strategy: bool) -> float:
        """Give the time all calls of a plugin may take in one turn, in seconds."""
        seconds = self.limits_for(name).turn_seconds
        return 2 * self.seconds_for(name, strategy=strategy) if seconds is None else seconds


_USUAL_LIMITS = Limits()
_LEAST = Grant()


_MODELS: dict[str, type[BaseModel]] = {
    "limits": Limits,
    "grants": Grant,
    "interceptors": Interceptor,
    "providers": Endpoint,
    "server": Server,
}
_MOST_FAULTS = 10


def _model_at(place: tuple[int | str, ...]) -> type[BaseModel]:
    if place[:2] == ("server", "gateway") and len(place) > 2:
        return GatewayModel if "models" in place[2:-1] else Gateway
    return _MODELS[str(place[0])]


def _requirement(line: str) -> Requirement:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        return Requirement(line)
    except InvalidRequirement as error:
        raise ValueError(f"{line!r} is no distribution with a version range: {error}") from error


def _is_in_range(version: str, requirement: Requirement) -> bool:
    from packaging.version import InvalidVersion, Version

    try:
        return requirement.specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def _explain(error: ValidationError) -> str:
    faults = [_fault(fault["loc"], fault["type"], fault["msg"]) for fault in error.errors(include_url=False)]
    more = [f"and {len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
    return "the configuration is wrong: " + "; ".join([*faults[:_MOST_FAULTS], *more])


def _fault(place: tuple[int | str, ...], kind: str, problem: str) -> str:
    path = ".".join(str(step) for step in place)
    if kind != "extra_forbidden":
        return f"{path}: {problem.removeprefix('Value error, ')}"
    model = Config if len(place) == 1 else _model_at(place)
    return f"{path}: there is no such key, there are {', '.join(model.model_fields)}"
