"""What a turn that has ended writes to `chats.lastProviderState`.

Only one thing is ever written besides null: an envelope, made here of texts and hashes, for a completed turn of a
provider that keeps the conversation. What a tool loop carried along and what single messages remember of their
provider have no way in: nothing here takes them, and the envelope has no field to hold them.

The runtime writes the answer in the transaction that ends the turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from trimtab.continuation.chain import EMPTY_CHAIN, HistoryChain
from trimtab.continuation.compaction import compacts_protected
from trimtab.continuation.decision import TurnFacts
from trimtab.continuation.envelope import (
    ContinuationEnvelope,
    find_fault,
    is_durable,
    serialize_envelope,
)
from trimtab.continuation.words import ClearCause, TurnOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """How a turn ended.

    - `turn`: what was known before its first call, for the provider that gave the answer.
    - `outcome`: only a completed turn makes an envelope.
    - `cursor`: the provider's id of its last answer; None when it gave none, or does not keep the answer.
    - `history`: the messages that cursor stands for, as they are stored and would be sent: what the provider held
      and was sent, each step of the turn and the answer. Not needed unless the turn completed.
    - `cursor_spent`: the provider refused a cursor in this turn, or what stands behind the stored one no longer
      fits the window, so that it is of no use to the next turn either.
    """

    turn: TurnFacts
    outcome: TurnOutcome
    cursor: str | None = field(default=None, repr=False)
    history: HistoryChain = EMPTY_CHAIN
    cursor_spent: bool = False


@dataclass(frozen=True, slots=True)
class StoreEnvelope:
    """Write this envelope."""

    envelope: ContinuationEnvelope

    @property
    def stored(self) -> str:
        """The JSON text to write."""
        return serialize_envelope(self.envelope)


@dataclass(frozen=True, slots=True)
class ClearState:
    """Write null. The next turn starts with a replay, without a notice."""

    cause: ClearCause


@dataclass(frozen=True, slots=True)
class KeepState:
    """Write nothing: what the last completed turn left still stands for what it stood for."""


StateWrite: TypeAlias = StoreEnvelope | ClearState | KeepState


def decide_turn_persistence(end: TurnEnd) -> StateWrite:
    """Decide what a turn leaves for the next one.

    A failed or cancelled turn leaves what was there, unless its cursor is spent. A completed turn leaves an
    envelope, or null when

    - the provider does not keep the conversation in this mode (`stateless`), or gave no cursor (`no_cursor`);
    - an ephemeral message stands inside what the provider holds (`ephemeral_in_history`);
    - a compaction of the provider covers what is protected (`protected_compacted`);
    - the cursor stands for no message (`nothing_held`);
    - a cursor or a name is none that could be read back (`envelope_unfit`).
    """
    if end.outcome != "completed":
        return ClearState("cursor_spent") if end.cursor_spent else KeepState()
    turn, cursor = end.turn, end.cursor
    if not is_durable(turn.mode):
        return ClearState("stateless")
    if not cursor:
        return ClearState("no_cursor")
    cause = _obstacle(end)
    if cause is not None:
        return ClearState(cause)
    envelope = ContinuationEnvelope(
        provider=turn.provider,
        mode=turn.mode,
        model_name=turn.model_name,
        system_prompt_hash=turn.system_prompt_hash,
        toolset_hash=turn.toolset_hash,
        cursor=cursor,
        history_hash=end.history.hash,
    )
    return ClearState("envelope_unfit") if find_fault(envelope.to_dict()) else StoreEnvelope(envelope)


def _obstacle(end: TurnEnd) -> ClearCause | None:
    if end.turn.ephemeral_inside:
        return "ephemeral_in_history"
    if compacts_protected(end.history.messages, end.turn.protected):
        return "protected_compacted"
    return None if end.history.messages else "nothing_held"
