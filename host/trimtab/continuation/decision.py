"""How a turn carries on with its provider: from the stored cursor, or by sending the conversation again.

Decided once for a turn and a provider, before the first call, from plain data: what the chat has stored and what
this turn would send if it had to send everything.

A cursor is used only when the provider holds exactly the beginning of that. Between the history a cursor stands
for and the history now one thing may differ: messages were added at its end. Whatever was edited, deleted,
excluded, put in another order, taken from another branch, shortened or left out makes another beginning, so it
can never come back through a cursor. System text, tools and ephemeral text are sent with each request anyway; the
first two must be the same as when the cursor was made.

The checks, in this order; the first that speaks decides:

1. a fallback provider (the second of a list, in the same turn) → `start_replay`; the stored cursor is not its own
2. nothing is stored → `start_replay`
3. what is stored cannot be read → `degrade_to_replay`, `envelope_malformed`
4. another provider, or the same one in another mode (a stateless one included) → `provider_changed`
5. another model → `model_changed`
6. other system text → `system_prompt_changed`
7. other tools → `toolset_changed`
8. an ephemeral message must stand inside the history → `start_replay`
9. another beginning → `history_changed` when somebody changed the stored messages, `context_shifted` when the fit
   treats them otherwise than the last one did, or when a compaction of the provider covers what is now protected
10. the cursor is older than the provider keeps it → `cursor_expired`
11. there is nothing to send → `start_replay`
12. `continue_with_cursor`, with the added messages as what is sent

What the provider itself says of a cursor (`cursor_expired`, `cursor_invalid`) is known only after the call; see
`trimtab.continuation.recovery`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from trimtab.continuation.chain import HistoryChain
from trimtab.continuation.compaction import compacts_protected
from trimtab.continuation.envelope import ContinuationEnvelope, Malformed, is_durable, parse_envelope
from trimtab.continuation.words import DegradeReason, ReplayCause
from trimtab_sdk.messages import Message
from trimtab_sdk.provider import ContinuationMode


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """What is known of a turn before its first call to a provider.

    - `provider`, `mode`, `model_name`: who is to answer, and how a conversation is carried on with it.
    - `system_prompt_hash`, `toolset_hash`: of what this turn sends with each request.
    - `history`: what a replay would send, after the fit: what it left out is not there, what it shortened is there
      in its short form, what it inserted is there.
    - `edited`: whether somebody changed the stored messages since the cursor was made, or that is not known; a
      changed beginning is `history_changed` then, else `context_shifted`.
    - `protected`: the ids of what must be in every request, unchanged.
    - `ephemeral_inside`: the ids of ephemeral messages that only the history can hold.
    - `is_fallback`: whether another provider was tried in this turn before.
    - `cursor_age` and `retention`: seconds since the stored cursor was made, and for how long the provider keeps
      one; None when unknown.
    """

    provider: str
    mode: ContinuationMode
    model_name: str
    system_prompt_hash: str
    toolset_hash: str
    history: HistoryChain
    edited: bool = True
    protected: frozenset[str] = frozenset()
    ephemeral_inside: tuple[str, ...] = ()
    is_fallback: bool = False
    cursor_age: float | None = None
    retention: float | None = None


@dataclass(frozen=True, slots=True)
class ContinueWithCursor:
    """Send the cursor and `delta`, the messages the provider does not hold; never the history besides.

    System text, tools, ephemeral text and settings are sent too, as with every request. `held` is how many
    messages of the history the provider holds; they count against the window all the same.
    """

    word: ClassVar[Literal["continue_with_cursor"]] = "continue_with_cursor"
    cursor: str = field(repr=False)
    held: int
    delta: tuple[Message, ...]

    def to_dict(self) -> dict[str, object]:
        """Give the decision for an audit. The cursor itself is not in it."""
        return {"decision": self.word, "held": self.held, "sent": [message.id for message in self.delta]}


@dataclass(frozen=True, slots=True)
class DegradeToReplay:
    """A cursor was there and is not used: send the whole history, and say so once.

    `detail` says more where there is more to say: the key that makes an envelope malformed.
    """

    word: ClassVar[Literal["degrade_to_replay"]] = "degrade_to_replay"
    reason: DegradeReason
    detail: str = ""

    def to_dict(self) -> dict[str, object]:
        """Give the decision for an audit."""
        said: dict[str, object] = {"decision": self.word, "reason": self.reason}
        return said | {"detail": self.detail} if self.detail else said


@dataclass(frozen=True, slots=True)
class StartReplay:
    """Send the whole history. Nothing went wrong, so there is no notice."""

    word: ClassVar[Literal["start_replay"]] = "start_replay"
    cause: ReplayCause

    def to_dict(self) -> dict[str, object]:
        """Give the decision for an audit."""
        return {"decision": self.word, "cause": self.cause}


Continuation: TypeAlias = ContinueWithCursor | DegradeToReplay | StartReplay


def decide_continuation(stored: object, turn: TurnFacts) -> Continuation:
    """Decide how a turn carries on. `stored` is `chats.lastProviderState` as it came from the store.

    Never raises, whatever is stored. The order of the checks is in the docstring of this module.
    """
    if turn.is_fallback:
        return StartReplay("fallback_provider")
    envelope = parse_envelope(stored)
    if envelope is None:
        return StartReplay("nothing_stored" if is_durable(turn.mode) else "stateless")
    if isinstance(envelope, Malformed):
        return DegradeToReplay("envelope_malformed", envelope.why)
    reason = next(_changes(envelope, turn), None)
    if reason is not None:
        return DegradeToReplay(reason)
    return _decide_by_history(envelope, turn)


def _changes(envelope: ContinuationEnvelope, turn: TurnFacts) -> Iterator[DegradeReason]:
    if (envelope.provider, envelope.mode) != (turn.provider, turn.mode):
        yield "provider_changed"
    if envelope.model_name != turn.model_name:
        yield "model_changed"
    if envelope.system_prompt_hash != turn.system_prompt_hash:
        yield "system_prompt_changed"
    if envelope.toolset_hash != turn.toolset_hash:
        yield "toolset_changed"


def _decide_by_history(envelope: ContinuationEnvelope, turn: TurnFacts) -> Continuation:
    if turn.ephemeral_inside:
        return StartReplay("ephemeral_in_history")
    held = turn.history.length_of(envelope.history_hash)
    if held is None:
        return DegradeToReplay("history_changed" if turn.edited else "context_shifted")
    if compacts_protected(turn.history.messages[:held], turn.protected):
        return DegradeToReplay("context_shifted")
    if _is_expired(turn):
        return DegradeToReplay("cursor_expired")
    delta = turn.history.messages[held:]
    return ContinueWithCursor(envelope.cursor, held, delta) if delta else StartReplay("nothing_new")


def _is_expired(turn: TurnFacts) -> bool:
    if turn.cursor_age is None or turn.retention is None:
        return False
    return turn.cursor_age > turn.retention
