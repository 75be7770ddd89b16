"""The last event of a turn, made from what is stored of it, for readers who missed the one that was told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trimtab.store.protocol import StoredEvent, StoredTurn
from trimtab.turns.codes import is_retryable
from trimtab_sdk.errors import NotFoundError

if TYPE_CHECKING:
    from trimtab.store.protocol import Store


async def last_event(store: Store, turn: StoredTurn, *, sequence: int) -> StoredEvent:
    """Give the last event of a turn that has ended, with a number. Raises StoreUnavailableError."""
    if turn.state == "failed":
        return StoredEvent(sequence, failed(turn.id, turn.error or {}))
    stored = await store.turn_messages(turn.id, owner=turn.owner)
    event: dict[str, object] = {"kind": f"turn_{turn.state}", "turnId": turn.id}
    ids = [one.message.id for one in stored]
    if turn.state == "completed":
        answers = sum(one.message.role == "assistant" for one in stored)
        event |= {"finish": turn.finish, "messageIds": ids, "steps": max(1, answers)}
        event |= {"snapshot": await _snapshot(store, turn)}
    else:
        event |= {"messageIds": ids}
    return StoredEvent(sequence, event)


def failed(turn_id: str, error: Mapping[str, Any], *, stored: bool = True) -> dict[str, object]:
    """Give the event of a turn that failed, as JSON values."""
    code = str(error.get("code", "TURN_FAILED"))
    return {
        "kind": "turn_failed",
        "turnId": turn_id,
        "code": code,
        "message": str(error.get("message", "")),
        "details": dict(error.get("details") or {}),
        "stored": stored,
        "retryable": is_retryable(code),
    }


def deleted(turn_id: str, error: NotFoundError, *, sequence: int) -> StoredEvent:
    """Give the last event of a turn whose chat was deleted."""
    return StoredEvent(sequence, failed(turn_id, error.to_dict(), stored=False))


async def _snapshot(store: Store, turn: StoredTurn) -> Mapping[str, object] | None:
    """Give how full the window was, as long as no other turn came after it."""
    chat = await store.get_chat(turn.chat_id, owner=turn.owner)
    last = await store.last_turn(turn.chat_id, owner=turn.owner)
    return chat.last_context_state if last is not None and last.id == turn.id else None
