"""What the host app decides: whom to trust, which interceptors run, what happens when a plugin cheats."""

from __future__ import annotations

from typing import Annotated, Literal

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from trimtab.loading.discovery import normalized
from trimtab_sdk.errors import ConfigError

INTERCEPTOR_SECONDS = 5.0
STRATEGY_SECONDS = 60.0


class Limits(BaseModel):
    """What one plugin may use in a call: `seconds` of time, by default 5 for an interceptor, 60 for a strategy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seconds: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] | None = None


class Interceptor(BaseModel):
    """An interceptor that runs, with its settings. A plain name stands for one without settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    settings: dict[str, object] = Field(default_factory=dict)


class Config(BaseModel):
    """The host app's decisions. All of them are optional.

    - `trusted`: distributions whose plugins may run in this process, with a version range if wanted, as
      `"trimtab-recap>=1,<2"`.
    - `blocked`: distributions or plugin names that never run. Built-ins cannot be blocked.
    - `interceptors`: which ones run, in this order. None means all that are registered or come from a trusted
      distribution, by name.
    - `may_redact_protected`: interceptors that may shorten protected text, to take secrets out.
    - `on_violation`: a plugin that broke the contract is replaced by the host's own shift (`fallback`), or
      the fit ends with its error (`error`).
    - `limits`: plugin name → what it may use; the key `*` stands for all others.
    - `models`: model name → figures that go before the catalogue's (`context_limit`, `max_input`,
      `max_output`, `encoding`, `provider`).

    Raises ConfigError when a field is wrong.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    trusted: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    interceptors: tuple[Interceptor, ...] | None = None
    may_redact_protected: tuple[str, ...] = ()
    on_violation: Literal["fallback", "error"] = "fallback"
    limits: dict[str, Limits] = Field(default_factory=dict)
    models: dict[str, dict[str, object]] = Field(default_factory=dict)

    def __init__(self, **fields: object) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise ConfigError(_explain(error)) from error

    @field_validator("trusted")
    @classmethod
    def _check_trusted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for line in value:
            try:
                Requirement(line)
            except InvalidRequirement as error:
                raise ValueError(f"{line!r} is no distribution with a version range: {error}") from error
        return value

    @field_validator("interceptors", mode="before")
    @classmethod
    def _name_interceptors(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return tuple({"name": one} if isinstance(one, str) else one for one in value)

    def trusts(self, distribution: str, version: str) -> bool:
        """Tell whether a distribution is named in `trusted` with a range that this version is in."""
        for line in self.trusted:
            requirement = Requirement(line)
            if normalized(requirement.name) == normalized(distribution):
                return requirement.specifier.contains(version, prereleases=True)
        return False

    def blocks(self, distribution: str, name: str) -> bool:
        """Tell whether a plugin, or its distribution, is named in `blocked`."""
        return name in self.blocked or normalized(distribution) in {normalized(one) for one in self.blocked}

    def seconds_for(self, name: str, *, strategy: bool) -> float:
        """Give the time limit of one call of a plugin, in seconds."""
        limits = self.limits.get(name) or self.limits.get("*")
        if limits is not None and limits.seconds is not None:
            return limits.seconds
        return STRATEGY_SECONDS if strategy else INTERCEPTOR_SECONDS


def _explain(error: ValidationError) -> str:
    faults = [f"{'.'.join(str(step) for step in fault['loc'])}: {fault['msg']}" for fault in error.errors()]
    return "the configuration is wrong: " + "; ".join(faults)
