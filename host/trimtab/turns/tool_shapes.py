"""Tools as a caller hands them over, in the shape of any wire, read into specifications."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from trimtab.fitting.outside import clean_input
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.provider import ToolSpec

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema")


def read_tools(given: Sequence[ToolSpec | Mapping[str, object]], *, path: str = "tools") -> tuple[ToolSpec, ...]:
    """Read tools: specifications, or functions in the shape of Chat Completions, Responses, Messages or Gemini.

    Raises InvalidRequestError for anything else, as a tool that a server runs itself, and for a name twice.
    """
    specs = tuple(_read_tool(one, f"{path}[{at}]") for at, one in enumerate(given))
    names = [spec.name for spec in specs]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise InvalidRequestError(f"there are two tools named {twice!r}; give each its own name", path=path)
    return specs


def _read_tool(given: object, path: str) -> ToolSpec:
    if isinstance(given, ToolSpec):
        return given
    cleaned = clean_input(given).data
    if not isinstance(cleaned, dict):
        raise InvalidRequestError(f"{path} must be an object", path=path)
    kind = cleaned.get("type", "function")
    if kind not in ("function", "custom") or (kind == "custom" and "input_schema" not in cleaned):
        raise InvalidRequestError(f"{path} is of the type {kind!r}; only functions can be carried", path=path)
    function = cleaned.get("function", cleaned)
    if not isinstance(function, dict):
        raise InvalidRequestError(f"{path}.function must be an object", path=f"{path}.function")
    return _read_function(function, path)


def _read_function(function: Mapping[str, object], path: str) -> ToolSpec:
    name, description = function.get("name"), function.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidRequestError(f"{path} needs a name of 1 to 64 of a-z A-Z 0-9 _ -", path=f"{path}.name")
    if description is not None and not isinstance(description, str):
        raise InvalidRequestError(f"the description of {path} must be a text", path=f"{path}.description")
    strict = function.get("strict")
    if strict is not None and not isinstance(strict, bool):
        raise InvalidRequestError(f"strict of {path} must be true or false", path=f"{path}.strict")
    schema = next((function[key] for key in _SCHEMAS if function.get(key) is not None), None)
    if schema is None:
        return ToolSpec(name, description or "", strict=strict)
    if not isinstance(schema, dict):
        raise InvalidRequestError(f"the parameters of {path} must be a JSON schema", path=f"{path}.parameters")
    return ToolSpec(name, description or "", schema, strict)
