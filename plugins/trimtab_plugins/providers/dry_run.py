"""The provider `dry-run`: answers without any server, with an account of the context it got."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from trimtab_plugins.providers.dry_run_account import account_of, last_user_position
from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import (
    Answer,
    ProviderCall,
    ProviderEvent,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "reply": {"type": "string", "description": "The text to answer with instead of the account."},
        "tool_calls": {
            "type": "array",
            "maxItems": 64,
            "description": "Calls to make, once for each input of the user, of those tools that are offered.",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "arguments": {
                        "anyOf": [{"type": "object"}, {"type": "string"}],
                        "description": "An object, or the very text that a model would write.",
                    },
                },
            },
        },
    },
}
_PIECE = 24


class DryRun(OpenAICompatible):
    """Writes the same requests as `openai-compatible`, sends none, and answers by itself, always alike."""

    name = "dry-run"
    retention = None
    offline = True
    settings_schema: Mapping[str, object] | None = SETTINGS

    def respond(self, call: ProviderCall) -> Iterator[ProviderEvent]:
        """Ask for the tools of the settings once, then give the reply of the settings, or the account."""
        messages = _messages(call)
        wanted = _wanted_calls(call, messages)
        yield from _with_calls(wanted) if wanted else _with_text(_reply(call, messages))


def _messages(call: ProviderCall) -> Sequence[object]:
    found = call.prompt.messages if call.prompt.request is None else call.prompt.request.get("messages")
    return found if isinstance(found, list) else call.prompt.messages


def _reply(call: ProviderCall, messages: Sequence[object]) -> str:
    reply = call.settings.get("reply")
    return reply if isinstance(reply, str) else account_of(call, messages)


def _with_text(text: str) -> Iterator[ProviderEvent]:
    for start in range(0, len(text), _PIECE):
        yield TextDelta(text[start : start + _PIECE])
    yield Answer(items=({"role": "assistant", "content": text},), finish="stop")


def _with_calls(calls: Sequence[JsonObject]) -> Iterator[ProviderEvent]:
    for wire in calls:
        call_id, function = str(wire["id"]), wire["function"]
        assert isinstance(function, dict)
        yield ToolCallStarted(call_id, function["name"])
        yield ToolCallDelta(call_id, function["arguments"])
        yield ToolCallCompleted(call_id, function["name"], function["arguments"])
    item = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    yield Answer(items=(item,), finish="tool-calls")


def _wanted_calls(call: ProviderCall, messages: Sequence[object]) -> list[JsonObject]:
    wishes = call.settings.get("tool_calls")
    since_input = messages[last_user_position(messages) + 1 :]
    if not isinstance(wishes, list | tuple) or any(_role_of(message) == "tool" for message in since_input):
        return []
    offered = {_tool_name(tool) for tool in call.tools}
    named = [wish for wish in wishes if isinstance(wish, Mapping) and wish.get("name") in offered]
    return [_call(wish, f"call_{len(messages)}_{at}") for at, wish in enumerate(named)]


def _call(wish: Mapping[str, object], call_id: str) -> JsonObject:
    arguments = wish.get("arguments", {})
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": wish["name"], "arguments": text}}


def _role_of(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None


def _tool_name(tool: object) -> object:
    function = tool.get("function") if isinstance(tool, dict) else None
    return function.get("name") if isinstance(function, dict) else None
