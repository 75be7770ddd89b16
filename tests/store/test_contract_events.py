"""What holds for events, keys and what a turn has stored, on every back end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from store.stories import begin, end, ids, new_chat, new_turn, nobody_is_dead, step
from trimtab.store.protocol import Begun, KeyTakenError, StoredChat, StoredEvent
from trimtab.store.sql_store import SqlStore
from trimtab_sdk.errors import NotFoundError, TurnLostError

pytestmark = pytest.mark.anyio


@pytest.fixture
async def chat(store: SqlStore) -> StoredChat:
    return await store.create_chat(new_chat("c", "s"), now=1.0)


@pytest.fixture
async def begun(store: SqlStore, chat: StoredChat) -> Begun:
    return await begin(store, chat, "t", "u")


def events(*numbers: int) -> list[StoredEvent]:
    return [StoredEvent(number, {"kind": "text_delta", "text": str(number)}) for number in numbers]


async def test_events_of_a_running_turn_are_stored_under_its_fence_alone(store: SqlStore, begun: Begun) -> None:
    assert await store.add_events("t", events(1, 2), fence=1) is False
    with pytest.raises(TurnLostError):
        await store.add_events("t", events(3), fence=2)
    with pytest.raises(TurnLostError):
        await store.add_events("nothing", events(3), fence=1)
    await store.finish_turn(end(begun, "a"))
    with pytest.raises(TurnLostError):
        await store.add_events("t", events(3), fence=1)
    assert await store.events("t", owner="ann") == events(1, 2)


async def test_who_stores_events_hears_that_the_turn_shall_end(store: SqlStore, begun: Begun) -> None:
    await store.request_cancel("t", owner="ann")
    assert await store.add_events("t", events(1), fence=1) is True


async def test_a_chat_has_one_turn_of_a_key(store: SqlStore, other: SqlStore, chat: StoredChat) -> None:
    keyed = replace(new_turn(chat, "t", "u"), key="k")
    begun = await store.begin_turn(keyed, is_dead=nobody_is_dead)
    found = await other.turn_of_key("c", "k", owner="ann")
    assert found == begun.turn
    assert await other.turn_of_key("c", "other", owner="ann") is None
    with pytest.raises(KeyTakenError) as taken:
        await other.begin_turn(replace(new_turn(chat, "t2", "u2"), key="k"), is_dead=nobody_is_dead)
    assert taken.value.turn_id == "t"
    with pytest.raises(NotFoundError):
        await other.turn_of_key("c", "k", owner="bob")
    await store.finish_turn(end(begun, "a"))
    now = await store.get_chat("c", owner="ann")
    with pytest.raises(KeyTakenError):
        await store.begin_turn(replace(new_turn(now, "t3", "u3"), key="k"), is_dead=nobody_is_dead)
    assert await ids(store) == ["s", "u", "a"]


async def test_turns_without_a_key_are_many(store: SqlStore, begun: Begun) -> None:
    await store.finish_turn(end(begun, "a"))
    now = await store.get_chat("c", owner="ann")
    assert (await begin(store, now, "t2", "u2")).turn.id == "t2"


async def test_the_messages_of_a_turn_are_those_it_has_stored(store: SqlStore, begun: Begun) -> None:
    await store.step_turn(step(begun, "b"))
    await store.finish_turn(end(begun, "a"))
    stored = await store.turn_messages("t", owner="ann")
    assert [one.message.id for one in stored] == ["u", "b", "a"]
    with pytest.raises(NotFoundError):
        await store.turn_messages("t", owner="bob")


async def test_other_stores_hear_of_events_and_of_ends_that_are_wanted(
    store: SqlStore, other: SqlStore, place: str, begun: Begun
) -> None:
    if "://" not in place:
        # SQLite tells nobody; who waits is to ask.
        await other.watch(lambda turn_id, number: None, lambda connected: None)
        return
    heard: list[tuple[str, int]] = []
    ready, told = asyncio.Event(), asyncio.Event()

    def hear(turn_id: str, number: int) -> None:
        heard.append((turn_id, number))
        if len(heard) == 3:
            told.set()

    watching = asyncio.ensure_future(other.watch(hear, lambda connected: ready.set()))
    await ready.wait()
    await store.add_events("t", events(1, 2), fence=1)
    await store.request_cancel("t", owner="ann")
    await store.finish_turn(replace(end(begun, "a"), events=tuple(events(3))))
    async with asyncio.timeout(20):
        await told.wait()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert heard == [("t", 2), ("t", 0), ("t", 3)]
