"""Kills at chosen points of a turn's life, and what must hold afterwards."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from fakes.chat_server import ChatServer
from storms.killed_child import ASKED_OUTSIDE
from storms.storm_child import Child, Said
from storms.storm_hosts import OWNER, complete, host_on, last_event, new_chat
from storms.storm_rows import faults_at_rest
from storms.storm_stage import Stage
from trimtab.host import Host
from trimtab.store.protocol import StoredMessage
from trimtab.turns.events import TurnCompleted, TurnPaused
from trimtab_sdk.messages import Text

PHASES: Final = {
    "begin": 8,
    "started": 5,
    "call streams": 5,
    "tools run": 5,
    "between steps": 7,
    "text streams": 4,
    "finishing": 7,
    "paused": 2,
    "resuming": 5,
    "completed": 2,
}
"""Phase of a turn → how many of 50 kills fall into it."""
CHANGES: Final = ("create", "edit", "branch")


@dataclass(frozen=True, slots=True)
class Kill:
    """One kill: in which phase, what the store had of the turn then, how it went on, what was wrong."""

    phase: str
    outcome: str
    went_on: str
    faults: list[str] = field(default_factory=list)


class Killing:
    """Kills processes that work on one chat of one store, one after the other."""

    def __init__(self, place: str, server: ChatServer, stage: Stage, *, seed: int) -> None:
        self._place = place
        self._server = server
        self._stage = stage
        self._random = random.Random(seed)
        self._number = 0
        self._chat = asyncio.run(self._first_turns())

    def kill_turn(self, phase: str) -> Kill:
        """Kill a process in a phase of a turn, and go on in a new one at once."""
        self._number += 1
        self._stage.tool = "fetch" if phase in ("paused", "resuming") else "stock"
        text = f"How many are left? <kill {self._number}>"
        order = self._order("turn", text=text, hang=phase == "tools run")
        if phase == "resuming":
            order |= asyncio.run(self._paused_turn(text))
        before = asyncio.run(self._messages())
        with Child("killed_child.py", order) as child:
            _WAYS[phase](self, child)
            child.kill()
        self._stage.stop_at("")
        return asyncio.run(self._look_after_turn(phase, before, child.heard, text))

    def kill_change(self, what: str) -> Kill:
        """Kill a process that makes chats, edits a message or changes the branch, again and again."""
        self._number += 1
        before = asyncio.run(self._messages())
        message = next(one for one in before if one.message.role == "user")
        leaves = [before[-1].message.id, before[-2].message.id]
        text = f"Edited <kill {self._number}>"
        order = self._order(what, text=text, message=message.message.id, leaves=leaves)
        with Child("killed_child.py", order) as child:
            child.go()
            child.hear({"create": "created", "edit": "edited", "branch": "branched"}[what])
            self._wait(30)
            child.kill()
        return asyncio.run(self._look_after_change(what, before, child.heard, order))

    async def _first_turns(self) -> str:
        async with host_on(self._place, self._server.base_url) as host:
            chat = await new_chat(host, "killed")
            for at in range(2):
                await complete(host.turn(chat, f"How many are left? <first {at}>", owner=OWNER))
        return chat

    async def _paused_turn(self, text: str) -> dict[str, object]:
        """Run a turn that pauses, and give the order to resume it."""
        async with host_on(self._place, self._server.base_url) as host:
            last = await last_event(host.turn(self._chat, text, owner=OWNER, tools=[ASKED_OUTSIDE]))
            assert isinstance(last, TurnPaused), last
        return {
            "what": "resume",
            "turn": last.turn_id,
            "results": {call.call_id: "six" for call in last.pending},
        }

    async def _messages(self) -> list[StoredMessage]:
        async with host_on(self._place, self._server.base_url) as host:
            return await host.messages(self._chat, owner=OWNER)

    def _order(self, what: str, *, hang: bool = False, **more: object) -> dict[str, object]:
        outside = self._stage.tool == "fetch"
        order: dict[str, object] = {"place": self._place, "url": self._server.base_url, "chat": self._chat}
        return {**order, "what": what, "hang": hang, "outside": outside, **more}

    def _wait(self, most_ms: float) -> None:
        """Let the child run on for a random while: the point of the kill is not to be chosen."""
        time.sleep(self._random.uniform(0, most_ms) / 1000)

    async def _look_after_turn(
        self, phase: str, before: Sequence[StoredMessage], heard: Sequence[Said], text: str
    ) -> Kill:
        async with host_on(self._place, self._server.base_url) as host:
            now = await host.messages(self._chat, owner=OWNER)
            turn = await host.last_turn(self._chat, owner=OWNER)
            assert turn is not None
            was: str = turn.state if any(_says(one, text) for one in now) else "not begun"
            faults = [*_lost(before, now), *_untrue(heard, now, text)]
            if was != "paused":
                faults += faults_at_rest(self._place)
            if was == "failed" and turn.error is not None:
                was = str(turn.error["code"])
            went_on = await self._go_on(host, was, turn.id)
            faults += _lost(now, after := await host.messages(self._chat, owner=OWNER))
            faults += _doubled(after, text)
        return Kill(phase, was, went_on, [*faults, *faults_at_rest(self._place), *self._wire_faults()])

    async def _go_on(self, host: Host, was: str, turn_id: str) -> str:
        self._stage.tool = "stock"
        if was == "paused":
            last = await last_event(host.resume(turn_id, await _pending(host, turn_id), owner=OWNER))
        elif was == "TURN_INTERRUPTED" and self._random.random() < 0.6:
            last = await last_event(host.retry(self._chat, owner=OWNER))
            return f"retry {'completed' if isinstance(last, TurnCompleted) else last}"
        else:
            last = await last_event(host.turn(self._chat, f"And now? <next {self._number}>", owner=OWNER))
        kind = "resume" if was == "paused" else "turn"
        return f"{kind} {'completed' if isinstance(last, TurnCompleted) else last}"

    async def _look_after_change(
        self, what: str, before: Sequence[StoredMessage], heard: Sequence[Said], order: dict[str, object]
    ) -> Kill:
        faults: list[str] = []
        async with host_on(self._place, self._server.base_url) as host:
            now = await host.messages(self._chat, owner=OWNER)
            if what == "create":
                faults += [*_lost(before, now), *await _missing_chats(host, heard)]
            elif what == "edit":
                faults += _lost([one for one in before if one.message.id != order["message"]], now)
                faults += _wrong_edit(now, heard, str(order["message"]))
            else:
                faults += _wrong_branch(before, now, heard)
                await host.branch(self._chat, before[-1].message.id, owner=OWNER)
                faults += _lost(before, await host.messages(self._chat, owner=OWNER))
            last = await last_event(host.turn(self._chat, f"And now? <next {self._number}>", owner=OWNER))
        went_on = f"turn {'completed' if isinstance(last, TurnCompleted) else last}"
        told = sum(one["kind"] != "ready" for one in heard)
        return Kill(
            what,
            "done" if told else "none",
            went_on,
            [*faults, *faults_at_rest(self._place), *self._wire_faults()],
        )

    def _wire_faults(self) -> list[str]:
        faults = list(self._server.faults)
        self._server.faults.clear()
        return faults

    def _begin(self, child: Child) -> None:
        child.go()
        self._wait(60)

    def _started(self, child: Child) -> None:
        child.go()
        child.hear("turn_started")
        self._wait(8)

    def _stopped(self, child: Child, at: str) -> None:
        gate = self._stage.stop_at("call" if at == "call" else "text")
        child.go()
        gate.reached.wait()
        self._wait(5)

    def _tools_run(self, child: Child) -> None:
        child.go()
        child.hear("tool_running")
        self._wait(5)

    def _between_steps(self, child: Child) -> None:
        child.go()
        child.hear("tool_result")
        self._wait(12)

    def _finishing(self, child: Child) -> None:
        gate = self._stage.stop_at("end")
        child.go()
        gate.reached.wait()
        gate.open()
        self._wait(60)

    def _told(self, child: Child, kind: str) -> None:
        child.go()
        child.hear(kind)


_WAYS: Final[dict[str, Callable[[Killing, Child], None]]] = {
    "begin": Killing._begin,
    "started": Killing._started,
    "call streams": lambda self, child: self._stopped(child, "call"),
    "tools run": Killing._tools_run,
    "between steps": Killing._between_steps,
    "text streams": lambda self, child: self._stopped(child, "text"),
    "finishing": Killing._finishing,
    "paused": lambda self, child: self._told(child, "turn_paused"),
    "resuming": Killing._begin,
    "completed": lambda self, child: self._told(child, "turn_completed"),
}


async def _pending(host: Host, turn_id: str) -> dict[str, str]:
    turn = await host.get_turn(turn_id, owner=OWNER)
    assert turn.loop_state is not None
    calls = turn.loop_state["pending"]
    assert isinstance(calls, list)
    return {call["callId"]: "six" for call in calls}


def _says(stored: StoredMessage, text: str) -> bool:
    return stored.message.role == "user" and stored.message.parts == (Text(text),)


def _lost(before: Sequence[StoredMessage], now: Sequence[StoredMessage]) -> list[str]:
    """Name messages that are gone, changed, doubled or moved; others may have come."""
    known = {one.message.id for one in before}
    kept = [one for one in now if one.message.id in known]
    if [(one.message, one.seq, one.status) for one in kept] == [
        (one.message, one.seq, one.status) for one in before
    ]:
        return []
    return [f"of {len(before)} messages {len(kept)} are there as they were, or in another form"]


def _untrue(heard: Sequence[Said], now: Sequence[StoredMessage], text: str) -> list[str]:
    """Name what the process had told and is not so."""
    ids = {one.message.id for one in now}
    inputs = sum(_says(one, text) for one in now)
    faults = []
    for said in heard:
        if said["kind"] == "turn_started" and (inputs != 1 or not ids.issuperset(said["inputIds"])):
            faults.append(f"a turn was told as started, and its input is stored {inputs} times")
        if said["kind"] == "turn_completed" and not ids.issuperset(said["messageIds"]):
            faults.append("a turn was told as completed, and not all of its messages are stored")
    return faults


def _doubled(now: Sequence[StoredMessage], text: str) -> list[str]:
    inputs = sum(_says(one, text) for one in now)
    return [f"the input is stored {inputs} times"] if inputs > 1 else []


async def _missing_chats(host: Host, heard: Sequence[Said]) -> list[str]:
    faults = []
    for said in heard:
        if said["kind"] == "created":
            stored = await host.messages(said["chat"], owner=OWNER)
            if [one.message.parts for one in stored] != [(Text(said["system"]),)]:
                faults.append(f"chat {said['chat']} was told as made, and holds {len(stored)} messages")
    return faults


def _wrong_edit(now: Sequence[StoredMessage], heard: Sequence[Said], message_id: str) -> list[str]:
    """The last text that was told must stand there, or the one after it."""
    edits = [said["text"] for said in heard if said["kind"] == "edited"]
    [part] = next(one.message.parts for one in now if one.message.id == message_id)
    assert isinstance(part, Text)
    stem, _, number = edits[-1].rpartition(" ")
    return [] if part.text in (edits[-1], f"{stem} {int(number) + 1}") else [f"{part.text!r} after {edits[-1]!r}"]


def _wrong_branch(
    before: Sequence[StoredMessage], now: Sequence[StoredMessage], heard: Sequence[Said]
) -> list[str]:
    """One of the two branches must be active as it was."""
    ids, was = [one.message.id for one in now], [one.message.id for one in before]
    return [] if ids in (was, was[:-1]) else ["the branch is neither of the two"]


def spread(kills: int, *, seed: int) -> list[str]:
    """Give the phases of so many kills, in a random order and in the shares of PHASES."""
    every = [phase for phase, share in PHASES.items() for _ in range(share)]
    chosen = random.Random(seed)
    chosen.shuffle(every)
    return [every[at % len(every)] for at in range(kills)]
