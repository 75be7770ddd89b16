"""How other libraries trim a conversation, each with the same exact counter; only those installed are run.

They differ in what they do: langchain-core keeps the last messages, turnsafe checks the history and drops whole
turns, haystack-ai drops whole turns, then steps of the running one.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

import judge

Chat = list[dict[str, Any]]
Trim = Callable[[], object]
_PER_MESSAGE = 4
_PER_REQUEST = 3


def _langchain_core(chat: Chat, limit: int) -> Trim:
    from langchain_core.messages import convert_to_messages, trim_messages

    messages = convert_to_messages(chat)

    def count(batch: list[Any]) -> int:
        return _PER_REQUEST + sum(_PER_MESSAGE + judge.tokens(str(one.content)) for one in batch)

    return lambda: trim_messages(
        messages, max_tokens=limit, token_counter=count, strategy="last", include_system=True
    )


class _HaystackCounter:
    """haystack-ai's protocol of a token counter, as far as a compactor uses it."""

    def count(self, messages: list[Any], tools: object = None) -> int:
        """Count the texts and the framing of messages."""
        return sum(_PER_MESSAGE + judge.tokens(one.text or "") for one in messages)


def _haystack(chat: Chat, limit: int) -> Trim:
    # It reports its use over the network where nobody says no.
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
    compaction = importlib.import_module("haystack.hooks.compaction")
    message = importlib.import_module("haystack.dataclasses").ChatMessage
    make = {"system": message.from_system, "user": message.from_user, "assistant": message.from_assistant}
    messages = [make[one["role"]](one["content"]) for one in chat]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compactor = compaction.SlidingWindowCompactor(omission_note=None)
    return lambda: compactor.compact(messages, limit - _PER_REQUEST, _HaystackCounter())


def _turnsafe(chat: Chat, limit: int) -> Trim:
    turnsafe = importlib.import_module("turnsafe")

    def count(message: dict[str, Any]) -> int:
        return _PER_MESSAGE + judge.tokens(message["content"])

    return lambda: turnsafe.fit(chat, limit - _PER_REQUEST, "openai", counter=count)


PEERS: dict[str, Callable[[Chat, int], Trim]] = {
    "haystack": _haystack,
    "langchain_core": _langchain_core,
    "turnsafe": _turnsafe,
}
"""Module → a function that makes ready and gives the call to be measured."""
