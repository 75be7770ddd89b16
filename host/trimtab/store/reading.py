"""Messages from the database. A chat of thousands of them is read for a turn, so this is short of time.

The rows are the driver's own tuples, and a StoredMessage is filled without its constructor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast, get_args

from sqlalchemy import Connection, select

from trimtab.fitting.allocation import gc_paused
from trimtab.store.checking import corrupt, is_id, stored_object_or_none, stored_text
from trimtab.store.json_text import load
from trimtab.store.protocol import Counted, StoredMessage, Wire
from trimtab.store.schema import message_revisions, messages
from trimtab.store.stored_form import CorruptError, load_message
from trimtab_sdk.counting import Aspect, Cost
from trimtab_sdk.errors import NotFoundError, StoreUnavailableError
from trimtab_sdk.messages import Message

_COLUMNS: Final = (
    messages.c.id,
    messages.c.body,
    messages.c.seq,
    messages.c.revision,
    messages.c.changed,
    messages.c.parent,
    messages.c.turn_id,
    messages.c.incomplete,
    messages.c.wire,
    messages.c.provider_state,
    messages.c.full_text.is_not(None),
    messages.c.count_key,
    messages.c.count_tokens,
    messages.c.count_approximate,
    messages.c.created_at,
)
_ASPECTS: Final = frozenset(get_args(Aspect))
_Row = tuple[
    str, str, int, int, int, str | None, str | None, int, str | None, str | None, int,
    str | None, int | None, str | None, float,
]  # fmt: skip
(
    _set_message,
    _set_seq,
    _set_revision,
    _set_changed,
    _set_parent,
    _set_turn_id,
    _set_status,
    _set_wire,
    _set_provider_state,
    _set_has_full,
    _set_counted,
    _set_created_at,
) = (getattr(StoredMessage, slot).__set__ for slot in StoredMessage.__slots__)


def read_messages(
    connection: Connection, chat_id: str, *, after: int, limit: int | None, turn_id: str | None = None
) -> list[StoredMessage]:
    """Give the active branch of a chat behind a number, or what one turn has stored of it.

    Raises StoreUnavailableError for a damaged row.
    """
    query = (
        select(*_COLUMNS)
        .where(messages.c.chat_id == chat_id, messages.c.active == 1, messages.c.seq > after)
        .order_by(messages.c.seq)
        .limit(None if limit is None else max(0, limit))
    )
    if turn_id is not None:
        query = query.where(messages.c.turn_id == turn_id)
    with gc_paused():
        result = connection.execute(query)
        cursor = result.cursor
        assert cursor is not None
        rows = cast("list[_Row]", cursor.fetchall())
        result.close()
        return _stored(rows, chat_id)


def read_message(connection: Connection, chat_id: str, message_id: str) -> Message:
    """Give one message, of any branch. Raises NotFoundError."""
    return _decoded(_body(connection, chat_id, message_id)[0], chat_id, message_id)


def read_revision(connection: Connection, chat_id: str, message_id: str, revision: int) -> Message | None:
    """Give a message as it was at a revision of its own, None when the message or the revision is gone."""
    try:
        body, current = _body(connection, chat_id, message_id)
    except NotFoundError:
        return None
    if revision == current:
        return _decoded(body, chat_id, message_id)
    kept = message_revisions.c
    older = connection.execute(
        select(kept.body).where(kept.chat_id == chat_id, kept.message_id == message_id, kept.revision == revision)
    ).scalar()
    return None if older is None else _decoded(older, chat_id, message_id)


def read_full_text(connection: Connection, chat_id: str, message_id: str) -> str | None:
    """Give the whole text that a message was shortened from. Raises NotFoundError for an unknown message."""
    if not is_id(message_id):
        raise NotFoundError("message", message_id)
    row = connection.execute(
        select(messages.c.full_text).where(messages.c.chat_id == chat_id, messages.c.id == message_id)
    ).one_or_none()
    if row is None:
        raise NotFoundError("message", message_id)
    return None if row[0] is None else stored_text(row[0], what=_named(chat_id, message_id))


def _body(connection: Connection, chat_id: str, message_id: str) -> tuple[str, int]:
    if not is_id(message_id):
        raise NotFoundError("message", message_id)
    row = connection.execute(
        select(messages.c.body, messages.c.revision).where(
            messages.c.chat_id == chat_id, messages.c.id == message_id
        )
    ).one_or_none()
    if row is None:
        raise NotFoundError("message", message_id)
    return row[0], row[1]


def _decoded(body: object, chat_id: str, message_id: str) -> Message:
    try:
        return load_message(message_id, body)
    except CorruptError as error:
        raise _damaged(chat_id, message_id, error) from error


def _stored(rows: Iterable[_Row], chat_id: str) -> list[StoredMessage]:
    stored = []
    costs: dict[tuple[object, ...], Counted | None] = {(None, None, None): None}
    new = StoredMessage.__new__
    for (
        message_id, body, seq, revision, changed, parent, turn_id, incomplete, wire, provider_state, has_full,
        count_key, count_tokens, count_approximate, created_at,
    ) in rows:  # fmt: skip
        try:
            message = load_message(message_id, body)
        except CorruptError as error:
            raise _damaged(chat_id, message_id, error) from error
        one = new(StoredMessage)
        _set_message(one, message)
        _set_seq(one, seq)
        _set_revision(one, revision)
        _set_changed(one, changed)
        _set_parent(one, parent)
        _set_turn_id(one, turn_id)
        _set_status(one, "incomplete" if incomplete else "complete")
        _set_wire(one, wire if wire is None else _wire(wire, chat_id, message_id))
        _set_provider_state(
            one, provider_state if provider_state is None else _state(provider_state, chat_id, message_id)
        )
        _set_has_full(one, bool(has_full))
        count = (count_key, count_tokens, count_approximate)
        try:
            _set_counted(one, costs[count])
        except KeyError:
            counted = costs[count] = _counted(*count, chat_id, message_id)
            _set_counted(one, counted)
        _set_created_at(one, created_at)
        stored.append(one)
    return stored


def _wire(text: str, chat_id: str, id: str) -> Wire:
    try:
        value = load(text)
    except ValueError as error:
        raise _damaged(chat_id, id, error) from error
    match value:
        case [str() as provider, str() as codec, item, str() as answer]:
            return Wire(provider, codec, item, answer)
        case [str() as provider, str() as codec, item, str() as answer, [*told]]:
            prefixes = tuple(one for one in told if isinstance(one, str))
            if len(prefixes) == len(told):
                return Wire(provider, codec, item, answer, prefixes)
    raise _damaged(chat_id, id, "its wire form is not as it is written")


def _state(text: str, chat_id: str, id: str) -> dict[str, object] | None:
    return stored_object_or_none(text, what=_named(chat_id, id))


def _counted(key: object, tokens: object, approximate: object, chat_id: str, id: str) -> Counted:
    if type(key) is not str or type(tokens) is not int or type(approximate) is not str:
        raise _damaged(chat_id, id, "its count is not whole")
    aspects = frozenset(approximate.split(",")) if approximate else frozenset()
    if not aspects <= _ASPECTS or tokens < 0:
        raise _damaged(chat_id, id, "its count is none")
    return Counted(key, Cost(tokens, cast("frozenset[Aspect]", aspects)))


def _named(chat_id: str, id: str) -> str:
    return f"message {id!r} of chat {chat_id!r}"


def _damaged(chat_id: str, id: str, why: object) -> StoreUnavailableError:
    return corrupt(_named(chat_id, id), why)
