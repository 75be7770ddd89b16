"""What holds for turns, audits and events on every back end."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from store.stories import (
    LEASE,
    begin,
    end,
    everybody_is_dead,
    ids,
    new_chat,
    new_turn,
    nobody_is_dead,
    said,
    step,
)
from trimtab.store.protocol import Audit, Begun, Branch, EditParts, StoredChat, StoredEvent
from trimtab.store.schema import turns
from trimtab.store.sql_store import SqlStore
from trimtab_sdk import Notice, Text
from trimtab_sdk.errors import (
    ChatChangedError,
    InvalidRequestError,
    NotFoundError,
    StoreUnavailableError,
    TurnInProgressError,
    TurnLostError,
    TurnStateError,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
async def chat(store: SqlStore) -> StoredChat:
    return await store.create_chat(new_chat("c", "s"), now=1.0)


@pytest.fixture
async def begun(store: SqlStore, chat: StoredChat) -> Begun:
    return await begin(store, chat, "t", "u")


async def now_of(store: SqlStore) -> StoredChat:
    return await store.get_chat("c", owner="ann")


async def test_a_turn_starts_with_its_input_its_lease_and_a_prepared_audit(store: SqlStore, begun: Begun) -> None:
    assert begun.seqs == (2,)
    assert begun.interrupted == ()
    assert begun.chat == await now_of(store)
    assert (begun.chat.turn_id, begun.chat.revision, begun.chat.history_revision) == ("t", 2, 1)
    turn = begun.turn
    assert turn == await store.get_turn("t", owner="ann") == await store.last_turn("c", owner="ann")
    assert (turn.state, turn.fence, turn.lease_holder, turn.lease_until) == (
        "running",
        1,
        "holder-t",
        100.0 + LEASE,
    )
    assert (turn.input_ids, turn.provider, turn.model, turn.ended_at) == (("u",), "dry-run", "m", None)
    audit = await store.audit("c", owner="ann")
    assert audit is not None
    assert (audit.generation_id, audit.status, audit.error_code) == ("g-t", "prepared", "")
    assert audit.body == {"of": "t"}
    assert (await store.messages("c", owner="ann"))[-1].turn_id == "t"


async def test_a_finished_turn_has_stored_everything_at_once(store: SqlStore, begun: Begun) -> None:
    seqs = await store.finish_turn(
        end(
            begun,
            "a",
            provider_state="e",
            finish="stop",
            usage={"input": 7},
            partial="\0 and \ud800",
            audit_body={"of": "the end"},
        )
    )
    assert seqs == (3,)
    chat = await now_of(store)
    assert (chat.turn_id, chat.revision, chat.history_revision) == (None, 3, 1)
    turn = await store.get_turn("t", owner="ann")
    assert (turn.state, turn.ended_at, turn.finish, turn.usage) == ("completed", 102.0, "stop", {"input": 7})
    assert turn.partial == "\0 and \ud800"
    audit = await store.audit("c", owner="ann")
    assert audit is not None
    assert (audit.status, audit.body) == ("completed", {"of": "the end"})


async def test_a_failed_turn_keeps_its_input_and_says_why(store: SqlStore, begun: Begun) -> None:
    error = {"code": "PROVIDER_TIMEOUT", "message": "late", "details": {}}
    await store.finish_turn(end(begun, state="failed", error=error))
    turn = await store.get_turn("t", owner="ann")
    assert (turn.state, turn.error) == ("failed", error)
    audit = await store.audit("c", owner="ann")
    assert audit is not None
    assert (audit.status, audit.error_code, audit.body) == ("failed", "PROVIDER_TIMEOUT", {"of": "t"})
    assert await ids(store) == ["s", "u"]


async def test_a_step_raises_the_revision_only_when_it_has_messages(store: SqlStore, begun: Begun) -> None:
    assert await store.step_turn(step(begun, "a1", "r1")) == (3, 4)
    assert (await now_of(store)).revision == 3
    audit = Audit(generation_id="g-t", body={"step": 2})
    assert await store.step_turn(step(begun, audit=audit, lease_until=500.0)) == ()
    assert (await now_of(store)).revision == 3
    assert await store.audit("c", owner="ann") == audit
    assert (await store.get_turn("t", owner="ann")).lease_until == 500.0


async def test_a_second_turn_is_refused_while_one_lives_or_is_paused(store: SqlStore, begun: Begun) -> None:
    with pytest.raises(TurnInProgressError) as caught:
        await begin(store, begun.chat, "t2", "u2", now=101.0)
    assert (caught.value.chat_id, caught.value.turn_id) == ("c", "t")
    await store.step_turn(step(begun, loop_state={"calls": []}))
    with pytest.raises(TurnInProgressError):
        await begin(store, await now_of(store), "t2", "u2", now=1e9, is_dead=everybody_is_dead)
    assert await ids(store) == ["s", "u"]


async def test_a_turn_on_an_old_revision_is_refused_and_writes_nothing(store: SqlStore, chat: StoredChat) -> None:
    await store.update_chat("c", owner="ann", now=2.0, title="new")
    with pytest.raises(ChatChangedError) as caught:
        await begin(store, chat, "t", "u")
    assert caught.value.revision == 2
    assert await ids(store) == ["s"]
    assert await store.audit("c", owner="ann") is None
    assert await store.last_turn("c", owner="ann") is None


async def test_taken_ids_are_refused_and_write_nothing(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "a"))
    chat = await now_of(store)
    with pytest.raises(InvalidRequestError, match="'t' is taken"):
        await begin(store, chat, "t", "u2")
    with pytest.raises(InvalidRequestError) as caught:
        await begin(store, chat, "t2", "u")
    assert caught.value.ids == ("u",)
    assert await now_of(store) == chat
    assert await ids(store) == ["s", "u", "a"]


async def test_a_turn_whose_lease_is_over_is_ended_by_the_next(store: SqlStore, begun: Begun) -> None:
    await store.step_turn(step(begun, "a1", lease_until=130.0))
    chat = await now_of(store)
    with pytest.raises(TurnInProgressError):
        await begin(store, chat, "t2", "u2", now=129.9)
    next_ = await begin(store, chat, "t2", "u2", now=130.0)
    assert next_.interrupted == ("t",)
    dead = await store.get_turn("t", owner="ann")
    assert (dead.state, dead.fence, dead.ended_at) == ("failed", 2, 130.0)
    assert dead.error is not None
    assert dead.error["code"] == "TURN_INTERRUPTED"
    assert await ids(store) == ["s", "u", "a1", "u2"]


async def test_a_turn_whose_holder_is_dead_is_ended_at_once(store: SqlStore, begun: Begun) -> None:
    asked: list[str] = []

    def is_dead(holder: str) -> bool:
        asked.append(holder)
        return True

    next_ = await begin(store, begun.chat, "t2", "u2", now=101.0, is_dead=is_dead)
    assert (next_.interrupted, asked) == (("t",), ["holder-t"])
    audit = await store.audit("c", owner="ann")
    assert audit is not None
    assert (audit.generation_id, audit.status) == ("g-t2", "prepared")


async def test_a_dead_turn_stays_when_the_next_is_refused(store: SqlStore, begun: Begun) -> None:
    old = replace(begun.chat, revision=1)
    with pytest.raises(ChatChangedError):
        await begin(store, old, "t2", "u2", now=1e9)
    assert await store.get_turn("t", owner="ann") == begun.turn


async def test_a_late_writer_is_refused_everything(store: SqlStore, begun: Begun) -> None:
    await begin(store, begun.chat, "t2", "u2", now=1e9)
    before = await now_of(store)
    with pytest.raises(TurnLostError) as caught:
        await store.step_turn(step(begun, "late"))
    assert (caught.value.turn_id, caught.value.chat_id) == ("t", "c")
    with pytest.raises(TurnLostError):
        await store.finish_turn(end(begun, "late", provider_state="late"))
    with pytest.raises(TurnLostError):
        await store.renew_lease("t", begun.turn.fence, until=2e9)
    assert await now_of(store) == before
    assert await ids(store) == ["s", "u", "u2"]


async def test_a_turn_is_finished_once(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "a"))
    with pytest.raises(TurnLostError):
        await store.finish_turn(end(begun, "b"))
    with pytest.raises(TurnLostError):
        await store.step_turn(step(begun, "b"))
    assert await ids(store) == ["s", "u", "a"]


async def test_a_turn_of_a_deleted_chat_is_lost(store: SqlStore, begun: Begun) -> None:
    await store.delete_chat("c", owner="ann")
    for late in (
        store.step_turn(step(begun, "a")),
        store.finish_turn(end(begun, "a")),
        store.add_events("t", [StoredEvent(1, {})]),
    ):
        with pytest.raises(TurnLostError):
            await late
    with pytest.raises(TurnLostError):
        await store.renew_lease("t", 1, until=1e9)


async def test_a_turn_is_paused_and_resumed_with_a_raised_fence(store: SqlStore, begun: Begun) -> None:
    await store.step_turn(step(begun, "a1", loop_state={"calls": ["x"]}))
    paused = await store.get_turn("t", owner="ann")
    assert (paused.state, paused.loop_state, paused.lease_holder) == ("paused", {"calls": ["x"]}, "")
    assert (await now_of(store)).turn_id == "t"
    assert await store.recover(now=1e9, is_dead=everybody_is_dead) == []
    with pytest.raises(TurnLostError):
        await store.step_turn(step(begun, "a2"))
    again = await store.resume_turn("t", owner="ann", lease_holder="h2", lease_until=300.0, now=200.0)
    assert (again.state, again.fence, again.lease_holder, again.lease_until) == ("running", 2, "h2", 300.0)
    assert again.loop_state == {"calls": ["x"]}
    with pytest.raises(TurnStateError):
        await store.resume_turn("t", owner="ann", lease_holder="h3", lease_until=300.0, now=200.0)
    with pytest.raises(TurnLostError):
        await store.finish_turn(end(begun, "late"))
    await store.finish_turn(end(replace(begun, turn=again), "a2"))
    ended = await store.get_turn("t", owner="ann")
    assert (ended.state, ended.loop_state) == ("completed", None)
    assert await ids(store) == ["s", "u", "a1", "a2"]


async def test_a_paused_turn_can_be_ended_as_it_is(store: SqlStore, begun: Begun) -> None:
    await store.step_turn(step(begun, loop_state={}))
    await store.finish_turn(end(begun, state="cancelled"))
    assert (await store.get_turn("t", owner="ann")).state == "cancelled"
    assert (await now_of(store)).turn_id is None


async def test_the_lease_is_renewed_and_a_wish_to_cancel_is_told(store: SqlStore, begun: Begun) -> None:
    assert await store.renew_lease("t", 1, until=200.0) is False
    assert (await store.get_turn("t", owner="ann")).lease_until == 200.0
    assert (await store.request_cancel("t", owner="ann")).cancel_requested is True
    assert await store.renew_lease("t", 1, until=210.0) is True
    await store.finish_turn(end(begun))
    ended = await store.get_turn("t", owner="ann")
    assert await store.request_cancel("t", owner="ann") == ended


async def test_a_turn_that_has_ended_is_not_marked_for_cancelling(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun))
    assert (await store.request_cancel("t", owner="ann")).cancel_requested is False


async def test_recovery_ends_what_is_dead_and_leaves_what_lives(store: SqlStore) -> None:
    for name in ("dead", "late", "lives", "paused"):
        chat = await store.create_chat(new_chat(f"c-{name}"), now=1.0)
        begun = await begin(store, chat, f"t-{name}", f"u-{name}", now=80.0 if name == "late" else 100.0)
        if name == "paused":
            await store.step_turn(step(begun, loop_state={}))
    ended = await store.recover(now=115.0, is_dead=lambda holder: holder == "holder-t-dead")
    assert sorted(ended) == ["t-dead", "t-late"]
    states = {name: (await store.get_turn(f"t-{name}", owner="ann")).state for name in ("lives", "paused", "dead")}
    assert states == {"lives": "running", "paused": "paused", "dead": "failed"}
    audit = await store.audit("c-dead", owner="ann")
    assert audit is not None
    assert (audit.status, audit.error_code) == ("failed", "TURN_INTERRUPTED")
    chat = await store.get_chat("c-dead", owner="ann")
    assert (chat.turn_id, chat.revision) == (None, 2)
    told = await store.events("t-dead", owner="ann")
    assert [one.sequence for one in told] == list(range(1, len(told) + 1))
    assert (told[-1].event["kind"], told[-1].event["code"]) == ("turn_failed", "TURN_INTERRUPTED")
    assert (await begin(store, chat, "t-next", "again")).seqs == (2,)


async def test_a_judge_that_raises_leaves_everything_as_it_was(store: SqlStore, begun: Begun) -> None:
    def broken(holder: str) -> bool:
        raise RuntimeError("cannot tell")

    with pytest.raises(RuntimeError, match="cannot tell"):
        await begin(store, begun.chat, "t2", "u2", now=101.0, is_dead=broken)
    with pytest.raises(RuntimeError, match="cannot tell"):
        await store.recover(now=101.0, is_dead=broken)
    assert await store.get_turn("t", owner="ann") == begun.turn


async def test_a_cut_answer_leaves_the_branch_when_its_turn_is_tried_again(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "cut", state="cancelled"))
    chat = await now_of(store)
    again = replace(new_turn(chat, "t2"), deactivate=("cut",), input_ids=("u",))
    next_ = await store.begin_turn(again, is_dead=nobody_is_dead)
    assert (next_.chat.revision, next_.chat.history_revision) == (4, 4)
    await store.finish_turn(end(next_, "whole"))
    assert await ids(store) == ["s", "u", "whole"]
    assert (await store.messages("c", owner="ann"))[-1].parent == "u"
    await store.change_messages("c", [Branch("cut")], owner="ann", now=200.0)
    assert await ids(store) == ["s", "u", "cut"]


async def test_a_message_that_leaves_from_the_middle_takes_nothing_along(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "cut", "notice"))
    again = replace(new_turn(await now_of(store), "t2", "u2"), deactivate=("cut",))
    await store.begin_turn(again, is_dead=nobody_is_dead)
    found = await store.messages("c", owner="ann")
    assert [(one.message.id, one.parent) for one in found] == [
        ("s", None),
        ("u", "s"),
        ("notice", "u"),
        ("u2", "notice"),
    ]


async def test_messages_that_leave_together_stay_one_behind_the_other(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "a1", "a2"))
    again = replace(new_turn(await now_of(store), "t2"), deactivate=("a1", "a2"))
    next_ = await store.begin_turn(again, is_dead=nobody_is_dead)
    assert await ids(store) == ["s", "u"]
    await store.finish_turn(end(next_))
    await store.change_messages("c", [Branch("a2")], owner="ann", now=200.0)
    assert await ids(store) == ["s", "u", "a1", "a2"]


async def test_the_database_itself_refuses_a_second_live_turn(store: SqlStore, begun: Begun) -> None:
    def copy(connection: Connection) -> None:
        row = connection.execute(select(turns)).mappings().one()
        connection.execute(insert(turns), dict(row) | {"id": "t2", "number": 2, "state": "paused"})

    with pytest.raises(StoreUnavailableError) as caught:
        await store._write(copy)
    assert isinstance(caught.value.__cause__, IntegrityError)


async def test_numbers_that_no_database_holds_are_refused_or_find_nothing(store: SqlStore, begun: Begun) -> None:
    with contextlib.suppress(InvalidRequestError):
        assert await store.events("t", owner="ann", after=10**30) == []
    assert (await store.get_turn("t", owner="ann")).state == "running"


async def test_what_is_not_on_the_branch_cannot_leave_it(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "a"))
    chat = await store.change_messages("c", [Branch("u")], owner="ann", now=150.0)
    with pytest.raises(InvalidRequestError):
        await store.begin_turn(replace(new_turn(chat, "t2"), deactivate=("a",)), is_dead=nobody_is_dead)
    with pytest.raises(NotFoundError):
        await store.begin_turn(replace(new_turn(chat, "t2"), deactivate=("nobody",)), is_dead=nobody_is_dead)


async def test_the_end_mends_messages_of_its_own_turn_only(store: SqlStore, begun: Begun) -> None:
    await store.step_turn(step(begun, "a"))
    mended = (Notice("continuation_transition", {"recovered": True}),)
    with pytest.raises(InvalidRequestError):
        await store.finish_turn(end(begun, edits=(EditParts("s", (Text("forged"),)),)))
    await store.finish_turn(end(begun, edits=(EditParts("a", mended),)))
    chat = await now_of(store)
    assert (chat.revision, chat.history_revision) == (4, 1)
    last = (await store.messages("c", owner="ann"))[-1]
    assert (last.message.parts, last.revision, last.changed) == (mended, 2, 4)


async def test_an_audit_that_ended_is_not_touched_by_a_turn_without_one(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun))
    ended = await store.audit("c", owner="ann")
    quiet = replace(new_turn(await now_of(store), "t2", "u2"), audit=None)
    next_ = await store.begin_turn(quiet, is_dead=nobody_is_dead)
    await store.finish_turn(end(next_, state="failed", error={"code": "X"}))
    assert await store.audit("c", owner="ann") == ended


async def test_events_are_kept_once_and_read_in_pages(store: SqlStore, begun: Begun) -> None:
    events = [StoredEvent(at, {"kind": "text_delta", "text": f"{at} \0 \ud800"}) for at in range(1, 8)]
    await store.add_events("t", events[:4])
    await store.add_events("t", [StoredEvent(4, {"kind": "another"}), *events[4:]])
    await store.add_events("t", [])
    assert await store.events("t", owner="ann") == events
    assert [one.event for one in await store.events("t", owner="ann", after=3, limit=2)] == [
        one.event for one in events[3:5]
    ]


async def test_the_events_of_a_transaction_come_with_it(store: SqlStore, chat: StoredChat) -> None:
    first = replace(new_turn(chat, "t", "u"), events=(StoredEvent(1, {"kind": "turn_started"}),))
    begun = await store.begin_turn(first, is_dead=nobody_is_dead)
    await store.step_turn(step(begun, events=(StoredEvent(2, {"kind": "usage"}),)))
    await store.finish_turn(end(begun, events=(StoredEvent(3, {"kind": "turn_completed"}),)))
    kinds = [one.event["kind"] for one in await store.events("t", owner="ann")]
    assert kinds == ["turn_started", "usage", "turn_completed"]


async def test_only_events_of_turns_that_ended_long_ago_are_pruned(store: SqlStore, begun: Begun) -> None:
    await store.add_events("t", [StoredEvent(1, {}), StoredEvent(2, {})])
    assert await store.prune_events(ended_before=1e9) == 0
    await store.finish_turn(end(begun, now=102.0))
    assert await store.prune_events(ended_before=102.0) == 0
    assert await store.prune_events(ended_before=102.1) == 2
    assert await store.events("t", owner="ann") == []
    assert (await store.get_turn("t", owner="ann")).state == "completed"


async def test_an_input_that_cannot_be_stored_leaves_no_turn(store: SqlStore, chat: StoredChat) -> None:
    bad = replace(said("u"), provider_state={"x": object()})
    with pytest.raises(InvalidRequestError, match="'u'"):
        await store.begin_turn(replace(new_turn(chat, "t"), messages=(bad,)), is_dead=nobody_is_dead)
    assert await store.last_turn("c", owner="ann") is None
    assert await now_of(store) == chat
