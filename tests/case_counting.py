"""A count of a request that shares nothing with the product: tiktoken and the published recipe.

3 + role + content (+ name + 1) for each message, a call its name and its arguments, 3 for the request.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import judge
from case_files import Json

PER_MESSAGE = 3
PRIMING = 3


@dataclass(frozen=True)
class Count:
    """Tokens; `exact` is False when something in the request has no published price."""

    tokens: int
    exact: bool


def count_request(messages: Sequence[Json], profile: str) -> Count:
    """Count a request in the shape `neutral` or `openai-chat`. What has no published price counts as 0."""
    tokens = PRIMING
    for message in messages:
        texts = [message["role"], *_texts(message)]
        tokens += PER_MESSAGE + sum(count_text(text, profile) for text in texts) + _name_cost(message, profile)
    return Count(tokens, exact=all(_is_priced(message) for message in messages))


def count_text(text: str, profile: str = "o200k_base") -> int:
    """Count a text as plain text."""
    return judge.tokens(text, profile)


def _name_cost(message: Json, profile: str) -> int:
    name = message.get("name")
    return count_text(name, profile) + 1 if name else 0


def _texts(message: Json) -> Iterator[str]:
    yield from _content_texts(message.get("content"))
    for key in ("refusal", "reasoning", "reasoning_content"):
        if message.get(key):
            yield message[key]
    for block in message.get("blocks") or ():
        yield block.get("thinking", "")
    for call in message.get("tool_calls") or ():
        yield from _call_texts(call.get("function", call))
    if message.get("function_call"):
        yield from _call_texts(message["function_call"])


def _content_texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for part in content or ():
        if isinstance(part, str):
            yield part
        elif "text" in part:
            yield part["text"]


def _call_texts(call: Json) -> Iterator[str]:
    yield call["name"]
    arguments = call.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    yield arguments


def _is_priced(message: Json) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    signed = any(block.get("signature") for block in message.get("blocks") or ())
    texts_only = all(isinstance(part, str) or part["type"] == "text" for part in parts)
    return texts_only and not signed and message["role"] != "function"
