"""What all bodies have in common: camelCase names, and no field that means nothing."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError


def whole(value: object) -> object:
    """Take 5.0 for 5: to JSON they are the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


MOST_NUMBER = (1 << 31) - 1
"""The largest number of a message or an event that a store has."""
Revision: TypeAlias = Annotated[int, Field(ge=1, le=1 << 53), BeforeValidator(whole)]
Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=255)]
JsonObject: TypeAlias = dict[str, JsonValue]


def _only(kind: type, named: str) -> BeforeValidator:
    """Refuse a list at its first item of another kind: pydantic would keep an error for each of millions."""

    def check(value: object) -> object:
        for at, one in enumerate(value if isinstance(value, list) else ()):
            if not isinstance(one, kind):
                fault = PydanticCustomError("wrong_item", "Input should be {named}", {"named": named})
                raise ValidationError.from_exception_data(
                    "list", [InitErrorDetails(type=fault, loc=(at,), input=None)]
                )
        return value

    return BeforeValidator(check)


ONLY_OBJECTS = _only(dict, "an object")
ONLY_TEXTS = _only(str, "a text")
JsonObjects: TypeAlias = Annotated[list[JsonObject], ONLY_OBJECTS]


class Body(BaseModel):
    """A request's body. A field that it does not have is refused, and those it has are named."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _name_the_known(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            unknown = next((key for key in data if key not in known), None)
            if unknown is not None:
                raise PydanticCustomError(
                    "unknown_field",
                    "there is no field {name}; there are {known}",
                    {"name": repr(unknown[:100]), "known": ", ".join(known)},
                )
        return data


class Shape(BaseModel):
    """An answer's body, or a part of one."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class Problem(Shape):
    """What went wrong, as RFC 9457 has it. Data of the error stand beside these fields, by code."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel)

    type: Annotated[str, Field(examples=["urn:trimtab:problem:chat-not-found"])]
    title: Annotated[str, Field(examples=["Not Found"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["there is no chat 'c1' of this owner"])]
    code: Annotated[str, Field(examples=["CHAT_NOT_FOUND"])]
    retryable: Annotated[bool, Field(description="Whether the same request may succeed a little later.")]
    request_id: Annotated[str, Field(examples=["4be1f0a5c9d27e63"])]
