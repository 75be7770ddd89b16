"""Changes to stored messages: edit, pin, exclude, remove, branch. Each function runs inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, Row, bindparam, delete, insert, literal, select, update

from trimtab.store.chats import check_no_turn, check_revision, get_chat, lock_chat, touch_chat
from trimtab.store.checking import is_id
from trimtab.store.protocol import Branch, Change, EditParts, Remove, SetExcluded, SetPinned, StoredChat
from trimtab.store.reading import read_message
from trimtab.store.schema import message_revisions, messages
from trimtab.store.stored_form import dump_message
from trimtab_sdk.errors import InvalidRequestError, NotFoundError
from trimtab_sdk.messages import EMPTY_META, Message

EXCLUDED_KEY = "manualExcluded"


def change_messages(
    connection: Connection,
    chat_id: str,
    changes: Sequence[Change],
    *,
    owner: str,
    now: float,
    revision: int | None,
) -> StoredChat:
    """Make changes one after the other. No changes leave the chat at its revision."""
    chat = lock_chat(connection, chat_id, owner=owner)
    check_no_turn(chat)
    check_revision(chat, revision)
    if not changes:
        return chat
    fresh = touch_chat(connection, chat, now=now, history_revision=chat.revision + 1)
    for change in changes:
        _make(connection, chat_id, change, revision=fresh, now=now)
    return get_chat(connection, chat_id, owner=owner)


def edit_parts(connection: Connection, chat_id: str, edit: EditParts, *, revision: int, now: float) -> None:
    """Give a message other parts and keep how it was. Raises NotFoundError."""
    message = read_message(connection, chat_id, edit.id)
    kept = (
        select(messages.c.chat_id, messages.c.id, messages.c.revision, messages.c.body, literal(now))
        .where(messages.c.chat_id == chat_id, messages.c.id == edit.id)
    )  # fmt: skip
    connection.execute(
        insert(message_revisions).from_select(["chat_id", "message_id", "revision", "body", "replaced_at"], kept)
    )
    connection.execute(
        update(messages)
        .where(messages.c.chat_id == chat_id, messages.c.id == edit.id)
        .values(
            body=dump_message(replace(message, parts=tuple(edit.parts))),
            revision=messages.c.revision + 1,
            changed=revision,
            wire=None,
            full_text=None,
            count_key=None,
            count_tokens=None,
            count_approximate=None,
        )
    )


def deactivate(connection: Connection, chat_id: str, ids: Sequence[str], *, revision: int) -> None:
    """Take messages out of the active branch; they stay stored, at the end of a branch of their own.

    Raises InvalidRequestError for one that is not on the active branch.
    """
    rows = [(message_id, _row(connection, chat_id, message_id)) for message_id in ids]
    away = [message_id for message_id, row in rows if not row.active]
    if away:
        raise InvalidRequestError(f"messages that are not on the active branch: {', '.join(away)}", ids=away)
    # The last one first, so that those that leave together stay one behind the other.
    for message_id, row in sorted(rows, key=lambda one: -one[1].seq):
        _adopt(connection, chat_id, message_id, row.parent, revision=revision, active_only=True)
        _set_active(connection, chat_id, [message_id], active=0)


def _make(connection: Connection, chat_id: str, change: Change, *, revision: int, now: float) -> None:
    match change:
        case EditParts():
            edit_parts(connection, chat_id, change, revision=revision, now=now)
        case SetPinned(id, pinned):
            message = replace(read_message(connection, chat_id, id), pinned=pinned)
            _write_flags(connection, chat_id, message, revision=revision)
        case SetExcluded(id, excluded):
            message = _with_excluded(read_message(connection, chat_id, id), excluded)
            _write_flags(connection, chat_id, message, revision=revision)
        case Remove(id):
            _remove(connection, chat_id, id, revision=revision)
        case Branch(leaf):
            _branch(connection, chat_id, leaf)


def _with_excluded(message: Message, excluded: bool) -> Message:
    meta = {key: value for key, value in message.meta.items() if key != EXCLUDED_KEY}
    if excluded:
        meta[EXCLUDED_KEY] = True
    return replace(message, meta=meta or EMPTY_META)


def _write_flags(connection: Connection, chat_id: str, message: Message, *, revision: int) -> None:
    connection.execute(
        update(messages)
        .where(messages.c.chat_id == chat_id, messages.c.id == message.id)
        .values(body=dump_message(message), changed=revision)
    )


def _remove(connection: Connection, chat_id: str, id: str, *, revision: int) -> None:
    row = _row(connection, chat_id, id)
    _adopt(connection, chat_id, id, row.parent, revision=revision)
    connection.execute(delete(messages).where(messages.c.chat_id == chat_id, messages.c.id == id))


def _adopt(
    connection: Connection, chat_id: str, id: str, parent: str | None, *, revision: int, active_only: bool = False
) -> None:
    query = update(messages).where(messages.c.chat_id == chat_id, messages.c.parent == id)
    if active_only:
        query = query.where(messages.c.active == 1)
    connection.execute(query.values(parent=parent, changed=revision))


def _branch(connection: Connection, chat_id: str, leaf: str | None) -> None:
    found = connection.execute(
        select(messages.c.id, messages.c.parent, messages.c.active).where(messages.c.chat_id == chat_id)
    ).all()
    parents = {one: parent for one, parent, _ in found}
    wanted = _path(parents, leaf)
    was = {one for one, _, active in found if active}
    _set_active(connection, chat_id, was - wanted, active=0)
    _set_active(connection, chat_id, wanted - was, active=1)


def _path(parents: dict[str, str | None], leaf: str | None) -> set[str]:
    if leaf is not None and leaf not in parents:
        raise NotFoundError("message", leaf)
    path: set[str] = set()
    while leaf is not None and leaf not in path:
        path.add(leaf)
        leaf = parents.get(leaf)
    return path


def _set_active(connection: Connection, chat_id: str, ids: Iterable[str], *, active: int) -> None:
    rows = [{"message_id": one} for one in sorted(ids)]
    if not rows:
        return
    query = (
        update(messages)
        .where(messages.c.chat_id == chat_id, messages.c.id == bindparam("message_id"))
        .values(active=active)
    )
    connection.execute(query, rows)


def _row(connection: Connection, chat_id: str, id: str) -> Row[str | None, int, int]:
    row = None
    if is_id(id):
        row = connection.execute(
            select(messages.c.parent, messages.c.active, messages.c.seq).where(
                messages.c.chat_id == chat_id, messages.c.id == id
            )
        ).one_or_none()
    if row is None:
        raise NotFoundError("message", id)
    return row
