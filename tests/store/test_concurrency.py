"""Several at once: tasks, stores and processes on one database."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from store.stories import begin, end, everybody_is_dead, ids, new_chat, new_turn, nobody_is_dead, step
from trimtab.store.opening import open_store
from trimtab.store.protocol import Begun, SetPinned
from trimtab.store.sql_store import SqlStore
from trimtab_sdk.errors import ChatChangedError, StoreUnavailableError, TurnInProgressError

pytestmark = pytest.mark.anyio

CHILD = Path(__file__).with_name("writing_child.py")


async def test_of_two_stores_that_begin_a_turn_exactly_one_wins(store: SqlStore, other: SqlStore) -> None:
    for at in range(8):
        chat = await store.create_chat(new_chat(f"c{at}"), now=1.0)
        results = await asyncio.gather(
            begin(store, chat, f"a{at}", "u"), begin(other, chat, f"b{at}", "v"), return_exceptions=True
        )
        won = [one for one in results if isinstance(one, Begun)]
        lost = [one for one in results if isinstance(one, TurnInProgressError)]
        assert (len(won), len(lost)) == (1, 1), results
        assert len(await ids(store, chat.id)) == 1


async def test_of_two_that_take_over_a_dead_turn_one_wins_and_it_ends_once(
    store: SqlStore, other: SqlStore
) -> None:
    chat = await store.create_chat(new_chat(), now=1.0)
    begun = await begin(store, chat, "dead", "u")
    results = await asyncio.gather(
        begin(store, begun.chat, "a", "x", now=1e9, is_dead=nobody_is_dead),
        begin(other, begun.chat, "b", "y", now=1e9, is_dead=nobody_is_dead),
        return_exceptions=True,
    )
    won = [one for one in results if isinstance(one, Begun)]
    assert [one.interrupted for one in won] == [("dead",)]
    assert (await store.get_turn("dead", owner="ann")).fence == 2


async def test_of_two_that_recover_each_dead_turn_is_named_by_one(store: SqlStore, other: SqlStore) -> None:
    for at in range(6):
        await begin(store, await store.create_chat(new_chat(f"c{at}"), now=1.0), f"t{at}")
    first, second = await asyncio.gather(
        store.recover(now=1.0, is_dead=everybody_is_dead), other.recover(now=1.0, is_dead=everybody_is_dead)
    )
    assert sorted(first + second) == [f"t{at}" for at in range(6)]


async def test_a_chat_that_is_deleted_under_a_turn_ends_without_a_deadlock(
    store: SqlStore, other: SqlStore
) -> None:
    for at in range(5):
        begun = await begin(store, await store.create_chat(new_chat(f"c{at}"), now=1.0), f"t{at}", "u")
        await asyncio.gather(
            store.step_turn(step(begun, "a")), other.delete_chat(f"c{at}", owner="ann"), return_exceptions=True
        )
        assert await store.list_chats(owner="ann") == []


async def test_sixty_turns_of_twenty_chats_at_once_lose_nothing(store: SqlStore, other: SqlStore) -> None:
    async def talk(at: int) -> None:
        here = store if at % 2 else other
        chat = await here.create_chat(new_chat(f"c{at}", "s"), now=1.0)
        for turn in range(3):
            begun = await begin(here, chat, f"t{at}-{turn}", f"u{turn}")
            await here.step_turn(step(begun, f"s{turn}"))
            await here.finish_turn(end(begun, f"a{turn}"))
            chat = await here.get_chat(chat.id, owner="ann")

    await asyncio.gather(*(talk(at) for at in range(20)))
    expected = ["s", *(f"{kind}{turn}" for turn in range(3) for kind in "usa")]
    for at in range(20):
        found = await store.messages(f"c{at}", owner="ann")
        assert [one.message.id for one in found] == expected
        assert [one.seq for one in found] == list(range(1, 11))
        assert (await store.get_chat(f"c{at}", owner="ann")).revision == 10


async def test_of_many_changes_at_one_revision_one_is_made(store: SqlStore, other: SqlStore) -> None:
    await store.create_chat(new_chat("c", "m"), now=1.0)
    results = await asyncio.gather(
        *(
            here.change_messages("c", [SetPinned("m", True)], owner="ann", now=2.0, revision=1)
            for here in (store, other) * 4
        ),
        return_exceptions=True,
    )
    assert sum(isinstance(one, ChatChangedError) for one in results) == 7
    assert (await store.get_chat("c", owner="ann")).revision == 2


async def test_a_cancelled_await_leaves_a_transaction_that_ends_whole(store: SqlStore) -> None:
    chat = await store.create_chat(new_chat(), now=1.0)
    begun = await begin(store, chat, "t", "u", now=1.0)
    inside, go = threading.Event(), threading.Event()

    def judge(holder: str) -> bool:
        inside.set()
        return go.wait(30)

    waiting = asyncio.create_task(store.begin_turn(new_turn(begun.chat, "t2", "u2", now=2.0), is_dead=judge))
    await asyncio.to_thread(inside.wait, 30)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go.set()
    await store.close()
    await store.open()
    assert (await store.get_chat("c", owner="ann")).turn_id == "t2"
    assert await ids(store) == ["u", "u2"]


def test_a_store_serves_one_event_loop_after_the_other(place: str) -> None:
    store = open_store(place)
    asyncio.run(store.open())
    asyncio.run(_create(store))
    assert asyncio.run(ids(store)) == ["one"]
    asyncio.run(store.close())


async def _create(store: SqlStore) -> None:
    await store.create_chat(new_chat("c", "one"), now=1.0)


async def test_a_loop_that_ends_early_harms_no_transaction(place: str) -> None:
    store = open_store(place)
    await store.open()
    inside, go = threading.Event(), threading.Event()

    def judge(holder: str) -> bool:
        inside.set()
        return go.wait(30)

    async def leave() -> None:
        chat = await store.create_chat(new_chat(), now=1.0)
        begun = await begin(store, chat, "t", "u", now=1.0)
        task = asyncio.create_task(store.begin_turn(new_turn(begun.chat, "t2", "u2", now=2.0), is_dead=judge))
        await asyncio.to_thread(inside.wait, 30)
        task.cancel()

    await asyncio.to_thread(asyncio.run, leave())
    go.set()
    await store.close()
    async with open_store(place) as again:
        assert await ids(again) == ["u", "u2"]


async def test_a_store_that_is_not_open_says_so_and_opens_again(place: str) -> None:
    store = open_store(place)
    with pytest.raises(StoreUnavailableError, match="not open"):
        await store.get_chat("c", owner="ann")
    await store.close()
    await asyncio.gather(store.open(), store.open())
    await store.create_chat(new_chat(), now=1.0)
    await asyncio.gather(store.close(), store.close())
    with pytest.raises(StoreUnavailableError, match="not open"):
        await store.get_chat("c", owner="ann")
    await store.open()
    assert (await store.get_chat("c", owner="ann")).id == "c"
    await store.close()


def test_processes_that_open_a_fresh_database_at_once_all_get_it(empty_place: str) -> None:
    children = [_child(empty_place, "open", str(at)) for at in range(2)]
    for child in children:
        said, _ = child.communicate(timeout=60)
        assert child.returncode == 0, said
    assert sorted(asyncio.run(_listed(empty_place))) == ["c0", "c1"]


@pytest.mark.parametrize("round_", range(2))
def test_a_killed_process_leaves_whole_transactions_only(place: str, round_: int) -> None:
    child = _child(place, "turns", "k")
    assert child.stdout is not None
    told = [child.stdout.readline().strip() for _ in range(5 + 6 * round_)]
    child.send_signal(signal.SIGKILL)
    told += child.stdout.read().split()
    child.wait()
    child.stdout.close()
    if place.startswith("postgresql"):
        # A commit that was under way when the process died is waited for.
        with psycopg.connect(place) as connection:
            connection.execute("LOCK TABLE chats IN EXCLUSIVE MODE")
    asyncio.run(_check_whole(place, [line for line in told if line]))
    if not place.startswith("postgresql"):
        with contextlib.closing(sqlite3.connect(place)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert file.execute("PRAGMA foreign_key_check").fetchall() == []


async def _check_whole(place: str, told: list[str]) -> None:
    async with open_store(place) as store:
        interrupted = await store.recover(now=1.0, is_dead=everybody_is_dead)
        assert len(interrupted) <= 1
        found = await ids(store, "k")
        numbers = [int(name[1:]) for name in found]
        wanted = [f"{kind}{at}" for at in range(max(numbers, default=-1) + 1) for kind in "usa"]
        assert found == wanted[: len(found)]
        assert set(told) <= set(found)
        audit = await store.audit("k", owner="ann")
        assert audit is not None
        assert audit.status in ("completed", "failed")
        chat = await store.get_chat("k", owner="ann")
        assert (await begin(store, chat, "next", "after")).interrupted == ()


def _child(place: str, what: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), place, what, name], stdout=subprocess.PIPE, stderr=None, text=True
    )


async def _listed(place: str) -> list[str]:
    async with open_store(place) as store:
        return [chat.id for chat in await store.list_chats(owner="ann")]
