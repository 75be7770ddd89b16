"""What tool schemas cost in the request.

The recipe is the one OpenAI's cookbook gives for function tools, measured there for models of the gpt-4 and
gpt-4o families: a fixed cost for each function, one line of text for each function and each property, a cost
for each value of an enum, and 12 tokens once at the end. It knows flat schemas only. Here nested properties
and items are priced like properties, and whatever else a schema says is counted as its JSON text, so nothing
is left uncounted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab_plugins.codecs.reading import json_text
from trimtab_sdk import CountText

_FUNCTION = 7
_FUNCTION_CL100K = 10
_PROPERTIES = 3
_PROPERTY = 3
_ENUM = -3
_ENUM_VALUE = 3
_END = 12


def tools_cost(tools: Sequence[object], profile: str, count: CountText) -> int:
    """Give the tokens of all tools. One that is no function object is counted as its JSON text."""
    total, functions = 0, 0
    for tool in tools:
        function = _function_in(tool)
        if function is None or not isinstance(tool, Mapping):
            total += count(json_text(tool))
        else:
            functions += 1
            total += _function_cost(function, profile, count) + _rest_cost(tool, ("type", "function"), count)
    return total + (_END if functions else 0)


def _function_in(tool: object) -> Mapping[str, object] | None:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    if isinstance(function, Mapping) and isinstance(function.get("name"), str):
        return function
    return None


def _function_cost(function: Mapping[str, object], profile: str, count: CountText) -> int:
    covered = ["name"]
    line = f"{function['name']}:{_description(function, covered)}"
    total = (_FUNCTION_CL100K if profile.startswith("cl100k") else _FUNCTION) + count(line)
    parameters = function.get("parameters")
    if isinstance(parameters, Mapping):
        covered.append("parameters")
        total += sum(_costs_inside(parameters, ["type"], count))
    if isinstance(function.get("strict"), bool | None):
        covered.append("strict")
    return total + _rest_cost(function, covered, count)


def _property_cost(name: str, schema: object, count: CountText) -> int:
    if not isinstance(schema, Mapping):
        return _PROPERTY + count(f"{name}:{json_text(schema)}")
    covered = ["type"]
    line = f"{name}:{_type_of(schema)}:{_description(schema, covered)}"
    return _PROPERTY + count(line) + sum(_costs_inside(schema, covered, count))


def _costs_inside(schema: Mapping[str, object], covered: list[str], count: CountText) -> Iterator[int]:
    """The costs of what a schema holds besides its own line; `covered` are the keys that line speaks for."""
    values, properties, items = schema.get("enum"), schema.get("properties"), schema.get("items")
    if isinstance(values, list):
        covered.append("enum")
        yield _ENUM + sum(_ENUM_VALUE + count(_plain(value)) for value in values)
    if isinstance(properties, Mapping):
        covered.append("properties")
        if properties:
            yield _PROPERTIES
        for name, inner in properties.items():
            yield _property_cost(name, inner, count)
    if isinstance(items, Mapping):
        covered.append("items")
        yield _property_cost("items", items, count)
    if _is_told_by_properties(schema.get("required"), properties):
        covered.append("required")
    if isinstance(schema.get("additionalProperties"), bool):
        covered.append("additionalProperties")
    yield _rest_cost(schema, covered, count)


def _is_told_by_properties(required: object, properties: object) -> bool:
    """Whether `required` only marks properties whose names are counted already."""
    if not isinstance(required, list) or not isinstance(properties, Mapping):
        return False
    return len(required) <= len(properties) and all(
        isinstance(name, str) and name in properties for name in required
    )


def _type_of(schema: Mapping[str, object]) -> str:
    return _plain(schema.get("type", ""))


def _description(schema: Mapping[str, object], covered: list[str]) -> str:
    covered.append("description")
    text = _plain(schema.get("description") or "")
    return text.removesuffix(".")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json_text(value)


def _rest_cost(holder: Mapping[str, object], covered: Sequence[str], count: CountText) -> int:
    rest = {key: value for key, value in holder.items() if key not in covered}
    return count(json_text(rest)) if rest else 0
