"""What is sent to ChatGPT's own server: the body of Responses, with no key that its client does not send.

It keeps nothing and refuses what it does not know, an output limit among it. Its `instructions` may be checked, so
the system text of a chat goes out as a message of the developer in front of all others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from uuid import NAMESPACE_OID, uuid5

from trimtab_plugins.providers import responses_request
from trimtab_plugins.providers.chatgpt_schemas import (
    INSTRUCTIONS,
    ORIGINATOR,
    PROMPT_CACHE,
    REASONING_SUMMARY,
    SWITCH,
)
from trimtab_plugins.providers.stream_json import JsonObject
from trimtab_sdk import ConfigError, InvalidRequestError, ProviderCall

_log = logging.getLogger("trimtab.providers.chatgpt")

_KEYS = (
    *("model", "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "store"),
    *("stream", "include", "prompt_cache_key", "text", "service_tier"),
)
"""All keys that a body may have, in the order they are written in."""

_OFF = (
    "the provider 'chatgpt' is off: its server has no public API and changes without notice, and its terms of "
    f"service may forbid other programs to ask it; who wants it all the same sets {SWITCH} = true in the settings "
    "of the endpoint"
)


def check_accepted(settings: Mapping[str, object]) -> None:
    """See that the endpoint accepts what this server is, and log a warning, once. Raises ConfigError if not."""
    if settings.get(SWITCH) is not True:
        raise ConfigError(_OFF)
    _warn()


@cache
def _warn() -> None:
    _log.warning(
        "the provider 'chatgpt' asks a server without a public API: it may stop working at any time, and terms "
        "of service may forbid it"
    )


def write_body(call: ProviderCall) -> JsonObject:
    """Write the body of a streamed request. Raises InvalidRequestError for a mere reference to an item."""
    summary = call.settings.get("reasoning_summary", REASONING_SUMMARY)
    written = responses_request.write_body(
        replace(
            call,
            settings={"reasoning_summary": summary, "encrypted_reasoning": True, **dict(_passed_on(call))},
            cursor=None,
            keep=False,
            compact_at=None,
            max_output_tokens=None,
        )
    )
    said = written.get("input")
    items = said if isinstance(said, list) else [_message("user", said)]
    system = written.get("instructions")
    head = [_message("developer", system)] if system else []
    written |= {"instructions": call.settings.get("instructions", INSTRUCTIONS), "store": False, "stream": True}
    written["input"] = [*head, *_sendable(items)]
    return {key: written[key] for key in _KEYS if key in written}


def headers_of(call: ProviderCall) -> dict[str, str]:
    """Give the headers that name the account, this program and the conversation."""
    headers = {"originator": str(call.settings.get("originator", ORIGINATOR))}
    if isinstance(account := call.settings.get("account_id"), str):
        headers["ChatGPT-Account-Id"] = account
    if call.conversation:
        headers["session_id"] = str(uuid5(NAMESPACE_OID, call.conversation))
    return headers


def _passed_on(call: ProviderCall) -> Iterator[tuple[str, object]]:
    yield "prompt_cache", call.settings.get("prompt_cache", PROMPT_CACHE)
    if "service_tier" in call.settings:
        yield "service_tier", call.settings["service_tier"]


def _sendable(items: Sequence[object]) -> Iterator[object]:
    """Give the items, system texts as those of the developer. All others are the same objects."""
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            yield item
        elif item.get("type") == "item_reference":
            raise InvalidRequestError(
                f"input[{at}] refers to an item that another server keeps; chatgpt keeps none", path=f"input[{at}]"
            )
        else:
            yield {**item, "role": "developer"} if item.get("role") == "system" else item


def _message(role: str, text: object) -> JsonObject:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
