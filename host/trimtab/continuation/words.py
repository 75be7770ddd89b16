"""The words of continuation. They stand as such in stored JSON, events, audits and log lines."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

DurableMode: TypeAlias = Literal["responses", "interactions", "threads"]
"""The modes in which the provider keeps the conversation, so that a cursor outlives the turn."""

DURABLE_MODES = frozenset[str](get_args(DurableMode))

THREADS: Literal["threads"] = "threads"
"""The mode whose cursor can be used once, and stands for system text and tools too: they are sent with the first
request of a thread only. A thread is a copy for speed, which the server may lose at any time."""

CursorFault: TypeAlias = Literal["cursor_expired", "cursor_invalid"]
"""What a provider says of a cursor: it no longer knows the id, or it cannot read it."""

DegradeReason: TypeAlias = (
    Literal[
        "envelope_malformed",
        "provider_changed",
        "model_changed",
        "system_prompt_changed",
        "toolset_changed",
        "history_changed",
        "context_shifted",
    ]
    | CursorFault
)
"""Why a stored cursor is not used. When several hold, the first in this order is said; the two faults of a cursor
come last, `cursor_expired` before `cursor_invalid`."""

ReplayCause: TypeAlias = Literal[
    "fallback_provider", "nothing_stored", "stateless", "ephemeral_in_history", "nothing_new"
]
"""Why a turn starts with a replay though no stored cursor failed."""

AbortCode: TypeAlias = Literal["tool_result_cursor_loss", "cursor_lost_again"]
"""Why a turn ends when its cursor is lost."""

ClearCause: TypeAlias = Literal[
    "stateless",
    "no_cursor",
    "ephemeral_in_history",
    "protected_compacted",
    "nothing_held",
    "envelope_unfit",
    "cursor_spent",
]
"""Why `lastProviderState` becomes null."""

TurnOutcome: TypeAlias = Literal["completed", "failed", "cancelled"]

LogWord: TypeAlias = Literal["valid", "invalid", "degrade", "clear"]
