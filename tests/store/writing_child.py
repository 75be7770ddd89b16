"""A process that writes to a store until it is killed, and tells on its output what was stored."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from store.stories import begin, end, new_chat, step
from trimtab.store.opening import open_store
from trimtab.store.sql_store import SqlStore


async def main(place: str, what: str, name: str) -> None:
    async with open_store(place) as store:
        if what == "open":
            await store.create_chat(new_chat(f"c{name}"), now=1.0)
        else:
            await _turns(store, name)


async def _turns(store: SqlStore, name: str) -> None:
    chat = await store.create_chat(new_chat(name), now=1.0)
    for at in count():
        begun = await begin(store, chat, f"t{at}", f"u{at}")
        print(f"u{at}", flush=True)
        await store.step_turn(step(begun, f"s{at}"))
        print(f"s{at}", flush=True)
        await store.finish_turn(end(begun, f"a{at}"))
        print(f"a{at}", flush=True)
        chat = await store.get_chat(name, owner="ann")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
