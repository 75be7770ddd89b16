"""A process that works on a chat, tells what it hears of it, and is killed on the way."""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from storms.storm_child import say, wait_for_go
from storms.storm_hosts import OWNER, host_on, new_chat
from trimtab.host import Host
from trimtab.turns.stream import TurnStream
from trimtab_sdk.provider import ToolSpec

ASKED_OUTSIDE = ToolSpec("fetch", "Fetch an article.", {"type": "object", "properties": {}})


async def main(order: dict[str, Any]) -> None:
    async def stock(article: str) -> int:
        """Tell how many of an article are left."""
        say("tool_running")
        if order["hang"]:
            await asyncio.Event().wait()
        return len(article)

    lease: float = order.get("lease_seconds", 30.0)
    async with host_on(order["place"], order["url"], tools=[stock], lease_seconds=lease) as host:
        # The vocabulary is read by now, so that what is killed is a turn and not its loading.
        await host.preview(order["chat"], "Hello.", owner=OWNER)
        wait_for_go()
        await _WORK[order["what"]](host, order)
        say("done")
        await asyncio.Event().wait()


async def _turn(host: Host, order: dict[str, Any]) -> None:
    tools = (ASKED_OUTSIDE,) if order["outside"] else ()
    await _tell(host.turn(order["chat"], order["text"], owner=OWNER, tools=tools))


async def _resume(host: Host, order: dict[str, Any]) -> None:
    await _tell(host.resume(order["turn"], order["results"], owner=OWNER))


async def _tell(turn: TurnStream) -> None:
    async for event in turn:
        told = event.to_dict()
        say(str(told.pop("kind")), **told)


async def _create(host: Host, order: dict[str, Any]) -> None:
    for at in count():
        say("created", chat=await new_chat(host, f"new {at}"), system=f"This is chat new {at}.")


async def _edit(host: Host, order: dict[str, Any]) -> None:
    for at in count():
        await host.edit(order["chat"], order["message"], f"{order['text']} {at}", owner=OWNER)
        say("edited", text=f"{order['text']} {at}")


async def _branch(host: Host, order: dict[str, Any]) -> None:
    for at in count():
        leaf = order["leaves"][at % 2]
        await host.branch(order["chat"], leaf, owner=OWNER)
        say("branched", leaf=leaf)


_WORK = {"turn": _turn, "resume": _resume, "create": _create, "edit": _edit, "branch": _branch}

if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
