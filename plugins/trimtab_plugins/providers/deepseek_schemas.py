"""What an endpoint that speaks to DeepSeek can be set to, and what a chat may ask of it."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.providers.chat_schemas import OPTIONS as CHAT_OPTIONS
from trimtab_plugins.providers.chat_schemas import OWN_FIELDS

EFFORTS: Mapping[str, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "high",
    "high": "high",
    "xhigh": "high",
    "max": "max",
    "ultra": "max",
}
"""The words for how long a model may think → those of this wire, as DeepSeek itself maps them."""

_CHAT = CHAT_OPTIONS["properties"]
_SHARED: Mapping[str, object] = _CHAT if isinstance(_CHAT, Mapping) else {}
_THINKING: Mapping[str, object] = {"enum": ["enabled", "disabled"]}
_EFFORT: Mapping[str, object] = {"enum": ["none", *EFFORTS]}
_USER: Mapping[str, object] = {"type": "string", "pattern": "^[!-~]{1,512}$"}

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "thinking": {
            **_THINKING,
            "description": "Whether models think; left out, the server decides. A chat may ask otherwise.",
        },
        "reasoning_effort": {
            **_EFFORT,
            "description": "How long models think; `none` switches it off. A chat may ask otherwise.",
        },
        "generation": {
            "enum": ["r1", "v4"],
            "description": (
                "Which rule for reasoning_content holds: r1 takes it back while a turn runs and no longer, v4 "
                "wants it with all later requests. Left out, the model's name tells."
            ),
        },
        "user_id": {
            **_USER,
            "description": "Sets apart caches and safety checks; another value for each chat splits the cache.",
        },
        "extra_body": {
            "type": "object",
            "propertyNames": {"not": {"enum": list(OWN_FIELDS)}},
            "description": "Further fields of every request, which go before all others.",
        },
    },
}

OPTIONS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "temperature": _SHARED["temperature"],
        "top_p": _SHARED["top_p"],
        "presence_penalty": _SHARED["presence_penalty"],
        "frequency_penalty": _SHARED["frequency_penalty"],
        "stop": _SHARED["stop"],
        "thinking": _THINKING,
        "reasoning_effort": _EFFORT,
        "tool_choice": _SHARED["tool_choice"],
        "user_id": _USER,
    },
}
