"""The models behind `trimtab.turns.settings`; import them from there."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from trimtab_sdk.errors import InvalidRequestError

_Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]
_Provider = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
_Model = Annotated[str, Field(min_length=1, max_length=256)]
_Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class _Settings(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True
    )


class ContextSettings(_Settings):
    """How the context of a chat is made.

    - `strategy`: the settings of the strategy itself.
    - `context_limit`, `reserve`: tokens, where the catalogue's shall not hold.
    - `target`: the share of the budget that a strategy cuts down to.
    - `tool_result_share`: the share of the budget that the results of one step may take before they are shortened.
    - `provider_compaction_enabled`: whether the provider may compact, where it can.
    """

    strategy: dict[str, object] = Field(default_factory=dict)
    context_limit: _Tokens | None = None
    reserve: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    target: _Share = 0.75
    tool_result_share: _Share = 0.25
    provider_compaction_enabled: bool = True


class Fallback(_Settings):
    """Another model to ask, by the name of its endpoint."""

    provider: _Provider
    model: _Model


class ChatSettings(_Settings):
    """What a chat is carried on with. In JSON the names are camelCase.

    - `provider`: the name of an endpoint, `model`: a model there. `fallbacks` are asked in their order when it is
      overloaded or out of reach, without the chat's `options`, which are of one driver.
    - `context_strategy`, `context_settings`: what makes the context fit.
    - `max_output_tokens`: the longest answer. `options`: the driver's own, as `temperature`.
    - `response_format`: what the answer has to look like, as Chat Completions says it (`json_object`,
      `json_schema`); drivers of other wires turn it into theirs.
    - `tools`: which of the host's tools the model may call; None means all.
    - `max_steps`: how many calls to the provider a turn may take.
    """

    provider: _Provider
    model: _Model
    fallbacks: tuple[Fallback, ...] = ()
    context_strategy: str = "truncate"
    context_settings: ContextSettings = Field(default_factory=ContextSettings)
    max_output_tokens: _Tokens | None = None
    options: dict[str, object] = Field(default_factory=dict)
    response_format: dict[str, object] | None = None
    tools: tuple[str, ...] | None = None
    max_steps: Annotated[int, Field(ge=1, le=1000)] = 20

    def __init__(self, /, **fields: object) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise _wrong(error) from error

    def to_dict(self) -> dict[str, object]:
        """Give the settings as JSON values with camelCase keys."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def changed(self, **fields: object) -> ChatSettings:
        """Give the settings with some of them changed. Raises InvalidRequestError for what cannot be."""
        names = {alias: name for name in type(self).model_fields for alias in (name, to_camel(name))}
        unknown = sorted(fields.keys() - names.keys())
        if unknown:
            raise InvalidRequestError(f"a chat has no setting {unknown[0]!r}", path=unknown[0])
        now = {name: getattr(self, name) for name in self.model_fields_set}
        return ChatSettings(**now | {names[name]: value for name, value in fields.items()})


def _wrong(error: ValidationError) -> InvalidRequestError:
    first = error.errors(include_url=False)[0]
    path = ".".join(str(step) for step in first["loc"])
    return InvalidRequestError(f"the settings of the chat are wrong: {path}: {first['msg']}", path=path)
