"""What the Gemini codecs remember between `decode` and `encode`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Message, Originals, Text

SYSTEM_ID = "system"
"""The id of the message that stands for the body's system instruction."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The input of one `decode` by the codec `codec`.

    - `entries`: the messages by id, with what they were read from.
    - `body`: the request body, None when only a list came; `system`: the message of its system instruction.
    - `given`: an input that is no list of steps (a text, contents), with the one message it was read as.
    - `hosted`: ids of the messages that hold calls and results of the provider's own tools.
    - `made_ids`: ids of calls that the wire gave none; they are never written.
    - `continued`: the provider holds what came before, so a result may stand without its call.
    """

    codec: str
    entries: Mapping[str, Entry] = field(default_factory=dict)
    body: JsonObject | None = None
    system: Message | None = None
    given: tuple[Message, object] | None = None
    hosted: frozenset[str] = frozenset()
    made_ids: frozenset[str] = frozenset()
    continued: bool = False

    def knows(self, message: Message) -> bool:
        """Tell whether the message was read by this codec."""
        return message.id in self.entries or (self.system is not None and message.id == self.system.id)


def is_plain(message: Message) -> bool:
    """Tell whether a message is one text and nothing else, as most are: few rules touch it."""
    parts = message.parts
    return len(parts) == 1 and type(parts[0]) is Text and message.name is None and message.role != "tool"


def remembered_by(codec: str, originals: Originals) -> Remembered:
    """Give the originals when this codec made them; anything else counts as none."""
    if isinstance(originals, Remembered) and originals.codec == codec:
        return originals
    return Remembered(codec)


def is_unchanged(entry: Entry, message: Message) -> bool:
    """Tell whether a message still says what was read. Flags and source may differ: they never go on the wire."""
    return entry.message is message or (
        entry.message.parts == message.parts and entry.message.role == message.role
    )
