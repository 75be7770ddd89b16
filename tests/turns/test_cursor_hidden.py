"""Random chats: what the record of a turn does not name as sent is never seen by the model, cursor or not."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import trimtab
from factories import Interceptor
from fakes.chat_replies import ask, reply, thought
from trimtab import Config
from trimtab.audit import Block, PartOf
from trimtab.host import Host
from trimtab.store.protocol import StoredMessage
from trimtab.turns.tools import ToolContext
from trimtab_sdk import Edit, Request, Services, texts_of
from trimtab_sdk.messages import Message, Part
from turns.cursor_helpers import CursorTalk, Remote, check_notices, remote_of
from turns.turn_helpers import OWNER, listen, words

CHATS = 50
CANARY = re.compile(r"canary\d{6}x")
SECRET = re.compile(r"secret canary\d{6}x")


def _redact(request: Request, services: Services) -> Edit:
    """Take secrets out, but for one word before them, so that something is left of every text."""
    cuts = {}
    for message in request.messages:
        for path, text in texts_of(message):
            found = SECRET.search(text)
            if found is not None and message.role in ("user", "assistant", "tool"):
                cuts[message.id, path] = [(0, found.start()), (found.end(), len(text))]
    return Edit(shorten=cuts)


@dataclass
class Walk:
    """A chat in which things happen at random."""

    remote: Remote
    talk: CursorTalk
    dice: random.Random
    said: set[str] = field(default_factory=set)
    used: int = 0
    reasons: set[str] = field(default_factory=set)

    def text(self, most: int = 30) -> str:
        """Give a text that nobody said before."""
        name = f"canary{self.dice.randrange(10**6):06d}x"
        self.said.add(name)
        secret = "secret " if self.dice.random() < 0.1 else ""
        return f"Of {secret}{name} {words(self.dice.randrange(1, most))}."

    async def result(self) -> str:
        """Give what a tool says: mostly little, sometimes more than its share."""
        return " ".join(self.text(60) for _ in range(self.dice.choice((1, 1, 1, 8))))

    async def turn(self) -> None:
        """Have a turn, after which the record is compared with what the model saw."""
        server, dice = self.remote.server, self.dice
        hidden = [thought("Hm.")] if dice.random() < 0.4 else []
        calls = [ask("look", {"number": number}) for number in range(dice.choice((0, 0, 0, 1, 2)))]
        if calls:
            before = [self.text()] if dice.random() < 0.3 else []
            server.reply(reply(*hidden, *before, *calls))
        server.reply(reply(*hidden, self.text()))
        question = self.text()
        preview = None
        if dice.random() < 0.3:
            preview = await self.talk.host.preview(self.talk.chat_id, question, owner=OWNER)
        at = len(server.requests)
        told = await listen(self.talk.turn(question))
        assert told.last.kind == "turn_completed", told.last
        assert preview is None or server.requests[at].raw == preview.body
        self.reasons |= {str(one["reason"]) for one in told.of("continuation_degraded")}
        self.used += sum(cursor is not None for cursor in self.remote.cursors[at:])
        await check_notices(self.talk, told)
        await self.compare()

    async def compare(self) -> None:
        """See that nothing is seen that the record does not name."""
        audit = await self.talk.host.audit(self.talk.chat_id, owner=OWNER)
        assert audit is not None
        if self.dice.random() < 0.3:
            resolved = await self.talk.host.resolve_audit(self.talk.chat_id, owner=OWNER)
            assert resolved is not None
            assert resolved.matches is True
        stored = {one.message.id: one.message for one in await self.talk.messages()}
        told = {name for block in audit.blocks for name in CANARY.findall(_text_of(block, stored))}
        seen = set(CANARY.findall(self.remote.seen()))
        assert seen <= told, (seen - told, audit.continuation)
        assert told & self.said <= seen

    async def change(self) -> None:
        """Change something in the chat, or lose it at the provider."""
        host, chat, dice = self.talk.host, self.talk.chat_id, self.dice
        stored = await self.talk.messages()
        texts = [
            one for one in stored if one.message.role in ("user", "assistant") and "'Of " in str(one.message.parts)
        ]
        if not texts:
            return
        one = dice.choice(texts).message
        await dice.choice(
            (
                lambda: host.edit(chat, one.id, self.text(), owner=OWNER),
                lambda: host.exclude(chat, one.id, owner=OWNER),
                lambda: host.exclude(chat, *(each.message.id for each in texts[:2]), owner=OWNER),
                lambda: host.exclude(chat, *(each.message.id for each in stored), owner=OWNER, excluded=False),
                lambda: host.pin(chat, one.id, owner=OWNER, pinned=dice.random() < 0.5),
                lambda: host.branch(chat, _answers(stored, dice), owner=OWNER),
                lambda: host.remove(chat, texts[-1].message.id, owner=OWNER),
                lambda: host.set_system(chat, self.text(), owner=OWNER),
                self.lose,
            )
        )()

    async def lose(self) -> None:
        """Let the provider forget everything."""
        self.remote.lose()


def _answers(stored: list[StoredMessage], dice: random.Random) -> str:
    """Choose an answer without calls to go on from."""
    ends = [
        one.message.id for one in stored if one.message.role == "assistant" and "'Of " in str(one.message.parts)
    ]
    return dice.choice(ends or [stored[-1].message.id])


def _text_of(block: Block, stored: dict[str, Message]) -> str:
    change = block.change
    if change is None or change.parts is None:
        return str(stored[block.id].parts)
    parts: list[Part] = [
        stored[part.id].parts[part.index] if isinstance(part, PartOf) else part for part in change.parts
    ]
    return str(parts)


async def _walk(host: Host, remote: Remote, seed: int, walks: dict[str, Walk]) -> Walk:
    dice = random.Random(seed)
    limit = {"contextLimit": dice.choice((900, 1500)), "reserve": 0} if dice.random() < 0.5 else {}
    chat = await host.create_chat(
        owner=OWNER,
        provider=remote.name,
        model=remote.model,
        system="Of kettles.",
        context_settings={**limit, "providerCompactionEnabled": False},
    )
    walk = Walk(remote, CursorTalk(host, chat.id), dice)
    walks[chat.id] = walk
    for _ in range(dice.randrange(2, 5)):
        if dice.random() < 0.35:
            await walk.change()
        await walk.turn()
    return walk


@pytest.mark.parametrize("name", ["openai", "gemini"])
def test_nothing_that_the_record_does_not_name_is_seen_by_the_model(
    name: str, empty_store: Path, tmp_path: Path
) -> None:
    place = shutil.copy(empty_store, tmp_path / "chats.db")
    walks: dict[str, Walk] = {}

    async def look(number: int, context: ToolContext) -> str:
        """Look something up."""
        return await walks[context.chat_id].result()

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("redact", Interceptor(_redact))
    with remote_of(name) as remote, asyncio.Runner() as runner:
        endpoint = {"base_url": remote.server.base_url, "retries": 0}
        config = Config(
            providers={name: endpoint},
            interceptors=("redact",),
            may_redact_protected=("redact",),
        )
        host = Host(place, config, [look], registry=registry, environ={})
        runner.run(host.open())
        try:
            done = [runner.run(_walk(host, remote, seed, walks)) for seed in range(CHATS)]
        finally:
            runner.run(host.close())
    assert sum(walk.used for walk in done) > CHATS
    reasons = set().union(*(walk.reasons for walk in done))
    assert reasons == {"history_changed", "context_shifted", "system_prompt_changed", "cursor_expired"}
