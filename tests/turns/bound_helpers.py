"""Chats with a server that takes thinking back only behind the very prefix it was made on, and who judges that.

The judge is the server: what it refused, and the seals of its own thoughts against what a request sent in front of
the place where they would have stood.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from fakes.chat_replies import reply, thought
from fakes.messages_context import THOUGHTS, View, bare
from fakes.messages_refusals import BAD_SIGNATURE
from fakes.messages_seals import head_of, prefixes
from fakes.messages_server import MessagesServer
from fakes.messages_thinking import signature_of
from turns.six_helpers import Six
from turns.turn_helpers import Talk, Told


@asynccontextmanager
async def bound_at(place: str, *others: str) -> AsyncIterator[Six]:
    """Start a server of `anthropic` and of others; in the end it has refused nothing, and missed no thinking."""
    async with Six(place, ["anthropic", *others]) as six:
        yield six
        assert six.faults == {}
        assert refused(six.server) == []
        assert missed(six.server) == []


def refused(server: MessagesServer) -> list[int]:
    """Give the numbers of the requests for an answer that thinking had refused."""
    return [one.number for one in server.asks if any(BAD_SIGNATURE in fault for fault in one.faults)]


def thoughts(server: MessagesServer, number: int = 0) -> list[str]:
    """Give the thinking of a request, counted from 1; of the last one when it is not said which."""
    view = server.view(number or len(server.requests))
    return [str(place.block["thinking"]) for place in view.sent if place.kind in THOUGHTS]


def missed(server: MessagesServer, *, since: int = 0) -> list[str]:
    """Give the thoughts that were left out of a request although all in front of their place was as before.

    `since` is the number of the last request that is not looked at.
    """
    found: list[str] = []
    earlier: list[Any] = []
    for ask in server.asks:
        if ask.number <= since:
            continue
        view = server.view(ask.number)
        found += [f"request {ask.number}: {text}" for text in _missed_in(server, view, earlier)]
        earlier += _answer_of(server, ask.number)
    return found


def _answer_of(server: MessagesServer, number: int) -> list[Any]:
    try:
        return [server.answer(number)["content"]]
    except KeyError:
        return []


def _missed_in(server: MessagesServer, view: View, earlier: list[Any]) -> Iterator[str]:
    sent = {signature_of(place.block) for place in view.sent if place.kind in THOUGHTS}
    before = prefixes(head_of(view), view.sent)
    for content in earlier:
        first = content[0] if content and content[0]["type"] in THOUGHTS else None
        said = next((bare(block) for block in content if block["type"] not in THOUGHTS), None)
        if first is None or said is None or signature_of(first) in sent:
            continue
        seal = server.seal(signature_of(first))
        places = [at for at, place in enumerate(view.sent) if bare(place.block) == said]
        if seal is not None and any((seal.prefix, seal.model) == (before[at], view.model) for at in places):
            yield str(first["thinking"])


async def say(six: Six, talk: Talk, name: str) -> Told:
    """Have a turn: the model thinks `name` and says it aloud."""
    six.server.reply(reply(thought(f"{name}?"), f"{name}!"))
    told = await talk.say(f"Say {name}.")
    assert told.text == f"{name}!", told.last
    return told


async def say_all(six: Six, talk: Talk, *names: str) -> None:
    """Have several turns."""
    for name in names:
        await say(six, talk, name)


async def id_of(talk: Talk, text: str) -> str:
    """Give the id of the message with a text."""
    texts = await talk.texts()
    return (await talk.messages())[texts.index(text)].message.id


async def left_out(talk: Talk) -> list[str]:
    """Give the texts of the messages that the audit names for reasoning that was left out."""
    audit = await talk.host.audit(talk.chat_id, owner=talk.owner)
    assert audit is not None
    named = [name for one in audit.diagnostics if "the wire binds it" in one.message for name in one.ids]
    assert all(one.code == "wire-rule" for one in audit.diagnostics if one.ids and set(one.ids) & set(named))
    known = dict(zip([one.message.id for one in await talk.messages()], await talk.texts(), strict=True))
    return [known[name] for name in named]


def forget_prefixes(place: str) -> None:
    """Make the answers of a store such as were stored before prefixes were known."""
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE messages SET wire = json_remove(wire, '$[4]')")
    connection.close()
