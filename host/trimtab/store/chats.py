"""Chats in the database: make, find, list, change, delete. Each function runs inside a transaction."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, Row, Select, delete, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from trimtab.store.adding import add_messages
from trimtab.store.checking import (
    check_id,
    check_text,
    is_id,
    stored_object,
    stored_object_or_none,
    stored_text,
)
from trimtab.store.json_text import dump
from trimtab.store.protocol import JsonObject, NewChat, StoredChat
from trimtab.store.schema import LIVE, chats, turns
from trimtab_sdk.errors import ChatChangedError, InvalidRequestError, NotFoundError, TurnInProgressError

MAX_PAGE: Final = 1000
_TICK: Final = 1e-6
"""The least step of `updated_at`, in seconds; a double still tells two such times apart."""

_live_turn: Final = (
    select(turns.c.id).where(turns.c.chat_id == chats.c.id, LIVE).scalar_subquery().label("turn_id")
)
_chats: Final = select(*(one for one in chats.c if one.name != "next_seq"), _live_turn)


def create_chat(connection: Connection, chat: NewChat, *, now: float) -> StoredChat:
    """Store a chat with its first messages."""
    check_id(chat.id, path="id")
    check_id(chat.owner, path="owner")
    row = {
        "id": chat.id,
        "owner": chat.owner,
        "title": dump(chat.title, what="the title"),
        "settings": dump(chat.settings, what="the chat's settings"),
        "revision": 1,
        "history_revision": 1,
        "next_seq": 1,
        "created_at": now,
        "updated_at": later_than_others(connection, chat.owner, chat.id, now=now),
    }
    try:
        connection.execute(insert(chats), row)
    except IntegrityError as error:
        raise InvalidRequestError(f"the chat id {chat.id!r} is taken", path="id", ids=[chat.id]) from error
    add_messages(connection, chat.id, chat.messages, turn_id=None, revision=1, now=now)
    return get_chat(connection, chat.id, owner=chat.owner)


def get_chat(connection: Connection, chat_id: str, *, owner: str) -> StoredChat:
    """Give a chat. Raises NotFoundError."""
    return _chat(_one(connection, _chats, chat_id, owner))


def lock_chat(connection: Connection, chat_id: str, *, owner: str) -> StoredChat:
    """Give a chat, and keep everybody else from changing it until the transaction ends. Raises NotFoundError."""
    _one(connection, select(chats.c.id).with_for_update(), chat_id, owner)
    return get_chat(connection, chat_id, owner=owner)


def require_chat(connection: Connection, chat_id: str, *, owner: str) -> None:
    """Raise NotFoundError unless the owner has this chat."""
    _one(connection, select(chats.c.id), chat_id, owner)


def list_chats(
    connection: Connection, *, owner: str, limit: int, before: tuple[float, str] | None
) -> list[StoredChat]:
    """Give a page of an owner's chats, last changed first."""
    if not is_id(owner) or (before is not None and not is_id(before[1])):
        return []
    query = _chats.where(chats.c.owner == owner).order_by(chats.c.updated_at.desc(), chats.c.id.desc())
    if before is not None:
        query = query.where(tuple_(chats.c.updated_at, chats.c.id) < before)
    return [_chat(row) for row in connection.execute(query.limit(max(0, min(limit, MAX_PAGE))))]


def update_chat(
    connection: Connection,
    chat_id: str,
    *,
    owner: str,
    now: float,
    settings: JsonObject | None,
    title: str | None,
    revision: int | None,
) -> StoredChat:
    """Change settings or title; the history's revision stays."""
    chat = lock_chat(connection, chat_id, owner=owner)
    check_revision(chat, revision)
    changed: dict[str, object] = {}
    if settings is not None:
        changed["settings"] = dump(settings, what="the chat's settings")
    if title is not None:
        changed["title"] = dump(title, what="the title")
    if not changed:
        return chat
    touch_chat(connection, chat, now=now, **changed)
    return get_chat(connection, chat_id, owner=owner)


def delete_chat(connection: Connection, chat_id: str, *, owner: str) -> None:
    """Delete a chat; the database's cascades take everything of it."""
    require_chat(connection, chat_id, owner=owner)
    connection.execute(delete(chats).where(chats.c.id == chat_id))


def check_revision(chat: StoredChat, revision: int | None) -> None:
    """Raise ChatChangedError unless the chat is at this revision."""
    if revision is not None and revision != chat.revision:
        raise ChatChangedError(chat.id, revision=chat.revision)


def check_no_turn(chat: StoredChat) -> None:
    """Raise TurnInProgressError while the chat has a turn that runs or is paused."""
    if chat.turn_id is not None:
        raise TurnInProgressError(
            f"the chat {chat.id!r} has a turn in progress; wait for it, or cancel it",
            chat_id=chat.id,
            turn_id=chat.turn_id,
        )


def touch_chat(connection: Connection, chat: StoredChat, *, now: float, **changed: object) -> int:
    """Raise a locked chat's revision by one, change what is given, and give the new revision."""
    revision = chat.revision + 1
    values = {
        "revision": revision,
        "updated_at": later_than_others(connection, chat.owner, chat.id, now=now),
        **changed,
    }
    connection.execute(update(chats).where(chats.c.id == chat.id).values(values))
    return revision


def provider_state_text(value: str | None) -> str | None:
    """Give an envelope's text as it is stored."""
    if value is not None:
        check_text(value, path="provider_state")
    return value


def later_than_others(connection: Connection, owner: str, chat_id: str, *, now: float) -> float:
    """Give the time of a change: `now`, or just after the owner's other chats when the clock says otherwise.

    So the order of the listing is the order of the changes, whatever clocks do.
    """
    query = (
        select(chats.c.updated_at)
        .where(chats.c.owner == owner, chats.c.id != chat_id)
        .order_by(chats.c.updated_at.desc())
        .limit(1)
    )
    newest = connection.execute(query).scalar()
    return now if newest is None or now > newest else float(newest) + _TICK


def _one(
    connection: Connection, query: Select[*tuple[object, ...]], chat_id: str, owner: str
) -> Row[*tuple[object, ...]]:
    row = None
    if is_id(chat_id) and is_id(owner):
        row = connection.execute(query.where(chats.c.id == chat_id, chats.c.owner == owner)).one_or_none()
    if row is None:
        raise NotFoundError("chat", chat_id)
    return row


def _chat(row: Row[*tuple[object, ...]]) -> StoredChat:
    what = f"chat {row.id!r}"
    return StoredChat(
        id=row.id,
        owner=row.owner,
        settings=stored_object(row.settings, what=f"the settings of {what}"),
        title=stored_text(row.title, what=f"the title of {what}"),
        revision=row.revision,
        history_revision=row.history_revision,
        last_provider_state=row.last_provider_state,
        last_context_state=stored_object_or_none(row.last_context_state, what=f"the snapshot of {what}"),
        carried=stored_object_or_none(row.carried, what=f"the carried edit of {what}"),
        turn_id=row.turn_id,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
