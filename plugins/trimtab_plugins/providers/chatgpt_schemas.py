"""What an endpoint that asks ChatGPT's own server can be set to, and what a chat may ask of it."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.providers.responses_schemas import OPTIONS as RESPONSES_OPTIONS

SWITCH = "accept_unofficial_api"
"""The setting without which this provider sends nothing."""

INSTRUCTIONS = "Follow the developer's instructions in this conversation."
ORIGINATOR = "trimtab"
PROMPT_CACHE = True
REASONING_SUMMARY = "auto"

_RESPONSES = RESPONSES_OPTIONS["properties"]
_SHARED: Mapping[str, object] = _RESPONSES if isinstance(_RESPONSES, Mapping) else {}
_HEADER: Mapping[str, object] = {"type": "string", "pattern": "^[!-~]{1,200}$"}
_TIER: Mapping[str, object] = {"enum": ["default", "priority"]}

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": [SWITCH],
    "properties": {
        SWITCH: {
            "const": True,
            "description": (
                "true says that you know: this server has no public API, it changes without notice, and asking it "
                "from another program may be against its terms of service. Nothing is sent without it."
            ),
        },
        "account_id": {**_HEADER, "description": "The account that the token belongs to."},
        "originator": {
            **_HEADER,
            "default": ORIGINATOR,
            "description": "The name by which this program tells the server what it is.",
        },
        "instructions": {
            "type": "string",
            "minLength": 1,
            "default": INSTRUCTIONS,
            "description": (
                "What stands in `instructions`, which the server wants and may check; the system text of a chat "
                "goes out as a message of the developer. No fit counts it."
            ),
        },
        "reasoning_summary": {
            "enum": ["auto", "concise", "detailed", "none"],
            "default": REASONING_SUMMARY,
            "description": "Ask for a summary of the model's thinking.",
        },
        "service_tier": {**_TIER, "description": "How quick answers are; a chat may ask otherwise."},
        "prompt_cache": {
            "type": "boolean",
            "default": PROMPT_CACHE,
            "description": "Tell the server which requests belong to one chat, so that it finds what it cached.",
        },
    },
}

OPTIONS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "reasoning_effort": _SHARED["reasoning_effort"],
        "verbosity": _SHARED["verbosity"],
        "tool_choice": _SHARED["tool_choice"],
        "parallel_tool_calls": _SHARED["parallel_tool_calls"],
        "service_tier": _TIER,
    },
}
