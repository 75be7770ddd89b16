"""Which part of a prompt travels how, when a provider keeps the conversation.

The system text and what is made anew each turn stand in fields that a provider does not keep: they are sent with
every request. The rest is history: sent once, then held behind the cursor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trimtab_sdk.messages import Message, Notice, Text

_SYSTEM_ROLES = frozenset({"system", "developer"})
_PASSING = frozenset({"summary", "plugin", "memory"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages of a prompt, told apart by how they travel. Each part keeps the order of the prompt.

    - `system`: sent with every request, part of the system prompt's hash.
    - `history`: sent once, part of the history's hash.
    - `scoped`: ephemeral text that goes into the request's instructions, outside both hashes.
    - `inside`: ephemeral messages that only history could hold. With one of them no cursor is used or stored.
    """

    system: tuple[Message, ...] = ()
    history: tuple[Message, ...] = ()
    scoped: tuple[Message, ...] = ()
    inside: tuple[Message, ...] = ()


def split_prompt(messages: Sequence[Message], *, system_anywhere: bool) -> Prompt:
    """Tell the messages of a fitted prompt apart. Messages that hold nothing but notices are in no part.

    - A system or developer message belongs to the system prompt, constant lorebook entries (not ephemeral)
      included. Summaries, memories and texts of plugins never do: they come and go.
    - Where `system_anywhere` (as the codec says), one that stands behind the first message of the talk is a
      message of the history like any other. Where not, the wire moves it to the head, so it counts there.
    - An ephemeral message goes into the instructions when it is a system or developer message of text alone.
    """
    system: list[Message] = []
    history: list[Message] = []
    scoped: list[Message] = []
    inside: list[Message] = []
    talking = False
    for message in messages:
        if is_remark(message):
            continue
        if message.ephemeral:
            (scoped if _is_instruction(message) else inside).append(message)
            continue
        belongs = message.role in _SYSTEM_ROLES and message.source not in _PASSING
        if belongs and not (talking and system_anywhere):
            system.append(message)
            continue
        talking = talking or message.role not in _SYSTEM_ROLES
        history.append(message)
    return Prompt(tuple(system), tuple(history), tuple(scoped), tuple(inside))


def is_remark(message: Message) -> bool:
    """Tell whether a message holds notices alone, so that it is never sent."""
    parts = message.parts
    return bool(parts) and type(parts[0]) is Notice and all(isinstance(part, Notice) for part in parts)


def _is_instruction(message: Message) -> bool:
    return message.role in _SYSTEM_ROLES and all(isinstance(part, Text | Notice) for part in message.parts)
