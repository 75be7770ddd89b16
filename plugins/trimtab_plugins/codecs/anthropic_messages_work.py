"""The state of one adaptation: the messages as they are so far, and what was done to them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.anthropic_messages_kept import AnthropicKept, is_written
from trimtab_sdk import Group, Message, Part, Repair, ToolResult


class Work:
    """Messages under repair. The rules change `messages`, and book everything they do."""

    def __init__(self, messages: Sequence[Message], kept: AnthropicKept, protected: Collection[str]) -> None:
        self.messages = list(messages)
        self.kept = kept
        self.protected = frozenset(protected)
        self.left_out: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self._notes: dict[str, dict[str, None]] = {}

    @property
    def repairs(self) -> list[Repair]:
        """Give what was booked, one repair for each sentence, without the messages that left after all."""
        notes = (
            (tuple(name for name in ids if name not in self.left_out), text) for text, ids in self._notes.items()
        )
        return [Repair(ids, text) for ids, text in notes if ids]

    def note(self, text: str, *ids: str) -> None:
        """Book a repair of some messages."""
        self._notes.setdefault(text, {}).update(dict.fromkeys(ids))

    def set_parts(self, at: int, parts: Sequence[Part]) -> None:
        """Give the message at a position other parts."""
        self.messages[at] = replace(self.messages[at], parts=tuple(parts))

    def settle(self, message: Message, reason: str, refusal: str) -> None:
        """Leave a message out, or refuse it when it is protected."""
        if message.id in self.protected:
            self.refused.setdefault(message.id, refusal)
        else:
            self.left_out[message.id] = reason

    def leave_group(self, group: Group, reason: str) -> None:
        """Leave a group out; a message of the user that also holds results of it loses only these."""
        for at in group.positions:
            message = self.messages[at]
            rest = [part for part in message.parts if not isinstance(part, ToolResult)]
            if message.role == "user" and any(is_written(part) for part in rest):
                self.set_parts(at, rest)
                self.note("took out tool results whose call has left", message.id)
            else:
                self.left_out[message.id] = reason

    def prune(self) -> None:
        """Take out of the list what was left out."""
        if self.left_out:
            self.messages = [message for message in self.messages if message.id not in self.left_out]
