"""What an endpoint of Google's Interactions API can be set to, and what a chat may ask of it."""

from __future__ import annotations

from collections.abc import Mapping

OWN_FIELDS = (
    *("model", "input", "system_instruction", "tools", "stream", "store", "background", "agent"),
    *("previous_interaction_id", "continuation_token"),
)
"""Fields of a body that `extra_body` never changes."""

API_VERSION = "v1"

_LABEL = "^[^\\s]{0,63}$"

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "api_version": {
            "enum": ["v1", "v1beta"],
            "default": API_VERSION,
            "description": "The version of the API, which is the beginning of the path.",
        },
        "api_revision": {
            "type": "string",
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
            "description": "The day of the revision that is asked for, in the header Api-Revision.",
        },
        "thinking_summaries": {
            "enum": ["auto", "none"],
            "description": "Whether summaries of its thoughts come with an answer; left out, Google decides.",
        },
        "labels": {
            "type": "object",
            "maxProperties": 64,
            "propertyNames": {"pattern": "^[^\\s]{1,63}$"},
            "additionalProperties": {"type": "string", "pattern": _LABEL},
            "description": "Labels of every request, by which Google's bills can be told apart.",
        },
        "extra_body": {
            "type": "object",
            "propertyNames": {"not": {"enum": list(OWN_FIELDS)}},
            "description": "Further fields of every request, which go before all others.",
        },
    },
}

_MODE: Mapping[str, object] = {"enum": ["auto", "any", "none", "validated"]}
_ALLOWED: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["allowed_tools"],
    "properties": {
        "allowed_tools": {
            "type": "object",
            "additionalProperties": False,
            "required": ["tools"],
            "properties": {
                "mode": _MODE,
                "tools": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "minLength": 1, "maxLength": 128},
                },
            },
        }
    },
}

OF_GENERATION = ("thinking_level", "tool_choice", "stop_sequences", "temperature", "top_p", "seed")
"""Options that stand in `generation_config`; the others stand in the body itself."""

OPTIONS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "thinking_level": {"enum": ["minimal", "low", "medium", "high", "xhigh"]},
        "tool_choice": {"anyOf": [_MODE, _ALLOWED]},
        "stop_sequences": {
            "type": "array",
            "minItems": 1,
            "maxItems": 16,
            "items": {"type": "string", "minLength": 1},
        },
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "top_p": {"type": "number", "minimum": 0, "maximum": 1},
        "seed": {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
        "service_tier": {"enum": ["flex", "standard", "priority"]},
    },
}
