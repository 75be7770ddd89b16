"""The arguments of a tool: its JSON schema, read from a signature, and what a model wrote, read by it."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from itertools import islice
from typing import TYPE_CHECKING, Annotated, TypeAlias, get_args, get_origin

from trimtab.plain_pydantic import no_pydantic_plugins
from trimtab.turns.tool_context import ToolContext
from trimtab.turns.tool_words import clean_text, one_line
from trimtab_sdk.errors import ConfigError

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

AsyncFunction: TypeAlias = Callable[..., Awaitable[object]]
ReadArguments: TypeAlias = Callable[[str], Mapping[str, object]]
"""Gives the arguments in the text a model wrote; raises ArgumentsError when they are not what the tool takes."""

_MOST_PROBLEMS = 10
_MOST_SHOWN = 300
_SUBSCHEMAS_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_NO_SCHEMA = frozenset({"const", "default", "enum", "example", "examples", "required"})


class ArgumentsError(Exception):
    """The arguments of a call are not what the tool takes. The text tells the model what to write."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a signature says.

    `parameters` is the JSON schema of the arguments, `read` reads what a model wrote, and `context` names the
    parameter that takes the context of the call; it is empty when there is none.
    """

    parameters: Mapping[str, object]
    read: ReadArguments
    context: str = ""


def read_signature(function: AsyncFunction, *, tool: str) -> Signature:
    """Read the signature of a function.

    Raises ConfigError, which says what to write instead, for a parameter a model cannot fill.
    """
    context = ""
    fields: dict[str, Parameter] = {}
    for parameter in _parameters(function, tool):
        _check_kind(parameter, tool)
        if _is_context(parameter.annotation):
            context = parameter.name
        else:
            _check_annotation(parameter, tool)
            fields[parameter.name] = parameter
    model, schema = _model(function, fields, tool)
    names = {f"argument_{at}": name for at, name in enumerate(fields)}
    return Signature(_without_titles(schema), functools.partial(_read_with_model, model, names), context)


def schema_reader(parameters: Mapping[str, object], *, tool: str) -> ReadArguments:
    """Give a reader that checks arguments against a JSON schema, and changes nothing of them.

    Raises ConfigError when that is no JSON schema of an object.
    """
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    if not isinstance(parameters, Mapping) or parameters.get("type") != "object":
        raise ConfigError(f'the parameters of the tool {tool} must be a JSON schema with "type": "object"')
    try:
        Draft202012Validator.check_schema(parameters)
    except SchemaError as error:
        text = one_line(error.message, _MOST_SHOWN)
        raise ConfigError(f"the parameters of the tool {tool} are no JSON schema: {text}") from error
    # With a registry of its own the validator never fetches what a reference names.
    validator = Draft202012Validator(parameters, registry=Registry())

    def read(text: str) -> Mapping[str, object]:
        arguments = _object_in(text)
        faults = islice(validator.iter_errors(arguments), _MOST_PROBLEMS + 1)
        problems = [f"{_place(fault.absolute_path)}{one_line(fault.message, _MOST_SHOWN)}" for fault in faults]
        if problems:
            raise ArgumentsError(_listed(problems))
        return arguments

    return read


def unwrapped(function: AsyncFunction) -> AsyncFunction:
    """Give the function inside `functools.partial`."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _parameters(function: AsyncFunction, tool: str) -> Sequence[Parameter]:
    """Give the parameters that are open: what the app has bound by `functools.partial` is not for the model."""
    bound = function.keywords if isinstance(function, functools.partial) else {}
    try:
        found = inspect.signature(function, eval_str=True).parameters
    except Exception as error:  # an annotation may be any expression
        raise ConfigError(
            f"the signature of the tool {tool} cannot be read: {error}; its types must be imported at run time "
            "and stand at the top of their module"
        ) from error
    return [one for one in found.values() if one.name not in bound]


def _check_kind(parameter: Parameter, tool: str) -> None:
    name = parameter.name
    if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is Parameter.VAR_POSITIONAL else "**"
        raise ConfigError(
            f"the tool {tool} takes {stars}{name}, which a model cannot be told of; write one parameter for each "
            f"argument, or {name}: list[str] or {name}: dict[str, str]"
        )
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        raise ConfigError(
            f"the tool {tool} takes {name} by position only, and models name their arguments; take the / out of "
            "its signature"
        )


def _check_annotation(parameter: Parameter, tool: str) -> None:
    from pydantic.fields import FieldInfo

    name = parameter.name
    if parameter.annotation is Parameter.empty:
        hint = "give the method of an instance" if name == "self" else f"write {name}: str, or whatever it is"
        raise ConfigError(f"the parameter {name} of the tool {tool} has no type; {hint}")
    if isinstance(parameter.default, FieldInfo):
        raise ConfigError(
            f"the default of {name} of the tool {tool} is a Field; "
            f"write {name}: Annotated[TYPE, Field(…)] = DEFAULT"
        )


def _is_context(annotation: object) -> bool:
    if annotation is ToolContext:
        return True
    inside = get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)
    return any(one is ToolContext for one in inside)


def _model(
    function: AsyncFunction, fields: Mapping[str, Parameter], tool: str
) -> tuple[type[BaseModel], dict[str, object]]:
    with no_pydantic_plugins():
        from pydantic import ConfigDict, create_model
        from pydantic.json_schema import GenerateJsonSchema

        class Quiet(GenerateJsonSchema):
            """A default that JSON cannot say is left out of the schema."""

            ignored_warning_kinds = frozenset({"skipped-choice", "non-serializable-default"})  # type: ignore[assignment]

        wanted = {f"argument_{at}": _field(fields[name]) for at, name in enumerate(fields)}
        try:
            model: type[BaseModel] = create_model(  # type: ignore[call-overload]
                tool,
                __config__=ConfigDict(extra="forbid", allow_inf_nan=False),
                __module__=unwrapped(function).__module__,
                **wanted,
            )
            return model, model.model_json_schema(schema_generator=Quiet)
        except Exception as error:  # an annotation may bring code of its own
            text = one_line(str(error), 2 * _MOST_SHOWN)
            raise ConfigError(
                f"the signature of the tool {tool} has a type that JSON has no schema for; take texts, numbers, "
                f"lists, dicts, dataclasses or pydantic models: {text}"
            ) from error


def _field(parameter: Parameter) -> tuple[object, object]:
    """Give a field under another name: a parameter may be called like something every model has."""
    from pydantic import Field

    name = parameter.name
    default = ... if parameter.default is Parameter.empty else parameter.default
    field: object = Field(default, alias=name, validation_alias=name, serialization_alias=name)
    words = [one.documentation for one in _metadata(parameter.annotation) if hasattr(one, "documentation")]
    if words and isinstance(words[-1], str):
        return Annotated[parameter.annotation, Field(description=words[-1])], field
    return parameter.annotation, field


def _metadata(annotation: object) -> Sequence[object]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def _without_titles(schema: Mapping[str, object]) -> dict[str, object]:
    """Give a schema without the titles that repeat its names."""
    return {key: _inner(key, value) for key, value in schema.items() if key != "title"}


def _inner(key: str, value: object) -> object:
    if key in _NO_SCHEMA:
        return value
    if key in _SUBSCHEMAS_BY_NAME and isinstance(value, Mapping):
        return {name: _bare(one) for name, one in value.items()}
    return _bare(value)


def _bare(value: object) -> object:
    if isinstance(value, Mapping):
        return _without_titles(value)
    return [_bare(one) for one in value] if isinstance(value, list) else value


def _read_with_model(model: type[BaseModel], names: Mapping[str, str], text: str) -> Mapping[str, object]:
    from pydantic import ValidationError

    try:
        given = model.model_validate_json(_some(text))
    except ValidationError as error:
        known = ", ".join(names.values())
        raise ArgumentsError(_listed(_problems(error.errors(include_url=False), known))) from error
    return {name: getattr(given, field) for field, name in names.items() if field in given.model_fields_set}


def _some(text: str) -> str:
    """A model that has nothing to say may write nothing."""
    return text if text and not text.isspace() else "{}"


def _problems(errors: Sequence[ErrorDetails], known: str) -> Iterator[str]:
    for error in errors:
        place = _place(error["loc"])
        match error["type"]:
            case "json_invalid":
                yield f"they are no valid JSON: {error['ctx']['error']}"
            case "model_type" | "string_unicode" if not place:
                yield "they must be one JSON object"
            case "missing":
                yield f"{place}is missing"
            case "extra_forbidden" if len(error["loc"]) == 1:
                yield f"{place}there is no such argument, only: {known or 'none at all'}"
            case _:
                yield f"{place}{one_line(error['msg'], _MOST_SHOWN)}, not {_shown(error['input'])}"


def _shown(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value[:40] + "…" if len(value) > 40 else value, ensure_ascii=False)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)[:40]


def _place(path: Sequence[int | str]) -> str:
    return one_line(".".join(map(str, path)), _MOST_SHOWN) + ": " if path else ""


def _listed(problems: Sequence[str] | Iterator[str]) -> str:
    told = list(islice(problems, _MOST_PROBLEMS + 1))
    more = ["and more"] if len(told) > _MOST_PROBLEMS else []
    return clean_text("; ".join(told[:_MOST_PROBLEMS] + more))


def _object_in(text: str) -> dict[str, object]:
    from pydantic_core import from_json

    try:
        found: object = from_json(_some(text), allow_inf_nan=False)
    except ValueError as error:
        raise ArgumentsError(f"they are no valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise ArgumentsError("they must be one JSON object")
    return found
