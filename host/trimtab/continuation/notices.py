"""What people are told when a cursor is not used: one event, seen as a notice on the stream and one in the chat.

Each holds the same facts and one plain sentence. Neither is ever sent to a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from trimtab.continuation.words import AbortCode, DegradeReason
from trimtab_sdk.messages import Notice

_AGAIN = "so the whole conversation is sent again"

SENTENCES: Mapping[DegradeReason, str] = {
    "envelope_malformed": f"What was stored to carry this chat on cannot be read, {_AGAIN}.",
    "provider_changed": f"This chat goes on with another provider or in another mode, {_AGAIN}.",
    "model_changed": f"This chat goes on with another model, {_AGAIN}.",
    "system_prompt_changed": f"The system text is not the same as in the last turn, {_AGAIN}.",
    "toolset_changed": f"The tools are not the same as in the last turn, {_AGAIN}.",
    "history_changed": f"Earlier messages of this chat were changed, {_AGAIN} as it is now.",
    "context_shifted": f"Other messages fit into the window than in the last turn, {_AGAIN} as far as it fits.",
    "cursor_expired": f"The provider no longer keeps this chat, {_AGAIN}.",
    "cursor_invalid": f"The provider could not read its own mark of this chat, {_AGAIN}.",
}
"""Reason → the sentence that people read."""

ABORT_SENTENCES: Mapping[AbortCode, str] = {
    "tool_result_cursor_loss": "The provider lost this chat while tool results were on their way to it. The tools "
    "have run and their results are kept; go on with a new turn, which sends them with the whole conversation.",
    "cursor_lost_again": "The provider lost this chat a second time in one turn. Try again later.",
}
"""Code of an aborted turn → the sentence that people read."""


@dataclass(frozen=True, slots=True)
class ContinuationDegraded:
    """The runtime's event: a cursor was there, and the turn replays. One for each `degrade_to_replay`."""

    kind: ClassVar[Literal["continuation_degraded"]] = "continuation_degraded"
    reason: DegradeReason
    provider: str
    model_name: str

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {
            "kind": self.kind,
            "reason": self.reason,
            "provider": self.provider,
            "modelName": self.model_name,
            "message": SENTENCES[self.reason],
        }


@dataclass(frozen=True, slots=True)
class FallbackNotice:
    """The same for the people who watch the stream."""

    kind: ClassVar[Literal["fallback_notice"]] = "fallback_notice"
    event: ContinuationDegraded

    def to_dict(self) -> dict[str, object]:
        """Give the notice as JSON values with camelCase keys."""
        return self.event.to_dict() | {"kind": self.kind}


@dataclass(frozen=True, slots=True)
class ContinuationTransition:
    """The same for the people who read the chat later. `recovered` turns true when the replay succeeded."""

    kind: ClassVar[Literal["continuation_transition"]] = "continuation_transition"
    event: ContinuationDegraded
    recovered: bool = False

    def recover(self) -> ContinuationTransition:
        """Give the notice of a turn that was completed after all."""
        return replace(self, recovered=True)

    def as_part(self) -> Notice:
        """Give the part to store in the chat: never sent, never counted, outside every hash."""
        data = self.event.to_dict()
        del data["kind"]
        return Notice(self.kind, data | {"recovered": self.recovered})
