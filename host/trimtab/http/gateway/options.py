"""The fields that steer a model, from Chat Completions to the options of the driver that is asked.

What a client counts on (`stop`, `tool_choice`) and the driver has no place for is refused. What only leans on the
answer (`temperature`, `seed`, `user`) is left out then, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from trimtab.http.gateway.refusing import UnsupportedError

if TYPE_CHECKING:
    from trimtab_sdk.provider import Provider

Options: TypeAlias = dict[str, Any]
Schema: TypeAlias = Mapping[str, Any]

_LEANING = frozenset(
    {
        *("temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty"),
        *("seed", "reasoning_effort", "verbosity"),
    }
)
SERVING = frozenset(
    {
        *("user", "safety_identifier", "metadata", "service_tier", "store", "prediction"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"),
    }
)
"""What is about the request, as who pays and what is cached, and nothing to the answer."""
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "stop": ("stop_sequences",),
    "reasoning_effort": ("effort", "thinking_level"),
    "user": ("safety_identifier", "user_id"),
    "safety_identifier": ("user_id",),
}
_NEUTRAL: Mapping[str, Any] = {
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "store": False,
    "parallel_tool_calls": True,
}


def options_for(driver: Provider, asked: Mapping[str, Any], *, has_tools: bool) -> tuple[Options, tuple[str, ...]]:
    """Give the driver's options, and the names of the fields that are left out.

    `asked` are the fields of the body that steer the model. Raises UnsupportedError, and for a field that nobody
    knows.
    """
    schema = driver.options_schema or {}
    known = schema.get("properties")
    properties: Schema = known if isinstance(known, Mapping) else {}
    options: Options = {}
    left: list[str] = []
    for name, value in asked.items():
        if name == "tool_choice":
            options |= _tool_choice(driver.codec, value, properties, has_tools=has_tools)
            continue
        if name == "parallel_tool_calls" and not has_tools:
            continue
        place = _place_of(name, value, properties, driver.codec)
        if place is not None:
            options[place[0]] = place[1]
        elif not _asks_for_nothing(name, value):
            left.append(_left_out(name, driver.name))
    return options, tuple(left)


def _asks_for_nothing(name: str, value: Any) -> bool:
    return name in _NEUTRAL and value == _NEUTRAL[name]


def _left_out(name: str, provider: str) -> str:
    if name in _LEANING or name in SERVING:
        return name
    raise UnsupportedError(name, f"the provider {provider!r} has no place for it")


def _place_of(name: str, value: Any, properties: Schema, codec: str) -> tuple[str, Any] | None:
    """Give the option a field becomes, None where the driver has none that takes the value."""
    for place, worded in _places(name, value, codec):
        if place in properties and _is_taken(name, worded, properties[place]):
            return place, worded
    return None


def _places(name: str, value: Any, codec: str) -> Iterator[tuple[str, Any]]:
    if name != "metadata" or codec == "openai-responses":
        yield name, value
    for other in _OTHER_NAMES.get(name, ()):
        yield other, [value] if other == "stop_sequences" and isinstance(value, str) else value
    if name in ("user", "safety_identifier") and codec == "anthropic-messages":
        yield "metadata", {"user_id": value}


def _is_taken(name: str, value: Any, schema: Any) -> bool:
    """Tell whether an option takes a value. A value that counts is passed on all the same, to be refused there."""
    if name not in SERVING and name not in ("reasoning_effort", "verbosity", "seed"):
        return True
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(schema).is_valid(value))


def _tool_choice(codec: str, choice: Any, properties: Schema, *, has_tools: bool) -> Options:
    if not has_tools:
        if choice in ("none", "auto"):
            return {}
        raise UnsupportedError("tool_choice", "the request has no tools")
    if "tool_choice" not in properties:
        if choice == "auto":
            return {}
        raise UnsupportedError("tool_choice", "the provider has no place for it")
    return {"tool_choice": _CHOICES.get(codec, _as_it_is)(choice)}


def _as_it_is(choice: Any) -> Any:
    return choice


def _name_in(choice: Any) -> str | None:
    """Give the name of the one function that is to be called."""
    function = choice.get("function") if isinstance(choice, Mapping) and choice.get("type") == "function" else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _allowed_in(choice: Any) -> tuple[str, list[str]] | None:
    """Give the mode and the names of functions that may be called."""
    allowed = choice.get("allowed_tools") if isinstance(choice, Mapping) else None
    if not isinstance(allowed, Mapping) or not isinstance(tools := allowed.get("tools"), list):
        return None
    names = [_name_in(tool) for tool in tools]
    return str(allowed.get("mode", "auto")), [name for name in names if name is not None]


def _for_responses(choice: Any) -> Any:
    if (name := _name_in(choice)) is not None:
        return {"type": "function", "name": name}
    if (allowed := _allowed_in(choice)) is not None:
        mode, names = allowed
        return {
            "type": "allowed_tools",
            "mode": mode,
            "tools": [{"type": "function", "name": name} for name in names],
        }
    return choice


def _for_messages(choice: Any) -> Any:
    if (name := _name_in(choice)) is not None:
        return {"type": "tool", "name": name}
    if _allowed_in(choice) is not None:
        raise UnsupportedError(
            "tool_choice", "this provider cannot be told several allowed tools; give only those"
        )
    return choice


def _for_interactions(choice: Any) -> Any:
    if choice == "required":
        return "any"
    if (name := _name_in(choice)) is not None:
        return {"allowed_tools": {"mode": "any", "tools": [name]}}
    if (allowed := _allowed_in(choice)) is not None:
        mode, names = allowed
        return {"allowed_tools": {"mode": "any" if mode == "required" else "auto", "tools": names}}
    return choice


_CHOICES: Mapping[str, Callable[[Any], Any]] = {
    "openai-responses": _for_responses,
    "anthropic-messages": _for_messages,
    "gemini-interactions": _for_interactions,
}
