"""One chat that goes from provider to provider and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fakes.chat_replies import ask, reply, thought
from fakes.chat_server import ChatServer
from trimtab import Config
from trimtab.host import Host
from turns.cursor_helpers import MODELS, CursorServer, CursorTalk, Remote, Till, remote_of
from turns.turn_helpers import OWNER, Told

pytestmark = pytest.mark.anyio
MODEL = {name: models[0] for name, models in MODELS.items()} | {"compatible": "gpt-4o"}


class Street:
    """Three providers at their own servers, and a host that knows them all."""

    def __init__(self, place: str, openai: Remote, gemini: Remote, compatible: ChatServer, **gemini_settings: Any):
        self.remotes = {"openai": openai, "gemini": gemini}
        self.servers: dict[str, CursorServer | ChatServer] = {
            "openai": openai.server,
            "gemini": gemini.server,
            "compatible": compatible,
        }
        drivers = {"openai": "openai", "gemini": "gemini", "compatible": "openai-compatible"}
        endpoints = {
            name: {"driver": drivers[name], "base_url": server.base_url, "retries": 0}
            for name, server in self.servers.items()
        }
        self.till = Till()
        self.host = Host(place, Config(providers=endpoints), [self.till.stock], environ={})

    async def say(self, talk: CursorTalk, provider: str, question: str, *replies: Any) -> Told:
        """Have a turn at a provider."""
        await self.host.update_chat(talk.chat_id, owner=OWNER, provider=provider, model=MODEL[provider])
        self.servers[provider].reply(*replies)
        before = [(one.message.id, one.message) for one in await talk.messages()]
        told = await talk.say(question)
        after = [(one.message.id, one.message) for one in await talk.messages()]
        assert after[: len(before)] == before
        return told


@pytest.fixture
def street(place: str) -> Iterator[Street]:
    with remote_of("openai") as openai, remote_of("gemini") as gemini, ChatServer() as compatible:
        yield Street(place, openai, gemini, compatible)
        assert compatible.faults == []


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def test_a_chat_goes_round_all_providers_and_each_says_once_what_it_left(street: Street) -> None:
    async with street.host as host:
        chat = await host.create_chat(owner=OWNER, provider="openai", model="gpt-5", system="Be brief.")
        talk = CursorTalk(host, chat.id)
        route = ["openai", "openai", "gemini", "gemini", "compatible", "compatible", "openai", "openai"]
        route += ["compatible", "gemini", "openai"]
        reasons = []
        for number, provider in enumerate(route):
            told = await street.say(talk, provider, f"Question {number}?", reply(f"Answer {number}."))
            reasons.append(_reasons(told))
            for place, question in enumerate(route[:number]):
                assert question
                if provider != "compatible":
                    remote = street.remotes[provider]
                    assert f"Answer {place}." in remote.seen()

        left = {2, 4, 8, 10}
        assert reasons == [["provider_changed"] if number in left else [] for number in range(len(route))]
        assert [cursor is None for cursor in street.remotes["openai"].cursors] == [True, False, True, False, True]
        assert [cursor is None for cursor in street.remotes["gemini"].cursors] == [True, False, True]


async def test_calls_and_reasoning_of_one_provider_are_told_to_the_others(street: Street) -> None:
    async with street.host as host:
        chat = await host.create_chat(owner=OWNER, provider="openai", model="gpt-5", system="Be brief.")
        talk = CursorTalk(host, chat.id)
        call = ask("stock", {"article": "pot"})
        route = ["openai", "gemini", "compatible", "openai", "gemini", "openai"]
        for number, provider in enumerate(route):
            first = [call] if provider == "compatible" else [thought(f"Hm {number}."), call]
            replies = (reply(*first), reply(f"Answer {number}."))
            told = await street.say(talk, provider, f"Question {number}?", *replies)
            assert told.text == f"Answer {number}."

        assert street.till.sold == ["pot"] * len(route)
        for name, remote in street.remotes.items():
            says = remote.sent_in(-2)
            assert says.count("call: stock") == says.count("result: 3"), name
        seen = street.remotes["openai"].seen()
        assert [f"Answer {number}." in seen for number in range(5)] == [True] * 5


async def test_a_chat_that_comes_back_after_a_change_elsewhere_holds_nothing_old(street: Street) -> None:
    async with street.host as host:
        chat = await host.create_chat(owner=OWNER, provider="openai", model="gpt-5", system="Be brief.")
        talk = CursorTalk(host, chat.id)
        await street.say(talk, "openai", "Kettles?", reply("Seven."))
        await street.say(talk, "compatible", "Pots?", reply("Three."))
        await host.edit(talk.chat_id, (await talk.ids())[2], "Eight.", owner=OWNER)

        told = await street.say(talk, "openai", "Sure?", reply("Yes."))

        assert _reasons(told) == []
        assert "Seven." not in street.remotes["openai"].seen()
        assert street.remotes["openai"].sent[1] == "assistant: Eight."
