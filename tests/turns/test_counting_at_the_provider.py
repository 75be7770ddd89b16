"""Tokens of the next request as the provider counts them, with what it keeps of the chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.chat_server import ChatServer
from fakes.responses_server import ResponsesServer
from trimtab import Config
from trimtab.host import Host
from trimtab.store.protocol import StoredChat
from trimtab_sdk import InvalidRequestError, ProviderError

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def host_for(driver: str, base_url: str, folder: Path) -> Host:
    endpoint = {"driver": driver, "base_url": base_url, "retries": 0}
    return Host(folder / "chats.db", Config(providers={"there": endpoint}))


async def new_chat(host: Host) -> StoredChat:
    return await host.create_chat(owner="ann", provider="there", model="gpt-5", system="Be brief.")


async def test_the_provider_counts_what_it_keeps_and_what_is_new(tmp_path: Path) -> None:
    with ResponsesServer() as server:
        async with host_for("openai", server.base_url, tmp_path) as host:
            chat = await new_chat(host)
            alone = await host.count_tokens(chat.id, "And in Bern?", owner="ann")
            server.say("Seven kettles are left in the shop.")
            async for _ in host.turn(chat.id, "How many kettles are left in the shop?", owner="ann"):
                pass
            before = await host.chat(chat.id, owner="ann")
            more = await host.count_tokens(chat.id, "And in Bern?", owner="ann")

            assert more > alone > 0
            assert server.requests[-1].body["previous_response_id"]
            assert "How many kettles" not in server.requests[-1].raw.decode()
            assert await host.chat(chat.id, owner="ann") == before
        assert server.faults == []


async def test_a_count_that_is_refused_is_a_coded_error(tmp_path: Path) -> None:
    with ResponsesServer(api_key="another") as server:
        async with host_for("openai", server.base_url, tmp_path) as host:
            chat = await new_chat(host)
            with pytest.raises(ProviderError) as caught:
                await host.count_tokens(chat.id, "Hello?", owner="ann")
            assert (caught.value.code, caught.value.retryable) == ("PROVIDER_AUTHENTICATION", False)


async def test_a_provider_that_counts_nothing_says_so(tmp_path: Path) -> None:
    with ChatServer() as server:
        async with host_for("openai-compatible", server.base_url, tmp_path) as host:
            chat = await new_chat(host)
            with pytest.raises(InvalidRequestError, match="counts no tokens"):
                await host.count_tokens(chat.id, "Hello?", owner="ann")
            assert server.requests == []
