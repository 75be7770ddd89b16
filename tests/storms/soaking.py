"""Many turns in one process, one chat after the other, while its memory and its tables are looked at."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from fakes.chat_server import ChatServer
from storms.storm_hosts import OWNER, complete, host_on, new_chat
from storms.storm_memory import resident_mb
from storms.storm_rows import count_of, faults_at_rest
from storms.storm_stage import Stage
from trimtab.host import Host

TURNS_OF_A_CHAT = 5
AT_ONCE = 4
SECONDS_OF_A_TURN = 30.0
"""How far the clock of the host goes on with each turn, so that a soak takes hours by it."""
_EVENTS = "SELECT count(*) FROM turn_events"


@dataclass(frozen=True, slots=True)
class Soak:
    """What came of it: MiB and events stored after each tenth, what was left open in the end, what was wrong."""

    turns: int
    seconds: float
    memory_mb: list[float] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    tasks: int = 0
    connections: int = 0
    faults: list[str] = field(default_factory=list)


class _Clock:
    """The time, and as much more as was asked for."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


async def soak(place: str, *, turns: int) -> Soak:
    """Run so many turns in ten parts. Every chat is deleted after its last one; its turns' events go with it."""
    clock, memory, events = _Clock(), list[float](), list[int]()
    tasks = len(asyncio.all_tasks())
    started = time.perf_counter()
    with ChatServer(Stage(), judge=False, record=False, caching=False) as server:
        async with host_on(place, server.base_url, clock=clock) as host:
            kept = await new_chat(host, "kept")
            for tenth in range(10):
                await _part(host, clock, kept, turns // 10, name=f"t{tenth}")
                memory.append(resident_mb())
                events.append(count_of(place, _EVENTS))
        await server.wait_until_async(lambda: server.open_connections == 0)
        return Soak(
            turns,
            time.perf_counter() - started,
            memory,
            events,
            len(asyncio.all_tasks()) - tasks,
            server.open_connections,
            [*server.faults, *faults_at_rest(place)],
        )


async def _part(host: Host, clock: _Clock, kept: str, turns: int, *, name: str) -> None:
    """Run turns: a few at once in chats that are deleted, and one of each ten in the chat that is kept."""
    names = [f"{name} {at}" for at in range(turns * 9 // 10 // TURNS_OF_A_CHAT)]
    for at in range(0, len(names), AT_ONCE):
        await asyncio.gather(*(_short_chat(host, clock, one) for one in names[at : at + AT_ONCE]))
    for at in range(turns - len(names) * TURNS_OF_A_CHAT):
        clock.ahead += SECONDS_OF_A_TURN
        await complete(host.turn(kept, f"How many? <{name} kept {at}>", owner=OWNER))


async def _short_chat(host: Host, clock: _Clock, name: str) -> None:
    chat = await new_chat(host, name)
    for at in range(TURNS_OF_A_CHAT):
        clock.ahead += SECONDS_OF_A_TURN
        await complete(host.turn(chat, f"How many? <{name} {at}>", owner=OWNER))
    await host.delete_chat(chat, owner=OWNER)
