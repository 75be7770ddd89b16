"""What is sent to a server that speaks Chat Completions: bodies, tools, and answers of its own given back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab_plugins.providers.chat_roles import with_roles_merged, with_system_role
from trimtab_plugins.providers.chat_schemas import (
    MAX_TOKENS_FIELD,
    OPTIONS,
    OWN_FIELDS,
    SEND_REASONING,
    SYSTEM_ROLE,
)
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import Encoded, ProviderCall, ToolSpec

_LIMITS = ("max_tokens", "max_completion_tokens")
_OF_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
_THOUGHTS = ("reasoning_content", "reasoning")
_PROPERTIES = OPTIONS["properties"]
_OPTIONS = tuple(_PROPERTIES) if isinstance(_PROPERTIES, dict) else ()


def write_body(call: ProviderCall) -> JsonObject:
    """Write the body of a streamed request.

    Fields of a body that the prompt was read from stay where the call says nothing else; of tools there are
    only those of the call.
    """
    body: JsonObject = {"model": call.model, "messages": _messages(call), "stream": True}
    if call.settings.get("include_usage", True):
        body["stream_options"] = {"include_usage": True}
    if call.tools:
        body |= _tool_fields(call)
    body |= _limit(call)
    if call.response_format is not None:
        body["response_format"] = call.response_format
    body |= {key: call.options[key] for key in _OPTIONS if key in call.options and key not in _OF_TOOLS}
    body |= {key: value for key, value in _read_fields(call).items() if key not in body}
    return body | _extra(call.settings)


def _messages(call: ProviderCall) -> list[object]:
    messages = with_system_role(_prompt(call.prompt), str(call.settings.get("system_role", SYSTEM_ROLE)))
    return with_roles_merged(messages) if call.settings.get("merge_roles") else messages


def _prompt(prompt: Encoded) -> list[object]:
    messages = prompt.messages if prompt.request is None else prompt.request.get("messages")
    return messages if isinstance(messages, list) else prompt.messages


def _tool_fields(call: ProviderCall) -> JsonObject:
    fields: JsonObject = {"tools": list(call.tools)}
    said = {**_as_read(call.prompt), **call.settings, **call.options}
    return fields | {key: said[key] for key in _OF_TOOLS[1:] if key in said}


def _limit(call: ProviderCall) -> JsonObject:
    if call.max_output_tokens is None:
        return {}
    return {str(call.settings.get("max_tokens_field", MAX_TOKENS_FIELD)): call.max_output_tokens}


def _read_fields(call: ProviderCall) -> JsonObject:
    others = _LIMITS if call.max_output_tokens is not None else ()
    return {key: value for key, value in _as_read(call.prompt).items() if key not in (*_OF_TOOLS, *others)}


def _as_read(prompt: Encoded) -> JsonObject:
    return prompt.request or {}


def _extra(settings: Mapping[str, object]) -> JsonObject:
    extra = settings.get("extra_body")
    fields = extra if isinstance(extra, Mapping) else {}
    return {key: value for key, value in fields.items() if key not in OWN_FIELDS}


def write_tool(tool: ToolSpec) -> JsonObject:
    """Write a tool, whose function is an object of its own on this wire."""
    described: JsonObject = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **described, "parameters": _plain(tool.parameters)}
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def recalled(items: Sequence[object], *, running: bool, settings: Mapping[str, object]) -> list[object]:
    """Give the messages of an earlier answer as the settings want them sent again.

    Texts of reasoning stay or leave. `reasoning_details` and keys that are not known here always stay: some
    servers sign what they hold, and refuse a conversation without it.
    """
    wish = settings.get("send_reasoning", SEND_REASONING)
    if wish == "always" or (wish == "running" and running):
        return list(items)
    return [_without_thoughts(item) for item in items]


def _without_thoughts(item: object) -> object:
    if not isinstance(item, dict) or not any(key in item for key in _THOUGHTS):
        return item
    return {key: value for key, value in item.items() if key not in _THOUGHTS}
