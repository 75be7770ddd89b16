"""A process that does random things in chats which other processes work in too, and tells what it did."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from storms.storm_child import say, wait_for_go
from storms.storm_hosts import OWNER, host_on, last_event
from trimtab.host import Host
from trimtab.turns.events import TurnFailed, TurnStarted
from trimtab.turns.stream import TurnStream
from trimtab_sdk.errors import ChatChangedError, TurnInProgressError, TurnStateError
from trimtab_sdk.messages import Message, plain_text

ALLOWED = (TurnInProgressError, ChatChangedError)


class Fighter:
    """Works in chats at random. `done` counts what came of it, `errors` is what must not come."""

    def __init__(self, host: Host, name: str, chats: list[str]) -> None:
        self.host = host
        self.name = name
        self.chats = chats
        self.done: Counter[str] = Counter()
        self.errors: list[str] = []
        self.inputs: list[str] = []
        self._random = random.Random(name)
        self._number = 0

    async def fight(self, actions: int) -> None:
        for _ in range(actions):
            what = self._random.choices(["turn", "leave", "cancel", "retry", "edit", "pin"], [10, 3, 3, 3, 4, 2])[
                0
            ]
            chat = self._random.choice(self.chats)
            try:
                self.done[await self._do(what, chat)] += 1
            except ALLOWED as error:
                self.done[error.code] += 1
            except Exception as error:  # it is what this process is to find
                self.errors.append(f"{what}: {error!r}")

    async def _do(self, what: str, chat: str) -> str:
        if what in ("turn", "leave"):
            self._number += 1
            token = f"<{self.name} {self._number}>"
            turn = self.host.turn(chat, f"How many? {token}", owner=OWNER)
            return await (self._listen(turn, token) if what == "turn" else self._leave(turn, token))
        if what == "cancel":
            return await self._cancel(chat)
        if what == "retry":
            return await self._retry(chat)
        return await self._change(what, chat)

    async def _listen(self, turn: TurnStream, token: str) -> str:
        last = await last_event(turn)
        self.inputs.append(token)
        if isinstance(last, TurnFailed):
            raise AssertionError(f"{last.code}: {last.message}")
        return last.kind

    async def _leave(self, turn: TurnStream, token: str) -> str:
        """Stop listening after some events."""
        left = self._random.randrange(12)
        async with turn:
            async for event in turn:
                if isinstance(event, TurnStarted):
                    self.inputs.append(token)
                left -= 1
                if left < 0:
                    return "left"
        return "left late"

    async def _cancel(self, chat: str) -> str:
        last = await self.host.last_turn(chat, owner=OWNER)
        if last is None:
            return "nothing to cancel"
        return f"cancel {(await self.host.cancel(last.id, owner=OWNER)).state}"

    async def _retry(self, chat: str) -> str:
        try:
            last = await last_event(self.host.retry(chat, owner=OWNER))
        except TurnStateError:
            return "nothing to retry"
        if isinstance(last, TurnFailed):
            raise AssertionError(f"{last.code}: {last.message}")
        return f"retry {last.kind}"

    async def _change(self, what: str, chat: str) -> str:
        messages = await self.host.messages(chat, owner=OWNER)
        said = [one.message for one in messages if one.message.role == "user"]
        if not said:
            return "nothing to change"
        chosen = self._random.choice(said)
        if what == "pin":
            await self.host.pin(chat, chosen.id, owner=OWNER, pinned=not chosen.pinned)
        else:
            await self.host.edit(chat, chosen.id, _edited(chosen, self._random.random()), owner=OWNER)
        return what


def _edited(message: Message, salt: float) -> str:
    """Give a text that is new and keeps the mark it is known by."""
    return f"How many, I ask {salt:.3f}? {plain_text(message).partition('? ')[2]}"


async def main(order: dict[str, Any]) -> None:
    async with host_on(order["place"], order["url"]) as host:
        fighters = [Fighter(host, f"{order['name']}{at}", order["chats"]) for at in range(order["fighters"])]
        wait_for_go()
        await asyncio.gather(*(one.fight(order["actions"]) for one in fighters))
    done: Counter[str] = sum((one.done for one in fighters), Counter())
    say(
        "fought",
        done=dict(done),
        errors=[error for one in fighters for error in one.errors],
        inputs=[token for one in fighters for token in one.inputs],
    )


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
