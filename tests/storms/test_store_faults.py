"""Turns whose store cannot be written for a while: a coded end, nothing lost, and the next turn works."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from fakes.chat_server import ChatServer
from store.postgres import run_cluster
from storms.storm_hosts import OWNER, complete, host_on, last_event, new_chat
from storms.storm_rows import faults_at_rest
from storms.storm_stage import Stage, Stop
from trimtab.host import Host
from trimtab.store import engines
from trimtab.store.sql_store import SqlStore
from trimtab.turns.events import TurnCompleted, TurnFailed
from trimtab_sdk.errors import StoreUnavailableError
from trimtab_sdk.messages import Message, plain_text

FAILURES = ["locked", "full", "read-only"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.05)


async def no_pause(seconds: float) -> None:
    await asyncio.sleep(0)


@contextmanager
def broken(host: Host, place: Path, how: str) -> Iterator[None]:
    """Let the SQLite file of a host refuse every write."""
    if how == "locked":
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")
        return
    off, on = {
        "full": ("PRAGMA max_page_count = 1", "PRAGMA max_page_count = 1000000"),
        "read-only": ("PRAGMA query_only = ON", "PRAGMA query_only = OFF"),
    }[how]
    _pragma(host, off)
    yield
    _pragma(host, on)


def _pragma(host: Host, statement: str) -> None:
    assert isinstance(host.store, SqlStore)
    opened = host.store._opened
    assert opened is not None
    # In no transaction: one could not be begun on what is read-only.
    with closing(opened.engines.writer.raw_connection()) as connection:
        connection.cursor().execute(statement)


async def places(host: Host, chat: str) -> list[tuple[int, Message]]:
    return [(one.seq, one.message) for one in await host.messages(chat, owner=OWNER)]


async def texts(host: Host, chat: str, role: str) -> list[str]:
    stored = await host.messages(chat, owner=OWNER)
    return [plain_text(one.message) for one in stored if one.message.role == role]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", FAILURES)
def test_a_turn_that_cannot_be_stored_is_refused_and_works_once_it_can(tmp_path: Path, how: str) -> None:
    async def story() -> None:
        async with host_on(place, server.base_url) as host:
            chat = await new_chat(host, "one")
            big = f"Long <big>. {'x' * 100_000}"
            with broken(host, place, how), pytest.raises(StoreUnavailableError):
                await last_event(host.turn(chat, big, owner=OWNER))
            assert await texts(host, chat, "user") == []
            assert server.asked == 0
            await complete(host.turn(chat, big, owner=OWNER))
            assert await texts(host, chat, "user") == [big]

    place = tmp_path / "chats.db"
    with ChatServer(Stage()) as server:
        asyncio.run(story())
    assert [*server.faults, *faults_at_rest(place)] == []


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("stop", ["call", "end"])
def test_a_turn_whose_store_breaks_on_the_way_fails_with_a_code_and_can_be_tried_again(
    tmp_path: Path, how: str, stop: Stop
) -> None:
    async def story() -> None:
        async with host_on(place, server.base_url, sleep=no_pause) as host:
            chat = await new_chat(host, "one")
            await complete(host.turn(chat, "How many? <first>", owner=OWNER))
            before = await places(host, chat)
            gate = stage.stop_at(stop)
            running = asyncio.create_task(last_event(host.turn(chat, "How many? <second>", owner=OWNER)))
            await gate.reached.wait_async()
            with broken(host, place, how):
                gate.open()
                last = await running
            assert isinstance(last, TurnFailed)
            assert (last.code, last.retryable) == ("STORE_UNAVAILABLE", True)
            stage.stop_at("")
            await complete(host.retry(chat, owner=OWNER))
            assert (await places(host, chat))[: len(before)] == before
            assert await texts(host, chat, "user") == ["How many? <first>", "How many? <second>"]
            assert (await texts(host, chat, "assistant"))[-1] == "About <second>: six are left."
            await complete(host.turn(chat, "How many? <third>", owner=OWNER))

    place, stage = tmp_path / "chats.db", Stage()
    with ChatServer(stage) as server:
        asyncio.run(story())
    assert [*server.faults, *faults_at_rest(place)] == []


@pytest.mark.usefixtures("impatient")
def test_the_end_of_a_turn_waits_for_a_store_that_comes_back_soon(tmp_path: Path) -> None:
    async def story() -> None:
        pauses: list[float] = []

        async def free(seconds: float) -> None:
            pauses.append(seconds)
            if other.in_transaction:
                other.execute("ROLLBACK")

        async with host_on(place, server.base_url, sleep=free) as host:
            chat = await new_chat(host, "one")
            gate = stage.stop_at("end")
            running = asyncio.create_task(last_event(host.turn(chat, "How many? <first>", owner=OWNER)))
            await gate.reached.wait_async()
            with closing(sqlite3.connect(place, isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                gate.open()
                assert isinstance(await running, TurnCompleted)
            assert len(pauses) == 1
            assert (await texts(host, chat, "assistant"))[-1] == "About <first>: six are left."

    place, stage = tmp_path / "chats.db", Stage()
    with ChatServer(stage) as server:
        asyncio.run(story())
    assert [*server.faults, *faults_at_rest(place)] == []


@pytest.mark.parametrize("comes_back", [True, False], ids=["comes back in time", "comes back later"])
def test_a_turn_outlives_a_postgresql_that_is_stopped_and_started(comes_back: bool) -> None:
    async def story() -> None:
        async def pause(seconds: float) -> None:
            if comes_back:
                await asyncio.to_thread(cluster.start)

        async with host_on(url, server.base_url, sleep=pause) as host:
            chat = await new_chat(host, "one")
            gate = stage.stop_at("end")
            running = asyncio.create_task(last_event(host.turn(chat, "How many? <first>", owner=OWNER)))
            await gate.reached.wait_async()
            await asyncio.to_thread(cluster.stop)
            gate.open()
            last = await running
            if comes_back:
                assert isinstance(last, TurnCompleted)
            else:
                assert isinstance(last, TurnFailed)
                assert last.code == "STORE_UNAVAILABLE"
                with pytest.raises(StoreUnavailableError):
                    await last_event(host.turn(chat, "How many? <second>", owner=OWNER))
                await asyncio.to_thread(cluster.start)
                await complete(host.retry(chat, owner=OWNER))
            await complete(host.turn(chat, "How many? <third>", owner=OWNER))
            assert await texts(host, chat, "user") == ["How many? <first>", "How many? <third>"]
            assert (await texts(host, chat, "assistant"))[1] == "About <first>: six are left."

    stage = Stage()
    with run_cluster() as cluster, cluster.database() as url, ChatServer(stage) as server:
        asyncio.run(story())
        assert [*server.faults, *faults_at_rest(url)] == []
