"""Reading along a turn that another host runs on the same store: its wake-ups, its death, its end."""

from __future__ import annotations

import asyncio
import logging

import pytest

from store.postgres import Cluster
from trimtab.host import Host
from trimtab.store.opening import open_store
from trimtab.store.protocol import StoredEvent
from trimtab.turns import live
from trimtab.turns.following import Following
from trimtab_sdk.errors import HostStoppingError
from turns.turn_helpers import ASK_USER, OWNER, Stage, Talk, on_both_stores

pytestmark = pytest.mark.anyio
NEVER = 1e9


async def read(following: Following) -> list[tuple[int, dict[str, object]]]:
    return [(sequence, dict(event)) async for sequence, event in following]


def kinds_of(events: list[tuple[int, dict[str, object]]]) -> list[object]:
    return [event["kind"] for _, event in events]


@on_both_stores
async def test_a_turn_is_read_along_live_at_another_host(stage: Stage) -> None:
    talk = await stage.talk()
    other = await stage.host()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    seen = []
    async for sequence, event in other.follow(turn_id, owner=OWNER):
        seen.append((sequence, dict(event)))
        if event["kind"] == "text_delta":
            gate.open()

    assert seen == await read(talk.host.follow(turn_id, owner=OWNER))
    assert kinds_of(seen)[-1] == "turn_completed"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
async def test_postgresql_tells_at_once_of_what_is_stored(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "NET_SECONDS", NEVER)
    talk = await stage.talk()
    other = await stage.host()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    reading = asyncio.ensure_future(read(other.follow(turn_id, owner=OWNER)))
    await gate.reached.wait_async()
    await _connected(other)
    gate.open()

    async with asyncio.timeout(20):
        assert kinds_of(await reading)[-1] == "turn_completed"


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
async def test_a_connection_that_is_cut_comes_back_and_nothing_is_missed(
    stage: Stage, postgres_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(live, "NET_SECONDS", NEVER)
    monkeypatch.setattr(live, "POLL_SECONDS", NEVER)
    talk = await stage.talk()
    other = await stage.host()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    reading = asyncio.ensure_future(read(other.follow(turn_id, owner=OWNER)))
    await gate.reached.wait_async()
    await _connected(other)

    with caplog.at_level(logging.WARNING, "trimtab.store"):
        postgres_cluster.end_connections()
        gate.open()
        async with asyncio.timeout(30):
            assert kinds_of(await reading)[-1] == "turn_completed"
    assert "come late" in caplog.text


@on_both_stores
async def test_another_host_cancels_within_moments(stage: Stage) -> None:
    talk = await stage.talk(host=await stage.host(lease_seconds=NEVER))
    other = await stage.host()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", *(one for _ in range(40) for one in ("e", gate)), "n.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    await gate.reached.wait_async()

    await other.cancel(turn_id, owner=OWNER)

    async with asyncio.timeout(20):
        events = await read(other.follow(turn_id, owner=OWNER))
    assert kinds_of(events)[-1] == "turn_cancelled"
    assert await talk.audit_status() == "cancelled"


@on_both_stores
async def test_a_turn_is_paused_at_one_host_and_goes_on_at_another(stage: Stage) -> None:
    talk = await stage.talk()
    other = await stage.host()
    stage.server.call(("ask_user", {"question": "Which?"}))
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER, tools=[ASK_USER])
    first = await read(other.follow(turn_id, owner=OWNER))
    assert kinds_of(first)[-1] == "turn_paused"
    waiting = asyncio.ensure_future(read(talk.host.follow(turn_id, owner=OWNER, after=first[-1][0])))
    turn = await other.turn_so_far(turn_id, owner=OWNER)
    stage.server.say("Three.")

    await other.start_resume(turn_id, {turn.pending[0].call_id: "pots"}, owner=OWNER)

    async with asyncio.timeout(20):
        rest = await waiting
    assert rest[0][0] == first[-1][0] + 1
    assert kinds_of(rest)[-1] == "turn_completed"
    assert await read(other.follow(turn_id, owner=OWNER)) == first + rest


@on_both_stores
async def test_a_turn_whose_lease_runs_out_is_ended_for_its_reader(stage: Stage) -> None:
    now = [1000.0]
    talk = await stage.talk(host=await stage.host(clock=lambda: now[0]))
    other = await stage.host(clock=lambda: now[0])
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    await gate.reached.wait_async()
    reading = asyncio.ensure_future(read(other.follow(turn_id, owner=OWNER)))
    now[0] += 31

    async with asyncio.timeout(20):
        events = await reading

    assert events[-1][1]["kind"] == "turn_failed"
    assert events[-1][1]["code"] == "TURN_INTERRUPTED"
    ahead = await read(other.follow(turn_id, owner=OWNER, after=events[-1][0] + 5))
    assert [(sequence, event["kind"]) for sequence, event in ahead] == [(events[-1][0] + 6, "turn_failed")]
    assert ahead[0][1] == events[-1][1]
    gate.open()


@on_both_stores
async def test_the_end_of_any_turn_is_given_when_its_events_are_too_old(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Seven.")
    done = await talk.say("How many?")
    last = (await read(talk.host.follow(done.turn_id, owner=OWNER)))[-1]
    stage.server.say("Sev", stage.server.gate("middle"), "en.")
    stream = talk.turn("And now?")
    async for event in stream:
        if event.kind == "text_delta":
            stream.cancel()
    cut = (await read(talk.host.follow(stream.turn_id, owner=OWNER)))[-1]
    await talk.host.store.prune_events(ended_before=NEVER * 10)

    assert await read(talk.host.follow(stream.turn_id, owner=OWNER)) == [(1, cut[1])]
    assert await read(talk.host.follow(done.turn_id, owner=OWNER, after=2)) == [(3, last[1] | {"snapshot": None})]


async def test_a_deleted_chat_ends_the_reading(stage: Stage) -> None:
    talk = await stage.talk()
    other = await stage.host()
    stage.server.call(("ask_user", {"question": "Which?"}))
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER, tools=[ASK_USER])
    first = await read(other.follow(turn_id, owner=OWNER))
    waiting = asyncio.ensure_future(read(other.follow(turn_id, owner=OWNER, after=first[-1][0])))
    await asyncio.sleep(0)

    await talk.host.delete_chat(talk.chat_id, owner=OWNER)

    async with asyncio.timeout(20):
        events = await waiting
    assert events[-1][1]["kind"] in ("turn_cancelled", "turn_failed")


async def test_one_read_serves_all_who_read_along(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = await stage.talk()
    other = await stage.host()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    await gate.reached.wait_async()
    reads = 0
    ask = other.store.events

    async def counted(turn_id: str, *, owner: str, after: int = 0, limit: int = 1000) -> list[StoredEvent]:
        nonlocal reads
        reads += 1
        return await ask(turn_id, owner=owner, after=after, limit=limit)

    monkeypatch.setattr(other.store, "events", counted)
    reading = [asyncio.ensure_future(read(other.follow(turn_id, owner=OWNER))) for _ in range(50)]
    while reads < 3:
        await asyncio.sleep(0)
    gate.open()

    told = await asyncio.gather(*reading)

    assert all(one == told[0] for one in told)
    assert reads < 50


@on_both_stores
async def test_a_host_that_drains_takes_no_turns_and_ends_those_it_has(stage: Stage) -> None:
    host = await stage.host()
    talk = await stage.talk(host=host)
    late = await stage.talk(host=host)
    other = await stage.host()
    gate, never = stage.server.gate("middle"), stage.server.gate("never")
    stage.server.say("Sev", gate, "en.")
    ending = await host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    await gate.reached.wait_async()
    stage.server.say("Nev", never, "er.")
    hanging = await host.start_turn(late.chat_id, "How many?", owner=OWNER)
    await never.reached.wait_async()
    reading = asyncio.ensure_future(read(host.follow(ending, owner=OWNER)))
    draining = asyncio.ensure_future(host.drain(0.3))
    await asyncio.sleep(0)

    with pytest.raises(HostStoppingError):
        await host.start_turn(talk.chat_id, "And now?", owner=OWNER)
    gate.open()
    assert kinds_of(await reading)[-1] == "turn_completed"
    await draining

    assert await read(host.follow(hanging, owner=OWNER, after=99)) == []
    assert (await other.get_turn(hanging, owner=OWNER)).state == "cancelled"
    assert await Talk(other, late.chat_id).texts() == ["user: How many?", "assistant: Nev"]
    assert await Talk(other, talk.chat_id).texts() == ["user: How many?", "assistant: Seven."]


async def test_sqlite_has_nothing_to_watch(place: str) -> None:
    async with open_store(place) as store:
        await store.watch(lambda turn_id, sequence: None, lambda connected: None)


async def _connected(host: Host) -> None:
    while not host._machinery.live._is_told:
        await asyncio.sleep(0.001)
