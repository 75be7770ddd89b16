"""What an endpoint that speaks Responses can be set to, and what a chat may ask of it."""

from __future__ import annotations

from collections.abc import Mapping

OWN_FIELDS = (
    *("model", "instructions", "input", "previous_response_id", "conversation", "prompt", "tools", "include"),
    *("context_management", "truncation", "store", "background", "stream", "stream_options"),
)
"""Fields of a body that `extra_body` never changes: what is sent, what is kept, and how it comes back."""

PROMPT_CACHE = True
REASONING_SUMMARY = "none"

_TIER: Mapping[str, object] = {"enum": ["auto", "default", "flex", "fast", "priority", "ultrafast"]}
_HEADER: Mapping[str, object] = {"type": "string", "pattern": "^[!-~]{1,200}$"}

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "organization": {**_HEADER, "description": "The organization that pays, for keys that have several."},
        "project": {**_HEADER, "description": "The project that pays, for keys that have several."},
        "truncation": {
            "enum": ["disabled"],
            "default": "disabled",
            "description": "The server never drops what was fitted; there is no other value.",
        },
        "service_tier": {**_TIER, "description": "How quick and how dear answers are; a chat may ask otherwise."},
        "prompt_cache": {
            "type": "boolean",
            "default": PROMPT_CACHE,
            "description": "Tell the server which requests belong to one chat, so that it finds what it cached.",
        },
        "reasoning_summary": {
            "enum": ["auto", "concise", "detailed", "none"],
            "default": REASONING_SUMMARY,
            "description": "Ask for a summary of the model's thinking; some accounts must be verified for it.",
        },
        "encrypted_reasoning": {
            "type": "boolean",
            "description": (
                "Ask for reasoning that can be sent again without the server's store. Left out, all models are "
                "asked but the gpt-4 and gpt-3.5 families, which do not reason and refuse the question."
            ),
        },
        "extra_body": {
            "type": "object",
            "propertyNames": {"not": {"enum": list(OWN_FIELDS)}},
            "description": "Further fields of every request, which go before all others.",
        },
    },
}

_NAME: Mapping[str, object] = {"type": "string", "minLength": 1, "maxLength": 128}
_FUNCTION: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "name"],
    "properties": {"type": {"const": "function"}, "name": _NAME},
}
_ALLOWED: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type", "mode", "tools"],
    "properties": {
        "type": {"const": "allowed_tools"},
        "mode": {"enum": ["auto", "required"]},
        "tools": {"type": "array", "minItems": 1, "items": _FUNCTION},
    },
}

OPTIONS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "top_p": {"type": "number", "minimum": 0, "maximum": 1},
        "reasoning_effort": {"enum": ["none", "minimal", "low", "medium", "high", "xhigh", "max"]},
        "reasoning_context": {"enum": ["auto", "current_turn", "all_turns"]},
        "verbosity": {"enum": ["low", "medium", "high"]},
        "tool_choice": {
            "anyOf": [_NAME, _FUNCTION, _ALLOWED],
            "description": "none, auto, required, the name of a tool, or an object of the wire.",
        },
        "parallel_tool_calls": {"type": "boolean"},
        "max_tool_calls": {"type": "integer", "minimum": 1},
        "metadata": {
            "type": "object",
            "maxProperties": 16,
            "propertyNames": {"maxLength": 64},
            "additionalProperties": {"type": "string", "maxLength": 512},
        },
        "safety_identifier": {"type": "string", "minLength": 1, "maxLength": 64},
        "prompt_cache_key": {
            "type": "string",
            "minLength": 1,
            "maxLength": 512,
            "description": "What the server caches under, in place of the chat.",
        },
        "service_tier": _TIER,
    },
}
