"""Many chats at once in one process, each of several turns with a tool in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from fakes.chat_server import ChatServer
from storms.storm_hosts import OWNER, complete, host_on, new_chat
from storms.storm_memory import resident_mb
from storms.storm_rows import faults_at_rest
from storms.storm_stage import Stage, token_of
from trimtab.host import Host
from trimtab.store.protocol import StoredMessage
from trimtab_sdk.messages import plain_text


@dataclass(frozen=True, slots=True)
class Crowd:
    """What came of it: turns made, seconds, growth of the memory in MiB, what was wrong."""

    turns: int
    seconds: float
    growth_mb: float
    faults: list[str]


async def crowd(place: str, *, chats: int, turns: int) -> Crowd:
    """Run `turns` turns in each of `chats` chats, all chats at once."""
    with ChatServer(Stage(), record=False) as server:
        async with host_on(place, server.base_url) as host:
            await _talk(host, "warm", 1)
            memory, started = resident_mb(), time.perf_counter()
            faults = await asyncio.gather(*(_talk(host, f"c{at}", turns) for at in range(chats)))
            seconds, growth = time.perf_counter() - started, resident_mb() - memory
        found = [fault for of_chat in faults for fault in of_chat]
        return Crowd(chats * turns, seconds, growth, [*found, *server.faults, *faults_at_rest(place)])


async def _talk(host: Host, name: str, turns: int) -> list[str]:
    try:
        chat = await new_chat(host, name)
        for at in range(turns):
            await complete(host.turn(chat, f"How many? <{name} {at}>", owner=OWNER))
        return history_faults(await host.messages(chat, owner=OWNER), name, turns)
    except Exception as error:  # whatever it is, it belongs into the table, and the others go on
        return [f"chat {name}: {error!r}"]


def history_faults(stored: Sequence[StoredMessage], name: str, turns: int) -> list[str]:
    """Name what is wrong with a chat of so many turns, each of input, call, result and answer."""
    roles = [one.message.role for one in stored]
    if roles != ["system", *["user", "assistant", "tool", "assistant"] * turns]:
        return [f"chat {name} holds {roles}"]
    told = [token_of(plain_text(one.message)) for one in stored if one.message.role != "tool"]
    tokens = [f"<{name} {at}>" for at in range(turns)]
    wanted = ["", *(text for token in tokens for text in (token, "", token))]
    return [] if told == wanted else [f"chat {name} says {told}"]
