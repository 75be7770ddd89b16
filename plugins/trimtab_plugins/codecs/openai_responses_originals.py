"""What the codec remembers of a Responses input besides its items."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from trimtab_plugins.codecs.openai_responses_kinds import REFERENCE, kind_of
from trimtab_plugins.codecs.originals import Kept
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Decoded, Message, Originals

CODEC = "openai-responses"
_CURSORS = ("previous_response_id", "conversation")


@dataclass(frozen=True, slots=True)
class KeptItems(Kept):
    """The input of one `decode`: `entries` in the order of the messages, and what stood in fields of the body.

    `instructions` is the message that was made of that field. `plain` means that `input` was a text. Without
    `read` these are the originals of nothing; with `begun`, those of an empty list, which does not say where
    system text is to stand.
    """

    instructions: Message | None = None
    plain: bool = False
    read: bool = True
    begun: bool = False

    def is_instructions(self, message_id: str) -> bool:
        """Tell whether a message is the one that was read from `instructions`."""
        return self.instructions is not None and self.instructions.id == message_id

    def kind(self, message_id: str) -> object:
        """Give the type of the item that a message was read from, None when it was read from none."""
        entry = self.entries.get(message_id)
        return None if entry is None else kind_of(entry.wire)

    @property
    def continues(self) -> bool:
        """Whether the provider holds messages that stand before this input."""
        return has_cursor(self.body)

    def refers(self, message_ids: Collection[str]) -> bool:
        """Tell whether some of the messages only name an item that the provider holds."""
        return any(self.kind(name) == REFERENCE for name in message_ids)


def has_cursor(body: JsonObject | None) -> bool:
    """Tell whether a body carries on what the provider holds."""
    return body is not None and any(body.get(key) is not None for key in _CURSORS)


def items_kept(originals: Originals) -> KeptItems:
    """Give the originals when this codec made them; anything else counts as none."""
    return originals if isinstance(originals, KeptItems) else KeptItems(CODEC, {}, read=False)


def in_order(decoded: Decoded) -> Decoded:
    """Give a conversation whose originals stand in the order of its messages again."""
    kept = items_kept(decoded.originals)
    entries = {message.id: kept.entries[message.id] for message in decoded.messages}
    return replace(decoded, originals=replace(kept, entries=entries))
