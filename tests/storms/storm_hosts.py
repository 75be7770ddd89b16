"""Hosts for the storms, all made alike: one provider at a fake server, one owner."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from trimtab import Config
from trimtab.host import Host
from trimtab.turns.events import TurnCancelled, TurnCompleted, TurnEvent, TurnFailed, TurnPaused
from trimtab.turns.stream import TurnStream
from trimtab.turns.tool_schema import AsyncFunction

OWNER = "ann"
MODEL = "gpt-4o"
LastEvent = TurnCompleted | TurnFailed | TurnCancelled | TurnPaused


async def stock(article: str) -> int:
    """Tell how many of an article are left."""
    return len(article)


def host_on(
    place: str | Path,
    base_url: str,
    *,
    tools: Iterable[AsyncFunction] = (stock,),
    lease_seconds: float = 30.0,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Host:
    """Make a host on a store whose provider `local` is at `base_url`."""
    config = Config(providers={"local": {"driver": "openai-compatible", "base_url": base_url}})
    return Host(place, config, tools=tools, lease_seconds=lease_seconds, clock=clock, sleep=sleep)


async def new_chat(host: Host, name: str) -> str:
    """Store a chat whose system text names it, and give its id."""
    chat = await host.create_chat(owner=OWNER, provider="local", model=MODEL, system=f"This is chat {name}.")
    return chat.id


async def last_event(turn: TurnStream) -> LastEvent:
    """Run a turn and give the event it ended with."""
    last: TurnEvent | None = None
    async for event in turn:
        last = event
    assert isinstance(last, LastEvent), f"a turn ended with {last}"
    return last


async def complete(turn: TurnStream) -> TurnCompleted:
    """Run a turn that has to be completed."""
    last = await last_event(turn)
    assert isinstance(last, TurnCompleted), f"a turn ended with {last}"
    return last
