"""What is sent to a server that speaks Responses: bodies, headers and tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256

from trimtab_plugins.providers.responses_items import readable_without_store
from trimtab_plugins.providers.responses_schemas import OWN_FIELDS, PROMPT_CACHE, REASONING_SUMMARY
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import ProviderCall, ToolSpec

_CHOICES = frozenset({"none", "auto", "required"})
_OF_TOOLS = ("tools", "tool_choice", "parallel_tool_calls")
_PLAIN_OPTIONS = ("temperature", "top_p", "max_tool_calls", "metadata", "safety_identifier")
_SEALED = "reasoning.encrypted_content"
_LEAST_OUTPUT = 16
_LONGEST_KEY = 64
_WITHOUT_REASONING = re.compile(r"(ft:)?(gpt-3\.5|gpt-4|chatgpt-4)")
_COUNTED = (
    *("model", "instructions", "previous_response_id", "input", "tools", "tool_choice", "parallel_tool_calls"),
    *("reasoning", "text", "truncation"),
)


def write_body(call: ProviderCall) -> JsonObject:
    """Write the body of a streamed request, its fields always in the same order.

    Fields of a body that the prompt was read from stay where the call says nothing else; which conversation is
    carried on, and what is kept of it, says the call alone.
    """
    body: JsonObject = {"model": call.model, **dict(_conversation(call)), **_tool_fields(call)}
    body |= {**_reasoning(call), **_text(call)}
    if call.max_output_tokens is not None:
        body["max_output_tokens"] = max(call.max_output_tokens, _LEAST_OUTPUT)
    body |= {key: _plain(call.options[key]) for key in _PLAIN_OPTIONS if key in call.options}
    body |= _serving(call)
    body |= {key: value for key, value in _read_fields(call).items() if key not in body}
    body |= {"store": call.keep, "stream": True, "stream_options": {"include_obfuscation": False}}
    return body | _extra(call.settings)


def write_count(call: ProviderCall) -> JsonObject:
    """Write the body that asks for the size of a request, with what the server holds of the conversation."""
    body = write_body(call)
    return {key: body[key] for key in _COUNTED if key in body}


def headers_of(settings: Mapping[str, object]) -> dict[str, str]:
    """Give the headers that name who pays."""
    named = {"OpenAI-Organization": settings.get("organization"), "OpenAI-Project": settings.get("project")}
    return {header: value for header, value in named.items() if isinstance(value, str)}


def write_tool(tool: ToolSpec) -> JsonObject:
    """Write a tool, which is flat on this wire; `strict` is said, as leaving it out does not mean false."""
    described: JsonObject = {"description": tool.description} if tool.description else {}
    schema: JsonObject = {"parameters": _plain(tool.parameters), "strict": bool(tool.strict)}
    return {"type": "function", "name": tool.name, **described, **schema}


def _conversation(call: ProviderCall) -> Iterator[tuple[str, object]]:
    """Give the fields of what is said. The server does not hold instructions, so they go out every time."""
    request = call.prompt.request or {}
    if request.get("instructions"):
        yield "instructions", request["instructions"]
    if call.cursor is not None:
        yield "previous_response_id", call.cursor
    said = request.get("input")
    if isinstance(said, str):
        yield "input", said
        return
    items = said if isinstance(said, list) else call.prompt.messages
    yield "input", items if call.keep else readable_without_store(items)


def _tool_fields(call: ProviderCall) -> JsonObject:
    if not call.tools:
        return {}
    said = {**(call.prompt.request or {}), **call.options}
    fields: JsonObject = {"tools": list(call.tools)}
    if "tool_choice" in said:
        fields["tool_choice"] = _choice(said["tool_choice"])
    if "parallel_tool_calls" in said:
        fields["parallel_tool_calls"] = said["parallel_tool_calls"]
    return fields


def _choice(choice: object) -> object:
    if isinstance(choice, str) and choice not in _CHOICES:
        return {"type": "function", "name": choice}
    return _plain(choice)


def _reasoning(call: ProviderCall) -> JsonObject:
    summary = call.settings.get("reasoning_summary", REASONING_SUMMARY)
    asked = {
        "effort": call.options.get("reasoning_effort"),
        "summary": None if summary == "none" else summary,
        "context": call.options.get("reasoning_context"),
    }
    fields = {key: value for key, value in asked.items() if value is not None}
    return {"reasoning": {**_read_object(call, "reasoning"), **fields}} if fields else {}


def _text(call: ProviderCall) -> JsonObject:
    fields: JsonObject = {}
    if call.response_format is not None:
        fields["format"] = _format(call.response_format)
    if "verbosity" in call.options:
        fields["verbosity"] = call.options["verbosity"]
    return {"text": {**_read_object(call, "text"), **fields}} if fields else {}


def _format(asked: Mapping[str, object]) -> object:
    """Give a format in the flat shape of this wire, also one that has the inner object of Chat Completions."""
    inner = asked.get("json_schema")
    if asked.get("type") == "json_schema" and isinstance(inner, Mapping):
        return _plain({"type": "json_schema", **inner})
    return _plain(asked)


def _serving(call: ProviderCall) -> JsonObject:
    """Give the fields that say how the request is served, and what may become of what it holds."""
    fields: JsonObject = {}
    tier = call.options.get("service_tier", call.settings.get("service_tier"))
    if tier is not None:
        fields["service_tier"] = tier
    key = call.options.get("prompt_cache_key", call.conversation)
    if key and call.settings.get("prompt_cache", PROMPT_CACHE):
        fields["prompt_cache_key"] = _cache_key(str(key))
    fields["truncation"] = "disabled"
    if call.compact_at is not None:
        fields["context_management"] = [{"type": "compaction", "compact_threshold": call.compact_at}]
    if included := _included(call):
        fields["include"] = included
    return fields


def _included(call: ProviderCall) -> list[str]:
    """Give what an answer is to hold besides: sealed reasoning, and what a body that was read asked for."""
    sealed = call.settings.get("encrypted_reasoning", not _WITHOUT_REASONING.match(call.model))
    read = (call.prompt.request or {}).get("include")
    asked = [one for one in read if isinstance(one, str)] if isinstance(read, list) else []
    others = [one for one in asked if one != _SEALED]
    return [_SEALED, *others] if sealed else others


def _cache_key(conversation: str) -> str:
    return conversation if len(conversation) <= _LONGEST_KEY else sha256(conversation.encode()).hexdigest()


def _read_fields(call: ProviderCall) -> JsonObject:
    others = ("max_output_tokens",) if call.max_output_tokens is not None else ()
    unwanted = {*OWN_FIELDS, *_OF_TOOLS, *others}
    return {key: value for key, value in (call.prompt.request or {}).items() if key not in unwanted}


def _read_object(call: ProviderCall, key: str) -> JsonObject:
    value = (call.prompt.request or {}).get(key)
    return value if isinstance(value, dict) else {}


def _extra(settings: Mapping[str, object]) -> JsonObject:
    extra = settings.get("extra_body")
    fields = extra if isinstance(extra, Mapping) else {}
    return {key: value for key, value in fields.items() if key not in OWN_FIELDS}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
