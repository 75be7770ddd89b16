"""Where system text goes on wires that have one field for it, at the head.

Text that comes and goes with the turn (summaries, memories, activated lorebook entries, texts of plugins) would
move the head, which caches hang on, so it becomes a block of its own at the front of the next user message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.gemini_runs import SYSTEM_ROLES
from trimtab_plugins.codecs.reading import is_blank
from trimtab_sdk import Message, Text

_BESIDE = frozenset({"summary", "plugin", "memory"})


@dataclass(frozen=True, slots=True)
class SystemText:
    """The system messages for the head, and by position of a user message the texts that go to its front."""

    head: tuple[Message, ...]
    blocks: dict[int, list[str]]


def place_system_text(messages: Sequence[Message]) -> SystemText:
    """Say where the system text of a conversation goes; without a user message all of it goes to the head."""
    if not any(message.role in SYSTEM_ROLES for message in messages):
        return SystemText((), {})
    users = [at for at, message in enumerate(messages) if message.role == "user"]
    head: list[Message] = []
    blocks: dict[int, list[str]] = {}
    passed = 0
    for position, message in enumerate(messages):
        if passed < len(users) and users[passed] == position:
            passed += 1
        if message.role not in SYSTEM_ROLES:
            continue
        if not _is_passing(message) or not users:
            head.append(message)
            continue
        target = users[min(passed, len(users) - 1)]
        blocks.setdefault(target, []).extend(_texts(message))
    return SystemText(tuple(head), blocks)


def _is_passing(message: Message) -> bool:
    """Tell whether a text comes and goes; a lorebook entry does unless it is constant."""
    return message.source in _BESIDE or (message.source == "lorebook" and message.ephemeral)


def joined_text(messages: Sequence[Message]) -> str:
    """Give the texts of system messages, joined by blank lines."""
    return "\n\n".join(text for message in messages for text in _texts(message))


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text) and not is_blank(part.text)]
