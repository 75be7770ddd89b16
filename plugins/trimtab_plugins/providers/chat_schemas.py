"""What an endpoint that speaks Chat Completions can be set to, and what a chat may ask of it."""

from __future__ import annotations

from collections.abc import Mapping

OWN_FIELDS = ("model", "messages", "stream", "tools")
"""Fields of a body that `extra_body` never changes."""

MAX_TOKENS_FIELD = "max_tokens"
SEND_REASONING = "running"
SYSTEM_ROLE = "system"

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "max_tokens_field": {
            "enum": ["max_tokens", "max_completion_tokens"],
            "default": MAX_TOKENS_FIELD,
            "description": "The field for the output limit; OpenAI's newer models refuse max_tokens.",
        },
        "include_usage": {
            "type": "boolean",
            "default": True,
            "description": "Ask for the usage at the end of the stream; some servers refuse stream_options.",
        },
        "system_role": {
            "enum": ["system", "developer"],
            "default": SYSTEM_ROLE,
            "description": "The role of system texts; most servers know system alone.",
        },
        "merge_roles": {
            "type": "boolean",
            "default": False,
            "description": "Join neighbours of the same role, for templates that want user and assistant in turn.",
        },
        "send_reasoning": {
            "enum": ["never", "running", "always"],
            "default": SEND_REASONING,
            "description": "Whether reasoning texts are sent again: while their turn runs, always, or never.",
        },
        "parallel_tool_calls": {
            "type": "boolean",
            "description": "Whether the model may call several tools at once; left out, the server decides.",
        },
        "extra_body": {
            "type": "object",
            "propertyNames": {"not": {"enum": list(OWN_FIELDS)}},
            "description": "Further fields of every request, which go before all others.",
        },
    },
}

_FUNCTION: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "function"],
    "properties": {
        "type": {"const": "function"},
        "function": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 64}},
        },
    },
}
_ALLOWED: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "allowed_tools"],
    "properties": {
        "type": {"const": "allowed_tools"},
        "allowed_tools": {
            "type": "object",
            "additionalProperties": False,
            "required": ["mode", "tools"],
            "properties": {
                "mode": {"enum": ["auto", "required"]},
                "tools": {"type": "array", "minItems": 1, "items": _FUNCTION},
            },
        },
    },
}
_STOP: Mapping[str, object] = {"type": "string", "minLength": 1}

OPTIONS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "top_p": {"type": "number", "minimum": 0, "maximum": 1},
        "presence_penalty": {"type": "number", "minimum": -2, "maximum": 2},
        "frequency_penalty": {"type": "number", "minimum": -2, "maximum": 2},
        "seed": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
        "stop": {"anyOf": [_STOP, {"type": "array", "minItems": 1, "maxItems": 16, "items": _STOP}]},
        "reasoning_effort": {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"]},
        "verbosity": {"enum": ["low", "medium", "high"]},
        "tool_choice": {"anyOf": [{"enum": ["none", "auto", "required"]}, _FUNCTION, _ALLOWED]},
        "parallel_tool_calls": {"type": "boolean"},
        "user": {"type": "string", "minLength": 1, "maxLength": 512},
        "prompt_cache_key": {"type": "string", "minLength": 1, "maxLength": 512},
    },
}
