"""What holds for stored messages on every back end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from store.stories import begin, end, ids, new_chat, said
from trimtab.store.protocol import (
    Branch,
    Change,
    Counted,
    EditParts,
    NewMessage,
    Remove,
    SetExcluded,
    SetPinned,
    StoredMessage,
    Wire,
)
from trimtab.store.sql_store import SqlStore
from trimtab_sdk import Message, Text
from trimtab_sdk.counting import Cost
from trimtab_sdk.errors import ChatChangedError, InvalidRequestError, NotFoundError, TurnInProgressError

pytestmark = pytest.mark.anyio


async def one(store: SqlStore, id: str) -> StoredMessage:
    return next(found for found in await store.messages("c", owner="ann") if found.message.id == id)


async def test_everything_of_a_message_comes_back(store: SqlStore) -> None:
    whole = NewMessage(
        message=Message("m", "tool", (Text("cut \0 off"),), name="n", meta={"a": [1]}),
        wire=Wire("openai", "openai-responses", {"type": "message", "x": "\0\ud800"}, "resp_1"),
        provider_state={"id": "resp_1"},
        full="the whole text \0",
        status="incomplete",
        counted=Counted("o200k_base", Cost(7, frozenset({"images", "framing"}))),
    )
    await store.create_chat(replace(new_chat(), messages=(whole,)), now=3.0)
    assert await store.messages("c", owner="ann") == [
        StoredMessage(
            message=whole.message,
            seq=1,
            changed=1,
            status="incomplete",
            wire=whole.wire,
            provider_state={"id": "resp_1"},
            has_full=True,
            counted=whole.counted,
            created_at=3.0,
        )
    ]
    stored = await one(store, "m")
    assert stored.wire is not None
    assert stored.wire.item == {"type": "message", "x": "\0\ud800"}
    assert stored.provider_state == {"id": "resp_1"}
    assert await store.full_text("c", "m", owner="ann") == "the whole text \0"
    with pytest.raises(NotFoundError):
        await store.full_text("c", "nobody", owner="ann")


async def test_the_prefixes_of_reasoning_come_back(store: SqlStore) -> None:
    wire = Wire("anthropic", "anthropic-messages", {"role": "assistant"}, "a/1", ("prefix-1:00", "prefix-1:01"))
    sealed = NewMessage(message=Message("m", "assistant", (Text("hi"),)), wire=wire)
    await store.create_chat(replace(new_chat(), messages=(sealed,)), now=3.0)
    assert (await one(store, "m")).wire == wire


async def test_an_edit_keeps_how_it_was_and_drops_what_no_longer_holds(store: SqlStore) -> None:
    first = NewMessage(
        message=Message("m", "assistant", (Text("old"),), pinned=True),
        wire=Wire("p", "c", {}),
        full="whole",
        counted=Counted("k", Cost(1)),
    )
    await store.create_chat(replace(new_chat(), messages=(first, said("n"))), now=1.0)
    chat = await store.change_messages("c", [EditParts("m", (Text("new"),))], owner="ann", now=2.0)
    assert (chat.revision, chat.history_revision) == (2, 2)
    edited = await one(store, "m")
    assert edited.message == Message("m", "assistant", (Text("new"),), pinned=True)
    assert (edited.revision, edited.changed, edited.seq) == (2, 2, 1)
    assert (edited.wire, edited.has_full, edited.counted) == (None, False, None)
    assert await store.full_text("c", "m", owner="ann") is None
    assert await store.message_at("c", "m", 1, owner="ann") == first.message
    assert await store.message_at("c", "m", 2, owner="ann") == edited.message
    assert await store.message_at("c", "m", 3, owner="ann") is None
    assert (await one(store, "n")).changed == 1


async def test_pins_and_exclusions_are_flags_of_the_message_and_no_revision_of_it(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "m", "n"), now=1.0)
    changes: list[Change] = [SetPinned("m", True), SetExcluded("n", True)]
    await store.change_messages("c", changes, owner="ann", now=2.0)
    m, n = await store.messages("c", owner="ann")
    assert (m.message.pinned, m.revision, m.changed) == (True, 1, 2)
    assert (n.message.meta, n.revision, n.changed) == ({"manualExcluded": True}, 1, 2)
    back: list[Change] = [SetPinned("m", False), SetExcluded("n", False)]
    chat = await store.change_messages("c", back, owner="ann", now=3.0)
    m, n = await store.messages("c", owner="ann")
    assert (m.message, n.message) == (said("m").message, said("n").message)
    assert (chat.revision, chat.history_revision) == (3, 3)


async def test_a_removed_message_is_gone_with_its_revisions_and_the_next_gets_its_parent(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "a", "b", "d"), now=1.0)
    await store.change_messages("c", [EditParts("b", (Text("x"),))], owner="ann", now=2.0)
    await store.change_messages("c", [Remove("b")], owner="ann", now=3.0)
    assert await ids(store) == ["a", "d"]
    assert (await one(store, "d")).parent == "a"
    assert await store.message_at("c", "b", 1, owner="ann") is None
    chat = await store.change_messages("c", [Remove("d"), Remove("a")], owner="ann", now=4.0)
    assert await ids(store) == []
    begun = await begin(store, chat, "t", "e")
    assert begun.seqs == (4,)
    assert (await one(store, "e")).parent is None


async def test_a_branch_hides_what_stood_behind_and_can_be_taken_again(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "s", "u1", "a1", "u2", "a2"), now=1.0)
    chat = await store.change_messages("c", [Branch("a1")], owner="ann", now=2.0)
    begun = await begin(store, chat, "t", "u2b")
    await store.finish_turn(end(begun, "a2b"))
    assert await ids(store) == ["s", "u1", "a1", "u2b", "a2b"]
    assert (await one(store, "u2b")).parent == "a1"
    await store.change_messages("c", [Branch("a2")], owner="ann", now=3.0)
    assert await ids(store) == ["s", "u1", "a1", "u2", "a2"]
    await store.change_messages("c", [Branch("u2b")], owner="ann", now=4.0)
    assert await ids(store) == ["s", "u1", "a1", "u2b"]
    await store.change_messages("c", [Branch(None)], owner="ann", now=5.0)
    assert await ids(store) == []
    with pytest.raises(NotFoundError):
        await store.change_messages("c", [Branch("nobody")], owner="ann", now=6.0)


async def test_a_removal_mends_every_branch_that_went_through(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "a", "b", "d"), now=1.0)
    chat = await store.change_messages("c", [Branch("b")], owner="ann", now=2.0)
    await store.finish_turn(end(await begin(store, chat, "t", "e")))
    await store.change_messages("c", [Remove("b")], owner="ann", now=3.0)
    assert await ids(store) == ["a", "e"]
    await store.change_messages("c", [Branch("d")], owner="ann", now=4.0)
    assert await ids(store) == ["a", "d"]


async def test_all_changes_happen_or_none(store: SqlStore) -> None:
    before = await store.create_chat(new_chat("c", "a", "b"), now=1.0)
    changes: list[Change] = [EditParts("a", (Text("x"),)), Remove("b"), SetPinned("nobody", True)]
    with pytest.raises(NotFoundError) as caught:
        await store.change_messages("c", changes, owner="ann", now=2.0)
    assert (caught.value.kind, caught.value.id) == ("message", "nobody")
    assert await store.get_chat("c", owner="ann") == before
    assert [found.message for found in await store.messages("c", owner="ann")] == [
        said("a").message,
        said("b").message,
    ]


async def test_no_changes_leave_the_revision(store: SqlStore) -> None:
    before = await store.create_chat(new_chat("c", "a"), now=1.0)
    assert await store.change_messages("c", [], owner="ann", now=2.0) == before


async def test_changes_wait_for_no_turn_and_for_no_old_revision(store: SqlStore) -> None:
    chat = await store.create_chat(new_chat("c", "a"), now=1.0)
    with pytest.raises(ChatChangedError):
        await store.change_messages("c", [Remove("a")], owner="ann", now=2.0, revision=9)
    await begin(store, chat, "t", "u")
    with pytest.raises(TurnInProgressError) as caught:
        await store.change_messages("c", [Remove("a")], owner="ann", now=2.0)
    assert caught.value.turn_id == "t"
    assert await ids(store) == ["a", "u"]


async def test_who_knows_a_chat_reads_only_what_is_behind(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", *(f"m{at}" for at in range(9))), now=1.0)
    assert await ids(store, after=6) == ["m6", "m7", "m8"]
    page = await store.messages("c", owner="ann", after=2, limit=3)
    assert [found.seq for found in page] == [3, 4, 5]
    assert await store.messages("c", owner="ann", limit=0) == []


async def test_the_order_is_that_of_writing_whatever_the_clock_says(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "s"), now=100.0)
    for turn, now in enumerate([100.0, 50.0, 99.9, 50.0]):
        begun = await begin(store, await store.get_chat("c", owner="ann"), f"t{turn}", f"u{turn}", now=now)
        await store.finish_turn(end(begun, f"a{turn}", now=now - 1))
    assert await ids(store) == ["s", "u0", "a0", "u1", "a1", "u2", "a2", "u3", "a3"]
    last = await store.last_turn("c", owner="ann")
    assert last is not None
    assert last.id == "t3"


async def test_a_chat_of_ten_thousand_messages_is_read_whole_and_goes_on(store: SqlStore) -> None:
    names = [f"m{at:05}" for at in range(10_000)]
    chat = await store.create_chat(new_chat("c", *names), now=1.0)
    assert await ids(store) == names
    begun = await begin(store, chat, "t", "next")
    assert begun.seqs == (10_001,)
    counts = {name: Counted("k", Cost(3)) for name in names}
    await store.finish_turn(end(begun, counts=counts))
    assert {found.counted for found in await store.messages("c", owner="ann", after=0, limit=10_000)} == {
        Counted("k", Cost(3))
    }
    with pytest.raises(InvalidRequestError) as caught:
        await begin(store, await store.get_chat("c", owner="ann"), "t2", names[4_321])
    assert caught.value.ids == (names[4_321],)
