"""Turns in the database: begin, step, resume, finish, recover. Each function runs inside a transaction.

What changes a chat locks its row first, so for one chat everything here happens one after the other.

A turn that begins and one that is finished raise the chat's revision by one, a step does when it has messages.
Ending a turn that was found dead does not: what it had stored raised the revision then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from trimtab.store.adding import add_messages, write_counts
from trimtab.store.auditing import add_events, end_audit, wake, write_audit
from trimtab.store.changing import deactivate, edit_parts
from trimtab.store.chats import (
    check_no_turn,
    check_revision,
    get_chat,
    lock_chat,
    provider_state_text,
    require_chat,
    touch_chat,
)
from trimtab.store.checking import (
    check_id,
    check_name,
    is_id,
    stored_ids,
    stored_object,
    stored_object_or_none,
    stored_text,
)
from trimtab.store.json_text import dump
from trimtab.store.protocol import (
    KEEP,
    Begun,
    KeyTakenError,
    NewTurn,
    StoredChat,
    StoredEvent,
    StoredTurn,
    TurnFinish,
    TurnState,
    TurnStep,
)
from trimtab.store.schema import LIVE, messages, turn_events, turns
from trimtab_sdk.errors import InvalidRequestError, NotFoundError, TurnLostError, TurnStateError

IsDead = Callable[[str], bool]

_INTERRUPTED: Final = "TURN_INTERRUPTED"
_INTERRUPTION: Final = {
    "code": _INTERRUPTED,
    "message": "the process that ran the turn ended in the middle of it; its input and finished steps are stored",
    "details": {},
}


def begin_turn(connection: Connection, new: NewTurn, *, is_dead: IsDead) -> Begun:
    """Start a turn; one in the way that is dead is ended first."""
    _check_new(new)
    chat = lock_chat(connection, new.chat_id, owner=new.owner)
    _check_key(connection, new)
    interrupted = _end_if_dead(connection, chat.turn_id, now=new.now, is_dead=is_dead)
    if not interrupted:
        check_no_turn(chat)
    check_revision(chat, new.revision)
    revision = _start(connection, chat, new)
    deactivate(connection, chat.id, new.deactivate, revision=revision)
    _insert_turn(connection, new)
    seqs = add_messages(connection, chat.id, new.messages, turn_id=new.id, revision=revision, now=new.now)
    if new.audit is not None:
        write_audit(connection, chat.id, new.audit)
    add_events(connection, new.id, new.events)
    turn = get_turn(connection, new.id, owner=new.owner)
    return Begun(get_chat(connection, chat.id, owner=new.owner), turn, seqs, interrupted)


def step_turn(connection: Connection, step: TurnStep) -> tuple[int, ...]:
    """Write what a running turn did. Raises TurnLostError."""
    chat, turn = _lock_turn(connection, step.turn_id, step.fence, states=("running",))
    revision = touch_chat(connection, chat, now=step.now) if step.messages else chat.revision
    seqs = add_messages(connection, chat.id, step.messages, turn_id=turn.id, revision=revision, now=step.now)
    if step.audit is not None:
        write_audit(connection, chat.id, step.audit)
    _set_turn(connection, turn.id, **_after_step(step))
    add_events(connection, turn.id, step.events)
    return seqs


def resume_turn(
    connection: Connection, turn_id: str, *, owner: str, lease_holder: str, lease_until: float
) -> StoredTurn:
    """Make a paused turn run again. Raises NotFoundError and TurnStateError."""
    check_name(lease_holder, path="lease_holder")
    found = get_turn(connection, turn_id, owner=owner)
    lock_chat(connection, found.chat_id, owner=owner)
    turn = get_turn(connection, turn_id, owner=owner)
    if turn.state != "paused":
        raise TurnStateError(
            f"the turn {turn_id!r} is {turn.state}, and only a paused one can be resumed",
            chat_id=turn.chat_id,
            turn_id=turn_id,
        )
    _set_turn(
        connection,
        turn_id,
        state="running",
        fence=turn.fence + 1,
        lease_holder=lease_holder,
        lease_until=lease_until,
    )
    return get_turn(connection, turn_id, owner=owner)


def renew_lease(connection: Connection, turn_id: str, fence: int, *, until: float) -> bool:
    """Keep a running turn leased and tell whether it shall end. Raises TurnLostError."""
    mine = (turns.c.id == turn_id, turns.c.fence == fence, turns.c.state == "running")
    if not is_id(turn_id) or not connection.execute(update(turns).where(*mine).values(lease_until=until)).rowcount:
        raise _lost(turn_id)
    return bool(connection.execute(select(turns.c.cancel_requested).where(turns.c.id == turn_id)).scalar_one())


def finish_turn(connection: Connection, end: TurnFinish) -> tuple[int, ...]:
    """End a running or paused turn. Raises TurnLostError."""
    chat, turn = _lock_turn(connection, end.turn_id, end.fence, states=("running", "paused"))
    revision = touch_chat(connection, chat, now=end.now, **_states(end))
    seqs = add_messages(connection, chat.id, end.messages, turn_id=turn.id, revision=revision, now=end.now)
    _edit_own(connection, chat.id, end, revision=revision)
    write_counts(connection, chat.id, end.counts)
    code = str(end.error.get("code", "")) if end.error is not None else ""
    end_audit(connection, chat.id, turn.generation_id, state=end.state, code=code, body=end.audit_body)
    _set_turn(connection, turn.id, **_after_end(end))
    add_events(connection, turn.id, end.events)
    return seqs


def request_cancel(connection: Connection, turn_id: str, *, owner: str) -> StoredTurn:
    """Note that a live turn shall end, and give it. Raises NotFoundError."""
    get_turn(connection, turn_id, owner=owner)
    connection.execute(update(turns).where(turns.c.id == turn_id, LIVE).values(cancel_requested=1))
    wake(connection, turn_id, 0)
    return get_turn(connection, turn_id, owner=owner)


def get_turn(connection: Connection, turn_id: str, *, owner: str) -> StoredTurn:
    """Give a turn. Raises NotFoundError."""
    row = None
    if is_id(turn_id) and is_id(owner):
        row = connection.execute(select(turns).where(turns.c.id == turn_id, turns.c.owner == owner)).one_or_none()
    if row is None:
        raise NotFoundError("turn", turn_id)
    return _turn(row)


def turn_of_key(connection: Connection, chat_id: str, key: str, *, owner: str) -> StoredTurn | None:
    """Give the turn of a chat that was started with a key. Raises NotFoundError for an unknown chat."""
    require_chat(connection, chat_id, owner=owner)
    check_name(key, path="key")
    row = connection.execute(
        select(turns).where(turns.c.chat_id == chat_id, turns.c.caller_key == key)
    ).one_or_none()
    return None if row is None else _turn(row)


def last_turn(connection: Connection, chat_id: str, *, owner: str) -> StoredTurn | None:
    """Give the turn of a chat that was started last. Raises NotFoundError."""
    require_chat(connection, chat_id, owner=owner)
    query = select(turns).where(turns.c.chat_id == chat_id).order_by(turns.c.number.desc()).limit(1)
    row = connection.execute(query).one_or_none()
    return None if row is None else _turn(row)


def recover(connection: Connection, *, now: float, is_dead: IsDead) -> list[str]:
    """End every running turn that is dead and give their ids, in the order of their chats."""
    found = connection.execute(select(turns.c.id, turns.c.chat_id, turns.c.owner).where(LIVE)).all()
    ended: list[str] = []
    for turn_id, chat_id, owner in sorted(found, key=lambda row: str(row.chat_id)):
        try:
            lock_chat(connection, chat_id, owner=owner)
        except NotFoundError:
            continue
        ended += _end_if_dead(connection, turn_id, now=now, is_dead=is_dead)
    return ended


def _check_new(new: NewTurn) -> None:
    check_id(new.id, path="id")
    for path in ("generation_id", "provider", "model", "lease_holder"):
        check_name(getattr(new, path), path=path)


def _check_key(connection: Connection, new: NewTurn) -> None:
    if not new.key:
        return
    check_name(new.key, path="key")
    query = select(turns.c.id).where(turns.c.chat_id == new.chat_id, turns.c.caller_key == new.key)
    taken = connection.execute(query).scalar()
    if taken is not None:
        raise KeyTakenError(taken)


def _start(connection: Connection, chat: StoredChat, new: NewTurn) -> int:
    if new.deactivate:
        return touch_chat(connection, chat, now=new.now, history_revision=chat.revision + 1)
    return touch_chat(connection, chat, now=new.now)


def _insert_turn(connection: Connection, new: NewTurn) -> None:
    number = select(func.coalesce(func.max(turns.c.number), 0) + 1).where(turns.c.chat_id == new.chat_id)
    row = {
        "id": new.id,
        "chat_id": new.chat_id,
        "number": connection.execute(number).scalar_one(),
        "owner": new.owner,
        "state": "running",
        "generation_id": new.generation_id,
        "input_ids": dump(list(new.input_ids), what="the ids of the input"),
        "provider": new.provider,
        "model": new.model,
        "fence": 1,
        "lease_holder": new.lease_holder,
        "lease_until": new.lease_until,
        "started_at": new.now,
        "options": dump(new.options, what="the turn's options"),
        "partial": '""',
        "cancel_requested": 0,
        "caller_key": new.key or None,
    }
    try:
        connection.execute(insert(turns), row)
    except IntegrityError as error:
        raise InvalidRequestError(f"the turn id {new.id!r} is taken", path="id", ids=[new.id]) from error


def _lock_turn(
    connection: Connection, turn_id: str, fence: int, *, states: Sequence[TurnState]
) -> tuple[StoredChat, StoredTurn]:
    if not is_id(turn_id):
        raise _lost(turn_id)
    home = connection.execute(select(turns.c.chat_id, turns.c.owner).where(turns.c.id == turn_id)).one_or_none()
    if home is None:
        raise _lost(turn_id)
    try:
        chat = lock_chat(connection, home.chat_id, owner=home.owner)
        turn = get_turn(connection, turn_id, owner=home.owner)
    except NotFoundError as error:
        raise _lost(turn_id) from error
    if turn.fence != fence or turn.state not in states:
        raise _lost(turn_id, chat.id)
    return chat, turn


def _lost(turn_id: str, chat_id: str = "") -> TurnLostError:
    return TurnLostError(
        f"the turn {turn_id!r} has ended or was taken over, so nothing of it was written; read the chat again",
        chat_id=chat_id,
        turn_id=turn_id,
    )


def _end_if_dead(connection: Connection, turn_id: str | None, *, now: float, is_dead: IsDead) -> tuple[str, ...]:
    """End a turn of a locked chat if it runs and is dead; give its id then."""
    if turn_id is None:
        return ()
    row = connection.execute(select(turns).where(turns.c.id == turn_id)).one()
    if row.state != "running" or (now < row.lease_until and not is_dead(row.lease_holder)):
        return ()
    _set_turn(
        connection,
        turn_id,
        state="failed",
        fence=row.fence + 1,
        ended_at=now,
        loop_state=None,
        error=dump(_INTERRUPTION, what="the error"),
    )
    end_audit(connection, row.chat_id, row.generation_id, state="failed", code=_INTERRUPTED, body=None)
    add_events(connection, turn_id, [_last_event(connection, turn_id)])
    return (turn_id,)


def _last_event(connection: Connection, turn_id: str) -> StoredEvent:
    """Give the event that nobody was left to write, for those who wait for the end of the turn."""
    last = connection.execute(
        select(func.max(turn_events.c.sequence)).where(turn_events.c.turn_id == turn_id)
    ).scalar_one()
    event = {"kind": "turn_failed", "turnId": turn_id, **_INTERRUPTION, "stored": True, "retryable": True}
    return StoredEvent((last or 0) + 1, event)


def _after_step(step: TurnStep) -> dict[str, object]:
    if step.loop_state is not None:
        loop_state = dump(step.loop_state, what="the loop state")
        return {"state": "paused", "loop_state": loop_state, "lease_holder": "", "lease_until": 0.0}
    return {"lease_until": step.lease_until} if step.lease_until else {}


def _after_end(end: TurnFinish) -> dict[str, object]:
    if end.finish is not None:
        check_name(end.finish, path="finish")
    return {
        "state": end.state,
        "ended_at": end.now,
        "loop_state": None,
        "finish": end.finish,
        "partial": dump(end.partial, what="the partial answer"),
        "usage": None if end.usage is None else dump(end.usage, what="the usage"),
        "error": None if end.error is None else dump(end.error, what="the error"),
    }


def _states(end: TurnFinish) -> dict[str, object]:
    changed: dict[str, object] = {}
    if end.provider_state is not KEEP:
        changed["last_provider_state"] = provider_state_text(end.provider_state)
    if end.context_state is not KEEP:
        state = end.context_state
        changed["last_context_state"] = None if state is None else dump(state, what="the snapshot")
    if end.carried is not KEEP:
        changed["carried"] = None if end.carried is None else dump(end.carried, what="the carried edit")
    return changed


def _edit_own(connection: Connection, chat_id: str, end: TurnFinish, *, revision: int) -> None:
    for edit in end.edits:
        of = select(messages.c.turn_id).where(messages.c.chat_id == chat_id, messages.c.id == edit.id)
        if connection.execute(of).scalar() != end.turn_id:
            raise InvalidRequestError(f"message {edit.id!r} is not of turn {end.turn_id!r}", ids=[edit.id])
        edit_parts(connection, chat_id, edit, revision=revision, now=end.now)


def _set_turn(connection: Connection, turn_id: str, **changed: object) -> None:
    if changed:
        connection.execute(update(turns).where(turns.c.id == turn_id).values(changed))


def _turn(row: Row[*tuple[object, ...]]) -> StoredTurn:
    what = f"turn {row.id!r}"
    return StoredTurn(
        id=row.id,
        chat_id=row.chat_id,
        owner=row.owner,
        state=row.state,
        generation_id=row.generation_id,
        input_ids=stored_ids(row.input_ids, what=what),
        provider=row.provider,
        model=row.model,
        fence=row.fence,
        lease_holder=row.lease_holder,
        lease_until=row.lease_until,
        started_at=row.started_at,
        ended_at=row.ended_at,
        options=stored_object(row.options, what=what),
        loop_state=stored_object_or_none(row.loop_state, what=what),
        finish=row.finish,
        partial=stored_text(row.partial, what=what),
        usage=stored_object_or_none(row.usage, what=what),
        error=stored_object_or_none(row.error, what=what),
        cancel_requested=bool(row.cancel_requested),
    )
