"""Held conversations for tests: made from wire messages, and talked on with."""

from __future__ import annotations

from typing import Any

from trimtab.fitting.held import HeldConversation
from trimtab.opening import Options, open_conversation
from trimtab_sdk import Message


def options(limit: int, **given: Any) -> Options:
    """Options of a neutral chat, counted with o200k_base, with nothing kept in reserve."""
    usual = {"model": "gpt-4.1", "format": "neutral", "context_limit": limit, "reserve": 0, "target": 0.75}
    return Options(**{**usual, **given})


def hold(chat: object, limit: int, **given: Any) -> HeldConversation:
    """Hold a chat."""
    opened = open_conversation(chat, options(limit, **given))
    return HeldConversation(opened.setup, opened.decoded, notes=opened.notes)


def say(held: HeldConversation, *items: object) -> tuple[Message, ...]:
    """Add wire messages at the end, and give them as they were read."""
    end = len(held)
    decoded = held.setup.codec.splice(held.decoded, end, end, items)
    fresh = decoded.messages[decoded.leading + end :]
    held.extend(decoded, fresh)
    return fresh


def change(held: HeldConversation, name: str, *items: object) -> None:
    """Put a wire message in the place of another, or take that one out."""
    at = held.places[name]
    decoded = held.setup.codec.splice(held.decoded, at, at + 1, items, ids=[name] if items else [])
    held.replace_messages(decoded, [name])
