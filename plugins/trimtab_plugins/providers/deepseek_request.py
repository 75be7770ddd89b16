"""What is sent to DeepSeek: Chat Completions, with its own fields and its rules for `reasoning_content`.

Models of the time of R1 take reasoning back while the turn runs that it belongs to, and refuse or ignore it later.
Since V4 a turn that called tools needs it in every later request, and an empty one counts: the key has to stand
there. Whether a turn called tools cannot be seen in one answer of it, so V4 gets all of it back. That also keeps
the beginning of each request as it was, which is what its cache goes by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from trimtab_plugins.providers import chat_request
from trimtab_plugins.providers.chat_schemas import OWN_FIELDS
from trimtab_plugins.providers.deepseek_schemas import EFFORTS
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import ProviderCall

Generation: TypeAlias = Literal["r1", "v4"]

_OF_R1 = re.compile(r"deepseek[-_]?(reasoner|chat|r1|v[123](?!\d))", re.IGNORECASE)
_OWN = frozenset({"thinking", "reasoning_effort", "user_id"})


def generation_of(model: str, settings: Mapping[str, object]) -> Generation:
    """Tell whose rule for reasoning holds: what the settings say, else what the model's name tells, else V4's."""
    told = settings.get("generation")
    if told == "r1" or told == "v4":
        return told
    return "r1" if _OF_R1.search(model) else "v4"


def recalled(
    items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
) -> list[object]:
    """Give the messages of an earlier answer: without reasoning once an R1 turn has ended, else as they are."""
    wish = "running" if generation_of(model, settings) == "r1" else "always"
    return chat_request.recalled(items, running=running, settings={"send_reasoning": wish})


def write_body(call: ProviderCall) -> JsonObject:
    """Write the body of a streamed request, its fields always in the same order."""
    body = chat_request.write_body(_plain(call)) | dict(_own_fields(call)) | _extra(call.settings)
    messages = body["messages"]
    if isinstance(messages, list) and _thinks(body):
        body["messages"] = _with_reasoning(messages, generation_of(call.model, call.settings))
    return body


def _plain(call: ProviderCall) -> ProviderCall:
    """Give the call without what other servers do not know."""
    options = {key: value for key, value in call.options.items() if key not in _OWN}
    return replace(call, options=options, settings={})


def _own_fields(call: ProviderCall) -> Iterator[tuple[str, object]]:
    said = {**call.settings, **call.options}
    effort = said.get("reasoning_effort")
    thinking = "disabled" if effort == "none" else said.get("thinking")
    if call.options.get("thinking") is not None:
        thinking = call.options["thinking"]
    if thinking is not None:
        yield "thinking", {"type": thinking}
    if thinking != "disabled" and isinstance(effort, str) and effort in EFFORTS:
        yield "reasoning_effort", EFFORTS[effort]
    if "user_id" in said:
        yield "user_id", said["user_id"]


def _extra(settings: Mapping[str, object]) -> JsonObject:
    extra = settings.get("extra_body")
    fields = extra if isinstance(extra, Mapping) else {}
    return {key: value for key, value in fields.items() if key not in OWN_FIELDS}


def _thinks(body: JsonObject) -> bool:
    thinking = body.get("thinking")
    return not (isinstance(thinking, Mapping) and thinking.get("type") == "disabled")


def _with_reasoning(messages: list[object], generation: Generation) -> list[object]:
    """Give the messages with an empty reasoning wherever a turn has called tools and there is none.

    It is missing in answers of other providers, in those of a model that did not think, and in those that a
    strategy changed. For R1 this holds in the turn that runs, and only where it has some: models of its time that
    do not think have none. Messages that need nothing are the same objects.
    """
    if generation == "v4":
        return list(_completed(messages))
    start = max((at for at, message in enumerate(messages) if _role(message) == "user"), default=-1) + 1
    running = messages[start:]
    thinks = any(isinstance(message, dict) and "reasoning_content" in message for message in running)
    return [*messages[:start], *_completed(running)] if thinks else messages


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None


def _completed(messages: Sequence[object]) -> Iterator[object]:
    called = False
    for message in messages:
        role = _role(message)
        if role == "user":
            called = False
        if not isinstance(message, dict) or role != "assistant":
            yield message
            continue
        called = called or bool(message.get("tool_calls"))
        lacks = called and not isinstance(message.get("reasoning_content"), str)
        yield {**message, "reasoning_content": ""} if lacks else message
