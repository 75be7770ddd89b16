"""Audits and events of turns in the database. Each function runs inside a transaction."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Insert, delete, exists, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from trimtab.store.checking import check_name, corrupt, is_id, stored_object
from trimtab.store.json_text import dump, load_object
from trimtab.store.protocol import Audit, EndState, JsonObject, StoredEvent
from trimtab.store.schema import audits, turn_events, turns
from trimtab_sdk.errors import TurnLostError

MAX_PAGE: Final = 10_000
CHANNEL: Final = "trimtab_turns"
"""Where PostgreSQL tells of events: the number of the last one and the id of the turn."""
_LEVEL: Final = 1


def write_audit(connection: Connection, chat_id: str, audit: Audit) -> None:
    """Put an audit in the place of the chat's last one."""
    check_name(audit.generation_id, path="audit.generation_id")
    check_name(audit.error_code, path="audit.error_code")
    connection.execute(delete(audits).where(audits.c.chat_id == chat_id))
    connection.execute(
        insert(audits),
        {
            "chat_id": chat_id,
            "generation_id": audit.generation_id,
            "status": audit.status,
            "error_code": audit.error_code,
            "body": _written(audit.body) if audit.status == "prepared" else _packed(audit.body),
        },
    )


def end_audit(
    connection: Connection,
    chat_id: str,
    generation_id: str,
    *,
    state: EndState,
    code: str,
    body: JsonObject | None,
) -> None:
    """End the audit of a turn that ends: its status and code, and its body where one is given.

    An audit that has ended already is of another generation and stays; with a body it is replaced.
    """
    check_name(code, path="error.code")
    changed: dict[str, object] = {"status": state, "error_code": code}
    if body is not None:
        changed["body"] = _packed(body)
    prepared = update(audits).where(audits.c.chat_id == chat_id, audits.c.status == "prepared")
    if connection.execute(prepared.values(changed)).rowcount == 0 and body is not None:
        write_audit(
            connection, chat_id, Audit(generation_id=generation_id, body=body, status=state, error_code=code)
        )


def read_audit(connection: Connection, chat_id: str) -> Audit | None:
    """Give the audit of a chat. Raises StoreUnavailableError when it is damaged."""
    row = connection.execute(select(audits).where(audits.c.chat_id == chat_id)).one_or_none()
    if row is None:
        return None
    try:
        body = load_object(_unpacked(row.body).decode())
    except (zlib.error, ValueError) as error:
        raise corrupt(f"the audit of chat {chat_id!r}", error) from error
    return Audit(generation_id=row.generation_id, body=body, status=row.status, error_code=row.error_code)


def add_running_events(connection: Connection, turn_id: str, events: Sequence[StoredEvent], *, fence: int) -> bool:
    """Store events of a turn that runs, and tell whether it shall end. Raises TurnLostError."""
    if not is_id(turn_id):
        raise _gone(turn_id)
    # The row is held until the end of the transaction: nobody may end the turn between the question and the rows.
    query = select(turns.c.cancel_requested).where(
        turns.c.id == turn_id, turns.c.fence == fence, turns.c.state == "running"
    )
    wants_end = connection.execute(query.with_for_update(read=True)).scalar()
    if wants_end is None:
        raise TurnLostError(
            f"the turn {turn_id!r} has ended or was taken over; read the chat again", turn_id=turn_id
        )
    add_events(connection, turn_id, events)
    return bool(wants_end)


def add_events(connection: Connection, turn_id: str, events: Sequence[StoredEvent]) -> None:
    """Store events that are not there yet, and wake who waits for them. Raises TurnLostError for a turn gone."""
    if not events:
        return
    if not is_id(turn_id):
        raise _gone(turn_id)
    rows = [
        {"turn_id": turn_id, "sequence": one.sequence, "event": dump(one.event, what=f"event {one.sequence}")}
        for one in events
    ]
    try:
        connection.execute(_insert_missing(connection), rows)
    except IntegrityError as error:
        raise _gone(turn_id) from error
    wake(connection, turn_id, events[-1].sequence)


def wake(connection: Connection, turn_id: str, sequence: int) -> None:
    """Tell the processes that watch a PostgreSQL database of a turn, when the transaction is done."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(CHANNEL, f"{sequence} {turn_id}")))


def read_events(connection: Connection, turn_id: str, *, after: int, limit: int) -> list[StoredEvent]:
    """Give the events of a turn behind a number, in order."""
    query = (
        select(turn_events.c.sequence, turn_events.c.event)
        .where(turn_events.c.turn_id == turn_id, turn_events.c.sequence > after)
        .order_by(turn_events.c.sequence)
        .limit(max(0, min(limit, MAX_PAGE)))
    )
    return [
        StoredEvent(sequence, stored_object(event, what=f"event {sequence} of turn {turn_id!r}"))
        for sequence, event in connection.execute(query)
    ]


def prune_events(connection: Connection, *, ended_before: float) -> int:
    """Delete the events of turns that ended before a time, and tell how many went."""
    old = exists().where(turns.c.id == turn_events.c.turn_id, turns.c.ended_at < ended_before)
    return connection.execute(delete(turn_events).where(old)).rowcount


def _gone(turn_id: str) -> TurnLostError:
    return TurnLostError(f"the turn {turn_id!r} is gone, and its chat with it; start anew", turn_id=turn_id)


def _insert_missing(connection: Connection) -> Insert:
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgres_insert

        return postgres_insert(turn_events).on_conflict_do_nothing()
    from sqlalchemy.dialects.sqlite import insert as sqlite_insert

    return sqlite_insert(turn_events).on_conflict_do_nothing()


def _written(body: JsonObject) -> bytes:
    """Write a body plainly: what is only prepared is replaced within moments, and packing takes time."""
    return dump(body, what="the audit").encode()


def _packed(body: JsonObject) -> bytes:
    return zlib.compress(_written(body), _LEVEL)


def _unpacked(body: bytes) -> bytes:
    """Give the JSON of a body, packed or plain; what is packed never begins with a brace."""
    return body if body[:1] == b"{" else zlib.decompress(body)
