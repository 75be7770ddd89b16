"""Processes that are killed in the middle of a turn; `scripts/kill_turns.py` makes more of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.chat_server import ChatServer
from storms.killing import CHANGES, PHASES, Killing
from storms.storm_child import Child
from storms.storm_hosts import OWNER, complete, host_on, new_chat
from storms.storm_rows import faults_at_rest
from storms.storm_stage import Stage
from trimtab_sdk.messages import Text

ON = {
    "sqlite": ("begin", "call streams", "between steps", "finishing", "paused"),
    "postgresql": ("started", "tools run", "text streams", "finishing", "resuming", "completed"),
}


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def server(stage: Stage) -> Iterator[ChatServer]:
    with ChatServer(stage) as server:
        yield server


def test_every_phase_of_a_turn_is_killed_in_on_one_back_end_at_least() -> None:
    assert {phase for phases in ON.values() for phase in phases} == set(PHASES)


@pytest.mark.parametrize("back_end", list(ON))
def test_a_killed_turn_leaves_nothing_lost_doubled_or_running_and_the_chat_goes_on_at_once(
    back_end: str, request: pytest.FixtureRequest, tmp_path: Path, server: ChatServer, stage: Stage
) -> None:
    place = str(tmp_path / "chats.db") if back_end == "sqlite" else request.getfixturevalue("postgres_url")
    killing = Killing(place, server, stage, seed=6)
    for phase in ON[back_end]:
        kill = killing.kill_turn(phase)
        assert kill.faults == []
        assert kill.went_on.endswith(" completed"), kill


def test_a_process_that_is_killed_between_changes_leaves_those_it_told(
    tmp_path: Path, server: ChatServer, stage: Stage
) -> None:
    killing = Killing(str(tmp_path / "chats.db"), server, stage, seed=6)
    for what in CHANGES:
        kill = killing.kill_change(what)
        assert kill.faults == []
        assert kill.went_on == "turn completed"


def test_a_process_that_stood_still_for_longer_than_its_lease_writes_nothing_any_more(
    postgres_url: str, server: ChatServer, stage: Stage
) -> None:
    async def first() -> str:
        async with host_on(postgres_url, server.base_url) as host:
            chat = await new_chat(host, "one")
            await complete(host.turn(chat, "How many? <first>", owner=OWNER))
            return chat

    async def take_over(chat: str) -> list[tuple[int, str]]:
        async with host_on(postgres_url, server.base_url, clock=lambda: time.time() + 60) as host:
            await complete(host.turn(chat, "How many? <third>", owner=OWNER))
            return [(one.seq, one.message.id) for one in await host.messages(chat, owner=OWNER)]

    async def look(chat: str) -> list[tuple[int, str, tuple[object, ...]]]:
        async with host_on(postgres_url, server.base_url) as host:
            stored = await host.messages(chat, owner=OWNER)
            return [(one.seq, one.message.id, one.message.parts) for one in stored]

    chat = asyncio.run(first())
    order: dict[str, object] = {"place": postgres_url, "url": server.base_url, "chat": chat, "what": "turn"}
    order |= {"text": "How many? <second>", "hang": False, "outside": False}
    gate = stage.stop_at("text")
    with Child("killed_child.py", order) as child:
        child.go()
        gate.reached.wait()
        child.stop()
        stage.stop_at("")
        after = asyncio.run(take_over(chat))
        gate.open()
        child.go_on()
        assert child.hear("turn_failed")["code"] == "TURN_LOST"
    stored = asyncio.run(look(chat))
    assert [(seq, name) for seq, name, _ in stored] == after
    assert sum(parts == (Text("How many? <second>"),) for *_, parts in stored) == 1
    assert [*server.faults, *faults_at_rest(postgres_url)] == []
