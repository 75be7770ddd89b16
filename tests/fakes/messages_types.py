"""The types of the official SDK as closed JSON schemas, part by part, so that a verdict on a part can be kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json

_OPEN = frozenset({"InputSchemaTyped"})
_ROLES = {"user": "UserMessageParam", "assistant": "AssistantMessageParam", "system": "SystemMessageParam"}
_OLD: Json = {
    "temperature": {"type": "number", "minimum": 0, "maximum": 1},
    "top_p": {"type": "number", "minimum": 0, "maximum": 1},
    "top_k": {"type": "integer", "minimum": 0},
}
"""What only the older version of the API takes; the types of the SDK are those of the newer one."""
OLD_VERSION, NEW_VERSION = "2023-06-01", "2026-10-21"


def body_wrongs(body: Json, *, version: str, beta: bool, counting: bool) -> Iterator[Wrong]:
    """Judge the types of a body but for its messages."""
    messages = body.get("messages")
    head = {**body, "messages": []} if isinstance(messages, list) else body
    whole = head if counting else {"stream": False, **head}
    yield from _wrongs(_body_validator(version, beta, counting), whole, "")


def message_wrongs(message: Json, place: str, *, beta: bool) -> Iterator[Wrong]:
    """Judge the types of one message."""
    role = message.get("role") if isinstance(message, dict) else None
    if role not in _ROLES:
        yield Wrong(f"{place}.role: unknown role {role!r}", f"{place}.role")
        return
    yield from _wrongs(_message_validator(role, beta), message, place)


def event_faults(event: Json) -> list[str]:
    """Give what the official SDK finds wrong with an event of a stream."""
    return _sdk_faults("RawMessageStreamEvent", event)


def message_faults(message: Json) -> list[str]:
    """Give what the official SDK finds wrong with an answer that is no stream."""
    return _sdk_faults("Message", message)


def _sdk_faults(name: str, value: Json) -> list[str]:
    import pydantic

    try:
        _sdk_adapter(name).validate_json(json.dumps(value), strict=True)
    except pydantic.ValidationError as error:
        return [f"{one['loc']}: {one['msg']}" for one in error.errors()]
    return []


@cache
def _sdk_adapter(name: str) -> Any:
    from anthropic import types
    from pydantic import TypeAdapter

    return TypeAdapter(getattr(types, name))


def _wrongs(validator: Draft202012Validator, value: Json, place: str) -> Iterator[Wrong]:
    for error in validator.iter_errors(value):
        deepest = _deepest(error)
        path = ".".join(part for part in (place, *(str(one) for one in deepest.absolute_path)) if part)
        yield Wrong(f"{path or 'body'}: {deepest.message[:200]}", path or None)


def _deepest(error: ValidationError) -> ValidationError:
    """Follow the variant that a value means, which is the one whose `type` it has."""
    while error.context:
        variants: dict[object, list[ValidationError]] = {}
        for inner in error.context:
            variants.setdefault(inner.schema_path[0], []).append(inner)
        meant = [found for found in variants.values() if not any(_is_other(one) for one in found)]
        if not meant:
            return error
        fewest = sorted(meant, key=len)[0]
        error = max(fewest, key=lambda one: len(one.path))
    return error


def _is_other(error: ValidationError) -> bool:
    is_named = list(error.path)[-1:] == ["type"] and error.validator in ("const", "enum")
    return is_named or error.validator == "type"


@cache
def _body_validator(version: str, beta: bool, counting: bool) -> Draft202012Validator:
    schema = dict(_schema(beta, counting))
    if version == OLD_VERSION and not counting:
        schema["properties"] = {**schema["properties"], **_OLD}
    schema["properties"] = {key: value for key, value in schema["properties"].items() if key != "betas"}
    return Draft202012Validator(schema)


@cache
def _message_validator(role: str, beta: bool) -> Draft202012Validator:
    name = f"{'Beta' if beta else ''}{_ROLES[role]}"
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": _schema(beta, False)["$defs"]})


@cache
def _schema(beta: bool, counting: bool) -> Any:
    from anthropic import types
    from anthropic.types import beta as beta_types
    from pydantic import TypeAdapter

    home = beta_types if beta else types
    module: Any = home.message_count_tokens_params if counting else home.message_create_params
    params = module.MessageCountTokensParams if counting else module.MessageCreateParamsStreaming
    schema = _closed(TypeAdapter(params).json_schema())
    schema["properties"].setdefault("stream", {})
    if not counting:
        schema["properties"]["stream"] = {"type": "boolean"}
    return schema


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(closed.get("properties"), dict) and closed.get("title") not in _OPEN:
        closed["additionalProperties"] = False
    return closed
