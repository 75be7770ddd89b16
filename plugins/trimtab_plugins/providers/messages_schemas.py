"""What an endpoint that speaks Anthropic Messages can be set to, and what a chat may ask of it."""

from __future__ import annotations

from collections.abc import Mapping

OWN_FIELDS = (
    *("model", "max_tokens", "system", "messages", "tools", "stream"),
    *("thread", "compaction", "context_management"),
)
"""Fields of a body that `extra_body` never changes: what is sent, what is kept, and how it comes back."""

STABLE_VERSION = "2023-06-01"
STRICT_VERSION = "2026-10-21"
"""The version without `temperature`, `top_p` and `top_k`."""

MAX_TOKENS = 8192
"""The room for an answer, without thinking that has a budget, where nobody says another."""

LEAST_BUDGET = 1024

_TIER: Mapping[str, object] = {"enum": ["auto", "standard_only"]}
_NAME: Mapping[str, object] = {"type": "string", "minLength": 1, "maxLength": 128}

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "version": {
            "enum": [STABLE_VERSION, STRICT_VERSION],
            "default": STABLE_VERSION,
            "description": "The version of the API. The later one takes no temperature, top_p and top_k.",
        },
        "beta": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[A-Za-z0-9_.-]{1,100}$"},
            "maxItems": 50,
            "uniqueItems": True,
            "description": "Names for the header anthropic-beta, in this order.",
        },
        "max_tokens": {
            "type": "integer",
            "minimum": 1,
            "maximum": 2**31 - 1,
            "default": MAX_TOKENS,
            "description": "The room for an answer where nothing else sets it; a thinking budget comes on top.",
        },
        "cache": {
            "enum": ["auto", "off"],
            "default": "auto",
            "description": (
                "Mark where the part of a request ends that the next one repeats: behind the tools, the system "
                "text, what came before the current input, and the latest results of tools."
            ),
        },
        "cache_ttl": {"enum": ["5m", "1h"], "description": "How long the server caches; 5m when left out."},
        "thinking_display": {
            "enum": ["summarized", "omitted"],
            "description": "Whether thinking that a chat asks for is shown; the model's own way when left out.",
        },
        "thinking_mismatch": {
            "enum": ["error", "drop_block"],
            "description": (
                "What the server does with thinking that was made in front of other messages, where a chat asks "
                "for thinking. It is a beta, whose header is added."
            ),
        },
        "threads": {
            "type": "boolean",
            "default": False,
            "description": (
                "Let the server keep the conversation for the next call, which is sent only what is new then. It "
                "is a beta, whose header is added; a thread is lost five minutes after its last answer."
            ),
        },
        "service_tier": {**_TIER, "description": "Whether reserved capacity is used; a chat may ask otherwise."},
        "extra_body": {
            "type": "object",
            "propertyNames": {"not": {"enum": list(OWN_FIELDS)}},
            "description": "Further fields of every request, which go before all others.",
        },
    },
}

_CHOICE: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["type"],
    "properties": {
        "type": {"enum": ["auto", "any", "tool", "none"]},
        "name": _NAME,
        "disable_parallel_tool_use": {"type": "boolean"},
    },
}

OPTIONS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "not": {"required": ["thinking", "thinking_budget"]},
    "properties": {
        "temperature": {"type": "number", "minimum": 0, "maximum": 1},
        "top_p": {"type": "number", "minimum": 0, "maximum": 1},
        "top_k": {"type": "integer", "minimum": 0},
        "stop_sequences": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 100},
        "thinking": {
            "enum": ["adaptive", "between_tools", "disabled"],
            "description": "How the model thinks; which ways there are depends on the model.",
        },
        "thinking_budget": {
            "type": "integer",
            "minimum": LEAST_BUDGET,
            "maximum": 2**31 - 1,
            "description": "Tokens for thinking, within the output limit, on models that take a budget.",
        },
        "effort": {"enum": ["low", "medium", "high", "xhigh", "max"]},
        "tool_choice": {
            "anyOf": [_NAME, _CHOICE],
            "description": "none, auto, any or required, the name of a tool, or an object of the wire.",
        },
        "parallel_tool_calls": {"type": "boolean"},
        "metadata": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"user_id": {"type": "string", "minLength": 1, "maxLength": 256}},
        },
        "service_tier": _TIER,
    },
}
