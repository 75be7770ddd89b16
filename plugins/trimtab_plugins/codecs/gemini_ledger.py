"""What an adaptation did, gathered while its steps run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from trimtab_plugins.codecs.repairs import repairs_of
from trimtab_sdk import Adapted, Message, Repair


@dataclass(slots=True)
class Ledger:
    """What leaves, what is refused, and a sentence for every other repair."""

    protected: frozenset[str]
    left_out: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    _sentences: dict[str, dict[str, None]] = field(default_factory=dict)
    _repairs: list[Repair] = field(default_factory=list)

    def leave(self, ids: Sequence[str], reason: str, *, culprit: str, refusal: str) -> None:
        """Leave messages out together, or refuse `culprit`, one of them, when any of them is protected."""
        if self.protected.isdisjoint(ids):
            self.left_out.update(dict.fromkeys(ids, reason))
        else:
            self.refused.setdefault(culprit, refusal)

    def note(self, sentence: str, message_id: str) -> None:
        """Add a message to those of which a sentence speaks."""
        self._sentences.setdefault(sentence, {}).setdefault(message_id)

    def repair(self, sentence: str, ids: Iterable[str]) -> None:
        """Add a repair of its own."""
        self._repairs.append(Repair(tuple(ids), sentence))

    def staying(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Give the messages that were not left out."""
        if not self.left_out:
            return tuple(messages)
        return tuple(message for message in messages if message.id not in self.left_out)

    def adapted(self, messages: tuple[Message, ...]) -> Adapted:
        """Close the books on what is left."""
        shared = [Repair(tuple(ids), sentence) for sentence, ids in self._sentences.items()]
        return Adapted(messages, self.left_out, repairs_of((*shared, *self._repairs), messages), self.refused)
