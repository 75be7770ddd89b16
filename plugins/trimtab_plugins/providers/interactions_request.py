"""What is sent to Google's Interactions API: bodies, headers and tools.

Of what was said before an interaction keeps inputs and outputs alone. System text, tools and everything that
steers the model belong to one request, so they go out with each of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from trimtab_plugins.providers.interactions_resuming import Resumption, read_resume
from trimtab_plugins.providers.interactions_schemas import API_VERSION, OF_GENERATION, OWN_FIELDS
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import Encoded, ProviderCall, ToolSpec

# Fields of a body that start something else than one streamed answer of a model.
_NEVER = (*OWN_FIELDS, "agent_config", "environment", "webhook_config")
_OF_BODY = ("service_tier",)
_CONFIG = "generation_config"
_JSON: Mapping[str, object] = {"type": "text", "mime_type": "application/json"}


def write_path(settings: Mapping[str, object]) -> str:
    """Give the path of an endpoint with these settings."""
    return f"{settings.get('api_version', API_VERSION)}/interactions"


def write_headers(settings: Mapping[str, object]) -> dict[str, str]:
    """Give the headers of an endpoint with these settings."""
    revision = settings.get("api_revision")
    return {"api-revision": revision} if isinstance(revision, str) else {}


def write_tool(tool: ToolSpec) -> JsonObject:
    """Write a tool as a function."""
    described: JsonObject = {"description": tool.description} if tool.description else {}
    return {"type": "function", "name": tool.name, **described, "parameters": _plain(tool.parameters)}


def write_body(call: ProviderCall) -> JsonObject:
    """Write the body of a streamed request.

    Fields of a body that the prompt was read from stay where the call says nothing else; of tools there are
    only those of the call. Raises InvalidRequestError when `call.resume` was not given by this driver.
    """
    body: JsonObject = {"model": call.model, "stream": True, "store": call.keep}
    body |= _history(call)
    if call.tools:
        body["tools"] = list(call.tools)
    if config := _generation_config(call):
        body[_CONFIG] = config
    if call.response_format is not None:
        body["response_format"] = _response_format(call.response_format)
    body |= {key: call.options[key] for key in _OF_BODY if key in call.options}
    if labels := call.settings.get("labels"):
        body["labels"] = labels
    body |= {key: value for key, value in _as_read(call.prompt).items() if key not in (*_NEVER, *body)}
    return body | _extra_fields(call.settings)


def _history(call: ProviderCall) -> JsonObject:
    """What the model is to know: what Google holds, the system text, and the steps it does not hold."""
    paused = Resumption() if call.resume is None else read_resume(call.resume)
    fields: JsonObject = {}
    if before := paused.interaction_id or call.cursor:
        fields["previous_interaction_id"] = before
    if paused.token:
        fields["continuation_token"] = paused.token
    if system := _as_read(call.prompt).get("system_instruction"):
        fields["system_instruction"] = system
    given = _input(call.prompt)
    # A stored interaction that paused holds its input already.
    return fields if paused.interaction_id or not given else {**fields, "input": given}


def _input(prompt: Encoded) -> object:
    return _as_read(prompt).get("input", prompt.messages)


def _generation_config(call: ProviderCall) -> JsonObject:
    said: JsonObject = dict(_object(_as_read(call.prompt).get(_CONFIG)))
    if not call.tools:
        said.pop("tool_choice", None)
    if call.max_output_tokens is not None:
        said["max_output_tokens"] = call.max_output_tokens
    if "thinking_summaries" in call.settings:
        said["thinking_summaries"] = call.settings["thinking_summaries"]
    asked = [key for key in OF_GENERATION if key != "tool_choice" or call.tools]
    said |= {key: call.options[key] for key in asked if key in call.options}
    return said | dict(_object(_extra(call.settings).get(_CONFIG)))


def _response_format(asked: Mapping[str, object]) -> object:
    """Give a format as it stands in a body; those of OpenAI's wires are turned into Google's."""
    if asked.keys() == {"formats"}:
        return asked["formats"]
    if asked.get("type") == "json_object":
        return dict(_JSON)
    if asked.get("type") == "json_schema":
        return {**_JSON, "schema": _object(asked.get("json_schema", asked)).get("schema", {})}
    return asked


def _extra(settings: Mapping[str, object]) -> Mapping[str, object]:
    return _object(settings.get("extra_body"))


def _extra_fields(settings: Mapping[str, object]) -> JsonObject:
    kept = (*OWN_FIELDS, _CONFIG)
    return {key: value for key, value in _extra(settings).items() if key not in kept}


def _as_read(prompt: Encoded) -> JsonObject:
    return prompt.request or {}


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
