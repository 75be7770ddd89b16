"""What is sent to Anthropic's Messages API: bodies, headers and tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from trimtab_plugins.providers.messages_caching import with_marks, with_moving_mark
from trimtab_plugins.providers.messages_schemas import MAX_TOKENS, OWN_FIELDS, STABLE_VERSION, STRICT_VERSION
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import InvalidRequestError, ProviderCall, ToolSpec

_SAMPLING = ("temperature", "top_p", "top_k")
_PLAIN_OPTIONS = (*_SAMPLING, "stop_sequences", "metadata")
_CHOICES: Mapping[object, str] = {"auto": "auto", "any": "any", "required": "any", "none": "none"}
_BOUND = ("adaptive", "enabled")
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_THREADS_BETA = "message-threads-2026-08-12"
_KEPT_BY_THREAD = ("system", "tools")
_COUNTED = (
    *(
        "model",
        "system",
        "tools",
        "messages",
        "tool_choice",
        "thinking",
        "output_config",
        "cache_control",
        "speed",
    ),
    *("user_profile_id", "workspace_id"),
)


def write_body(call: ProviderCall) -> JsonObject:
    """Write the body of a streamed request, its fields always in the same order.

    Fields of a body that the prompt was read from stay where the call says nothing else; of tools there are only
    those of the call. Raises InvalidRequestError, naming the option, for what the API of the endpoint's version
    does not take, and for an output limit without room for the thinking that is asked for.
    """
    body = _written(call)
    _check_version(body, call)
    if not in_thread(call):
        return with_marks(body, call.settings)
    return with_moving_mark(_threaded(body, call.cursor), call.settings)


def in_thread(call: ProviderCall) -> bool:
    """Tell whether a call is to be kept as part of a thread."""
    return call.keep and call.settings.get("threads") is True


def has_to_think(call: ProviderCall) -> bool:
    """Tell whether a call makes the model think, within a budget."""
    return _thinking(call).get("type") == "enabled"


def write_count(call: ProviderCall) -> JsonObject:
    """Write the body that asks for the size of a request. Threads are not counted: the call has to hold it all."""
    body = write_body(replace(call, keep=False, cursor=None))
    return {key: body[key] for key in _COUNTED if key in body}


def headers_of(call: ProviderCall) -> dict[str, str]:
    """Give the headers that name the version of the API, and betas."""
    settings = call.settings
    named = settings.get("beta")
    betas = [str(one) for one in named] if isinstance(named, list | tuple) else []
    if "thinking_mismatch" in settings and _BINDING_BETA not in betas:
        betas.append(_BINDING_BETA)
    if in_thread(call) and _THREADS_BETA not in betas:
        betas.append(_THREADS_BETA)
    version = str(settings.get("version", STABLE_VERSION))
    headers = {"anthropic-version": version}
    return {**headers, "anthropic-beta": ",".join(betas)} if betas else headers


def as_sent(message: object, settings: Mapping[str, object]) -> object:
    """Give a message of a prompt as the API of the endpoint's version takes it, without marks for its cache."""
    return _without_citations(message) if _is_strict(settings) else message


def write_tool(tool: ToolSpec) -> JsonObject:
    """Write a tool. Its schema is that of an object, also where it does not say so."""
    described: JsonObject = {"description": tool.description} if tool.description else {}
    schema = {"type": "object", **{key: _plain(value) for key, value in tool.parameters.items()}}
    return {"name": tool.name, **described, "input_schema": schema}


def _written(call: ProviderCall) -> JsonObject:
    thinking = _thinking(call)
    if thinking.get("type") == "enabled" and _goes_on_without_thinking(call):
        # Only a loop of tools that began with thinking may go on with it.
        thinking = {}
    body: JsonObject = {"model": call.model, "max_tokens": _max_tokens(call, thinking)}
    body |= {**_conversation(call), **_tool_fields(call)}
    if thinking:
        body["thinking"] = thinking
    if config := _output_config(call):
        body["output_config"] = config
    body |= {key: _plain(call.options[key]) for key in _PLAIN_OPTIONS if key in call.options}
    tier = call.options.get("service_tier", call.settings.get("service_tier"))
    if tier is not None:
        body["service_tier"] = tier
    body |= {key: value for key, value in _read_fields(call).items() if key not in body}
    body["stream"] = True
    return body | _extra(call.settings)


def _threaded(body: JsonObject, cursor: str | None) -> JsonObject:
    """Give a body that begins a thread, or goes on with one, which has its system text and tools already."""
    if cursor is None:
        return {**body, "thread": {"type": "create"}}
    added = {key: value for key, value in body.items() if key not in _KEPT_BY_THREAD}
    return {**added, "thread": {"type": "continue", "previous_message_id": cursor}}


def _conversation(call: ProviderCall) -> JsonObject:
    request = call.prompt.request or {}
    fields: JsonObject = {"system": request["system"]} if request.get("system") else {}
    messages = _messages(call)
    if _is_strict(call.settings):
        messages = [as_sent(message, call.settings) for message in messages]
    return {**fields, "messages": messages}


def _messages(call: ProviderCall) -> list[object]:
    said = (call.prompt.request or {}).get("messages")
    return said if isinstance(said, list) else call.prompt.messages


def _tool_fields(call: ProviderCall) -> JsonObject:
    if not call.tools:
        return {}
    choice = _choice(call)
    tools: JsonObject = {"tools": list(call.tools)}
    return {**tools, "tool_choice": choice} if choice else tools


def _choice(call: ProviderCall) -> JsonObject:
    """Give the field `tool_choice`; that a model calls one tool at a time is said in it too."""
    said = call.options.get("tool_choice", (call.prompt.request or {}).get("tool_choice"))
    parallel = call.options.get("parallel_tool_calls")
    if isinstance(said, Mapping):
        choice: JsonObject = {key: _plain(value) for key, value in said.items()}
    elif isinstance(said, str):
        choice = {"type": _CHOICES[said]} if said in _CHOICES else {"type": "tool", "name": said}
    else:
        choice = {} if parallel is None else {"type": "auto"}
    if parallel is not None and choice.get("type") != "none":
        choice["disable_parallel_tool_use"] = not parallel
    return choice


def _thinking(call: ProviderCall) -> JsonObject:
    """Give the field `thinking`; an empty one when nobody says how the model thinks."""
    budget = call.options.get("thinking_budget")
    kind = "enabled" if budget is not None else call.options.get("thinking")
    if kind is None:
        return dict(_read_object(call, "thinking"))
    thinking: JsonObject = {"type": kind} if budget is None else {"type": kind, "budget_tokens": budget}
    if kind in _BOUND and "thinking_display" in call.settings:
        thinking["display"] = call.settings["thinking_display"]
    if kind in _BOUND and "thinking_mismatch" in call.settings:
        thinking["block_binding"] = {"prefix_mismatch_behavior": call.settings["thinking_mismatch"]}
    return thinking


def _goes_on_without_thinking(call: ProviderCall) -> bool:
    """Tell whether calls wait for an answer that came without thinking, as those of another provider do.

    User messages in a row are one: what is said behind results does not end the loop.
    """
    start: object = None
    spoke = answered = False
    for message in reversed(_messages(call)):
        content = message.get("content") if isinstance(message, dict) else None
        blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        if isinstance(message, dict) and message.get("role") == "user":
            spoke, answered = True, answered or any(one.get("type") == "tool_result" for one in blocks)
        elif isinstance(message, dict) and message.get("role") == "assistant":
            if spoke and not answered:
                break
            start = blocks[0].get("type") if blocks else "text"
            spoke = answered = False
    return start is not None and start not in ("thinking", "redacted_thinking")


def _max_tokens(call: ProviderCall, thinking: Mapping[str, object]) -> object:
    """Give the output limit, which this wire always wants. Thinking that has a budget counts against it."""
    given = thinking.get("budget_tokens")
    budget = given if type(given) is int else 0
    limit = call.max_output_tokens
    if limit is None:
        said = (call.prompt.request or {}).get("max_tokens")
        limit = said if type(said) is int and said > 0 else None
    if limit is None:
        usual = call.settings.get("max_tokens", MAX_TOKENS)
        return (usual if type(usual) is int else MAX_TOKENS) + budget
    if budget >= limit:
        raise InvalidRequestError(
            f"a thinking budget of {budget} tokens leaves no room for an answer in an output limit of {limit}",
            path="options.thinking_budget",
        )
    return limit


def _output_config(call: ProviderCall) -> JsonObject:
    fields: JsonObject = {}
    if "effort" in call.options:
        fields["effort"] = call.options["effort"]
    if call.response_format is not None and call.response_format.get("type") != "text":
        fields["format"] = _format(call.response_format)
    return {**_read_object(call, "output_config"), **fields}


def _format(asked: Mapping[str, object]) -> JsonObject:
    """Give a format in the shape of this wire, which knows no JSON without a schema."""
    inner = asked.get("json_schema")
    schema = (inner if isinstance(inner, Mapping) else asked).get("schema")
    if asked.get("type") != "json_schema" or not isinstance(schema, Mapping):
        raise InvalidRequestError(
            "an answer can only be bound to a JSON schema here: give a response format of the type json_schema",
            path="response_format",
        )
    return {"type": "json_schema", "schema": _plain(schema)}


def _check_version(body: Mapping[str, object], call: ProviderCall) -> None:
    if not _is_strict(call.settings):
        return
    for name in _SAMPLING:
        if name in body:
            raise InvalidRequestError(
                f"version {STRICT_VERSION} of the API takes no {name}; leave it out, or set version to "
                f"{STABLE_VERSION} for a model that still takes it",
                path=f"options.{name}",
            )


def _is_strict(settings: Mapping[str, object]) -> bool:
    return settings.get("version", STABLE_VERSION) == STRICT_VERSION


def _without_citations(message: object) -> object:
    """Give a user message without citations of its texts, which the later version refuses."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return message
    content = message.get("content")
    if not isinstance(content, list) or not any(map(_cites, content)):
        return message
    return {**message, "content": list(_uncited(content))}


def _uncited(blocks: Sequence[object]) -> Iterator[object]:
    for block in blocks:
        if isinstance(block, dict) and _cites(block):
            yield {key: value for key, value in block.items() if key != "citations"}
        else:
            yield block


def _cites(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "text" and bool(block.get("citations"))


def _read_fields(call: ProviderCall) -> JsonObject:
    unwanted = {*OWN_FIELDS, "tool_choice"}
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
