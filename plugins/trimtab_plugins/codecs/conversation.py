"""A conversation while its messages are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Message, Repair


@dataclass(slots=True)
class Conversation:
    """The messages read so far, `entries` and `repairs` of theirs by id, and the `uncounted` keys."""

    messages: list[Message] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    repairs: dict[str, tuple[Repair, ...]] = field(default_factory=dict)
    uncounted: set[str] = field(default_factory=set)

    def remember(self, message: Message, wire: JsonObject, mended: Sequence[str] = ()) -> None:
        """Note the object that a message goes out as, and a sentence for each thing that was mended in it."""
        self.entries[message.id] = Entry(message, wire)
        if mended:
            self.repairs[message.id] = tuple(Repair((message.id,), sentence) for sentence in mended)
