"""Putting messages at the end of a chat's active branch. Each function runs inside a transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, bindparam, insert, select, update

from trimtab.store.checking import check_id, check_name
from trimtab.store.json_text import dump
from trimtab.store.protocol import Counted, JsonObject, NewMessage, Wire
from trimtab.store.schema import chats, messages
from trimtab.store.stored_form import dump_message
from trimtab_sdk.errors import InvalidRequestError

_MANY: Final = 500
"""How many ids are asked for in one query."""


def add_messages(
    connection: Connection,
    chat_id: str,
    fresh: Sequence[NewMessage],
    *,
    turn_id: str | None,
    revision: int,
    now: float,
) -> tuple[int, ...]:
    """Store messages behind the last active one and give their numbers.

    Raises InvalidRequestError when an id is taken. The chat's row is locked, or was made in this transaction.
    """
    if not fresh:
        return ()
    _check_new_ids(connection, chat_id, [one.message.id for one in fresh])
    first = connection.execute(select(chats.c.next_seq).where(chats.c.id == chat_id)).scalar_one()
    parent = active_leaf(connection, chat_id)
    rows = []
    for seq, one in enumerate(fresh, first):
        rows.append(_row(one) | {"seq": seq, "parent": parent})
        parent = one.message.id
    shared = {"chat_id": chat_id, "turn_id": turn_id, "changed": revision, "created_at": now}
    connection.execute(insert(messages), [shared | row for row in rows])
    after = first + len(fresh)
    connection.execute(update(chats).where(chats.c.id == chat_id).values(next_seq=after))
    return tuple(range(first, after))


def active_leaf(connection: Connection, chat_id: str) -> str | None:
    """Give the id of the last message of the active branch."""
    return connection.execute(
        select(messages.c.id)
        .where(messages.c.chat_id == chat_id, messages.c.active == 1)
        .order_by(messages.c.seq.desc())
        .limit(1)
    ).scalar()


def write_counts(connection: Connection, chat_id: str, counts: Mapping[str, Counted]) -> None:
    """Keep what messages cost; one that is gone has nothing to keep."""
    if not counts:
        return
    query = (
        update(messages)
        .where(messages.c.chat_id == chat_id, messages.c.id == bindparam("message_id"))
        .values({name: bindparam(name) for name in ("count_key", "count_tokens", "count_approximate")})
    )
    connection.execute(query, [{"message_id": one} | _count_columns(counted) for one, counted in counts.items()])


def _row(new: NewMessage) -> dict[str, object]:
    what = f"message {new.message.id!r}"
    return {
        "id": new.message.id,
        "active": 1,
        "revision": 1,
        "incomplete": int(new.status == "incomplete"),
        "body": dump_message(new.message),
        "wire": _wire_text(new.wire, what),
        "provider_state": _object_text(new.provider_state, what),
        "full_text": None if new.full is None else dump(new.full, what=f"the whole text of {what}"),
        **_count_columns(new.counted),
    }


def _wire_text(wire: Wire | None, what: str) -> str | None:
    if wire is None:
        return None
    rare = [list(wire.prefixes)] if wire.prefixes else []
    return dump([wire.provider, wire.codec, wire.item, wire.answer, *rare], what=f"the wire form of {what}")


def _object_text(value: JsonObject | None, what: str) -> str | None:
    return None if value is None else dump(value, what=f"the provider state of {what}")


def _count_columns(counted: Counted | None) -> dict[str, object]:
    if counted is None:
        return {"count_key": None, "count_tokens": None, "count_approximate": None}
    check_name(counted.key, path="counted.key")
    return {
        "count_key": counted.key,
        "count_tokens": counted.cost.tokens,
        "count_approximate": ",".join(sorted(counted.cost.approximate)),
    }


def _check_new_ids(connection: Connection, chat_id: str, ids: Sequence[str]) -> None:
    for one in ids:
        check_id(one, path="message.id")
    taken = {one for one, times in Counter(ids).items() if times > 1}
    for start in range(0, len(ids), _MANY):
        some = ids[start : start + _MANY]
        found = select(messages.c.id).where(messages.c.chat_id == chat_id, messages.c.id.in_(some))
        taken |= set(connection.execute(found).scalars())
    if taken:
        named = sorted(taken)[:10]
        raise InvalidRequestError(f"ids of messages that are taken in this chat: {', '.join(named)}", ids=named)
