"""What a turn tells while it runs. The events of a provider's answer are those of the sdk, passed on as they are.

    async for event in host.turn(chat_id, "How many are left?", owner="ann"):
        match event:
            case TextDelta(text): ...
            case TurnCompleted(): ...

A turn begins with `turn_started` and ends with exactly one of `turn_completed`, `turn_failed`, `turn_cancelled`
and `turn_paused`. `to_dict` gives each as JSON values with camelCase keys and its `kind`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from trimtab.continuation.notices import ContinuationDegraded as ContinuationDegraded
from trimtab.continuation.notices import FallbackNotice as FallbackNotice
from trimtab.snapshot import ContextSnapshot
from trimtab_sdk.provider import (
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """The turn runs: its input is stored and its audit prepared."""

    kind: ClassVar[Literal["turn_started"]] = "turn_started"
    turn_id: str
    chat_id: str
    generation_id: str
    provider: str
    model: str
    input_ids: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {
            "kind": self.kind,
            "turnId": self.turn_id,
            "chatId": self.chat_id,
            "generationId": self.generation_id,
            "provider": self.provider,
            "model": self.model,
            "inputIds": list(self.input_ids),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReady:
    """The context of the next call is fitted. `step` counts the calls of the turn from 1.

    `excluded`, `truncated` and `inserted` are how many messages left, were shortened and were added; the audit has
    them one by one. `diagnostics` are the report's, as JSON values.
    """

    kind: ClassVar[Literal["context_ready"]] = "context_ready"
    step: int
    snapshot: ContextSnapshot
    kept: int = 0
    excluded: int = 0
    truncated: int = 0
    inserted: int = 0
    diagnostics: tuple[Mapping[str, object], ...] = field(default=(), hash=False)

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {
            "kind": self.kind,
            "step": self.step,
            "snapshot": self.snapshot.to_dict(),
            "kept": self.kept,
            "excluded": self.excluded,
            "truncated": self.truncated,
            "inserted": self.inserted,
            "diagnostics": [dict(one) for one in self.diagnostics],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFallback:
    """The model that was asked is overloaded or out of reach (`code`), and the next one of the list is asked."""

    kind: ClassVar[Literal["model_fallback"]] = "model_fallback"
    code: str
    provider: str
    model: str
    next_provider: str
    next_model: str

    @property
    def names(self) -> tuple[str, str, str, str]:
        """Who is asked now, and who was asked: provider and model of each."""
        return self.next_provider, self.next_model, self.provider, self.model

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {
            "kind": self.kind,
            "code": self.code,
            "provider": self.provider,
            "modelName": self.model,
            "nextProvider": self.next_provider,
            "nextModelName": self.next_model,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultReady:
    """A tool answered with `text`, of which 20,000 characters are told here.

    The model may be told less, when the results of a step take more than their share. `error_code` is empty unless
    the tool failed; the turn goes on all the same.
    """

    kind: ClassVar[Literal["tool_result"]] = "tool_result"
    call_id: str
    name: str
    text: str
    is_error: bool = False
    error_code: str = ""
    seconds: float = field(default=0.0, compare=False)

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        said: dict[str, object] = {
            "kind": self.kind,
            "callId": self.call_id,
            "name": self.name,
            "text": self.text,
            "isError": self.is_error,
            "milliseconds": round(self.seconds * 1000, 1),
        }
        return said | {"errorCode": self.error_code} if self.error_code else said


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingCall:
    """A call that the turn waits for: the caller runs it and resumes the turn with its result."""

    call_id: str
    name: str
    arguments: str

    def to_dict(self) -> dict[str, object]:
        """Give the call as JSON values with camelCase keys."""
        return {"callId": self.call_id, "name": self.name, "arguments": self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPaused:
    """The turn waits for results of tools that the host does not run; `Host.resume` goes on."""

    kind: ClassVar[Literal["turn_paused"]] = "turn_paused"
    turn_id: str
    pending: tuple[PendingCall, ...]

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "turnId": self.turn_id, "pending": [call.to_dict() for call in self.pending]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted:
    """The answer is stored. `finish` is why the last answer ended, `message_ids` are the messages of the turn."""

    kind: ClassVar[Literal["turn_completed"]] = "turn_completed"
    turn_id: str
    finish: Finish
    message_ids: tuple[str, ...]
    snapshot: ContextSnapshot
    steps: int = 1

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {
            "kind": self.kind,
            "turnId": self.turn_id,
            "finish": self.finish,
            "messageIds": list(self.message_ids),
            "snapshot": self.snapshot.to_dict(),
            "steps": self.steps,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed:
    """The turn ended with an error. `stored` tells that its input is in the chat and can be tried again."""

    kind: ClassVar[Literal["turn_failed"]] = "turn_failed"
    turn_id: str
    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict, hash=False)
    stored: bool = True
    retryable: bool = False

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {
            "kind": self.kind,
            "turnId": self.turn_id,
            "code": self.code,
            "message": self.message,
            "details": dict(self.details),
            "stored": self.stored,
            "retryable": self.retryable,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCancelled:
    """The turn was ended by somebody. Text that had come is stored as an incomplete answer."""

    kind: ClassVar[Literal["turn_cancelled"]] = "turn_cancelled"
    turn_id: str
    message_ids: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values with camelCase keys."""
        return {"kind": self.kind, "turnId": self.turn_id, "messageIds": list(self.message_ids)}


TurnEvent: TypeAlias = (
    TurnStarted
    | ContextReady
    | ContinuationDegraded
    | FallbackNotice
    | ModelFallback
    | TextDelta
    | ReasoningDelta
    | ToolCallStarted
    | ToolCallDelta
    | ToolCallCompleted
    | ToolResultReady
    | Usage
    | TurnPaused
    | TurnCompleted
    | TurnFailed
    | TurnCancelled
)

ENDS = frozenset({TurnCompleted.kind, TurnFailed.kind, TurnCancelled.kind})
"""The kinds of event after which a turn never goes on."""
LAST_KINDS = ENDS | {TurnPaused.kind}
"""The kinds of event that nothing follows."""
