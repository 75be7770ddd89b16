"""Keys that the host app hands out itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.chat_server import ChatServer
from trimtab import Config
from trimtab.host import Host
from trimtab.turns.events import TurnCompleted, TurnEvent, TurnFailed
from trimtab.turns.granting import Granted

pytestmark = pytest.mark.anyio
SECRET = "key-of-today-0815"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(api_key=SECRET) as server:
        yield server


class Office:
    """Hands out keys: an old one first, the right one when it is asked again."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.asked: list[bool] = []

    async def __call__(self, refresh: bool) -> Granted:
        self.asked.append(refresh)
        return Granted(self.keys[min(sum(self.asked), len(self.keys) - 1)], {"x-account": "ann"})


def host_with(office: object, server: ChatServer, folder: Path) -> Host:
    config = Config(providers={"there": {"driver": "openai-compatible", "base_url": server.base_url}})
    return Host(folder / "chats.db", config, credentials={"there": office})  # type: ignore[dict-item]


async def one_turn(host: Host) -> TurnEvent:
    chat = await host.create_chat(owner="ann", provider="there", model="gpt-4o")
    events = [event async for event in host.turn(chat.id, "Hello?", owner="ann")]
    return events[-1]


async def test_the_key_and_its_headers_go_with_the_call(server: ChatServer, tmp_path: Path) -> None:
    office = Office(SECRET)
    server.say("Hello.")
    async with host_with(office, server, tmp_path) as host:
        assert isinstance(await one_turn(host), TurnCompleted)
    assert office.asked == [False]
    headers = server.requests[0].headers
    assert (headers["authorization"], headers["x-account"]) == (f"Bearer {SECRET}", "ann")


async def test_a_refused_key_is_asked_for_once_more(server: ChatServer, tmp_path: Path) -> None:
    office = Office("key-of-yesterday", SECRET)
    server.say("Hello.")
    async with host_with(office, server, tmp_path) as host:
        assert isinstance(await one_turn(host), TurnCompleted)
    assert office.asked == [False, True]


async def test_a_key_that_is_refused_twice_ends_the_turn(server: ChatServer, tmp_path: Path) -> None:
    office = Office("wrong", "wrong too")
    async with host_with(office, server, tmp_path) as host:
        last = await one_turn(host)
    assert isinstance(last, TurnFailed)
    assert last.code in ("PROVIDER_AUTHENTICATION", "PROVIDER_KEY_MISSING")


async def test_an_office_that_fails_or_hands_out_nonsense_sends_nothing_and_tells_nobody_why(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(refresh: bool) -> Granted:
        raise RuntimeError(f"the vault says {SECRET}")

    caplog.set_level(logging.DEBUG)
    for at, office in enumerate((broken, Office("two\nlines"), Office(""))):
        folder = tmp_path / str(at)
        async with host_with(office, server, folder) as host:
            last = await one_turn(host)
        assert isinstance(last, TurnFailed)
        assert last.code == "PROVIDER_KEY_MISSING"
        assert SECRET not in str(last)
    assert server.requests == []
    assert SECRET not in caplog.text
