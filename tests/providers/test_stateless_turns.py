"""Turns of a whole host with the providers that keep nothing and want their reasoning back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

from fakes.chat_replies import ask, thought
from fakes.chat_server import ChatServer
from fakes.chatgpt_server import ChatGPTServer, rate_limits, used_up
from fakes.deepseek_rules import DeepSeekJudge, blank_lines, cached, queued
from trimtab import Config, ContextStrategyRegistry
from trimtab.host import Host
from trimtab_plugins.providers.chatgpt import ChatGPT
from trimtab_plugins.providers.deepseek import DeepSeek
from turns.turn_helpers import OWNER, Talk, listen, stock

pytestmark = pytest.mark.anyio

CALL = ask("stock", {"article": "pot"})
NOW = 1_790_000_000.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def hosts(tmp_path: Path) -> AsyncIterator[Any]:
    opened: list[Host] = []

    async def host(**endpoint: Any) -> Host:
        registry = ContextStrategyRegistry()
        registry.register_provider("deep", DeepSeek())
        registry.register_provider("chat", ChatGPT(now=lambda: NOW))
        config = Config(providers={"it": {"retries": 0, "key_variable": "TOKEN", **endpoint}})
        one = Host(tmp_path / "chats.db", config, [stock], registry=registry, environ={"TOKEN": "a-token"})
        opened.append(await one.__aenter__())
        return one

    yield host
    for one in opened:
        await one.__aexit__(None, None, None)


async def talk_at(host: Host, model: str) -> Talk:
    chat = await host.create_chat(owner=OWNER, provider="it", model=model, system="Be brief.")
    return Talk(host, chat.id)


async def deepseek(hosts: Any, server: ChatServer, model: str = "deepseek-flash", **settings: Any) -> Talk:
    host = await hosts(driver="deep", base_url=server.base_url, settings=settings)
    return await talk_at(host, model)


async def chatgpt(hosts: Any, server: ChatGPTServer, **settings: Any) -> Talk:
    chosen = {"accept_unofficial_api": True, "account_id": "acc-1", **settings}
    host = await hosts(driver="chat", base_url=server.base_url, settings=chosen)
    return await talk_at(host, "gpt-6-sol")


def reasoning_in(messages: Any) -> list[str | None]:
    return [one.get("reasoning_content") for one in messages if one["role"] == "assistant"]


@pytest.mark.parametrize(
    ("generation", "model", "later"),
    [
        ("v4", "deepseek-flash", ["I look.", "Three it is.", "Hm."]),
        ("r1", "deepseek-reasoner", [None, None, None]),
    ],
)
async def test_deepseek_gets_reasoning_back_as_its_generation_wants_it(
    hosts: Any, generation: Literal["r1", "v4"], model: str, later: list[str | None]
) -> None:
    with ChatServer(judge=DeepSeekJudge(generation)) as server:
        talk = await deepseek(hosts, server, model)
        server.say(*queued(), thought("I look."), CALL)
        server.say(*queued(), thought("Three it is."), "Three.", usage=cached(hit=64, miss=8))
        first = await talk.say("How many pots?")
        server.say(thought("Hm."), "Yes.")
        await talk.say("Sure?")
        server.say("Bye.")
        await talk.say("Bye.")

    assert first.text == "Three."
    assert reasoning_in(server.requests[1].messages) == ["I look."]
    assert reasoning_in(server.requests[3].messages) == later
    assert server.faults == []
    (usage,) = [one for one in first.of("usage") if one.get("cachedTokens")]
    assert usage["inputTokens"] == 72
    stored = [one for one in await talk.messages() if one.provider_state]
    states: list[Mapping[str, Any]] = [one.provider_state for one in stored if one.provider_state is not None]
    assert [one["promptCacheMissTokens"] for one in states if "promptCacheMissTokens" in one] == [8]


async def test_deepseek_gets_empty_reasoning_back_in_every_later_request(hosts: Any) -> None:
    with ChatServer(judge=DeepSeekJudge()) as server:
        talk = await deepseek(hosts, server)
        server.say(thought(""), CALL)
        server.say(thought(""), "Three.")
        await talk.say("How many pots?")
        server.say("Yes.")
        await talk.say("Sure?")

    assert reasoning_in(server.requests[-1].messages) == ["", ""]
    assert server.faults == []


async def test_deepseek_takes_over_a_turn_that_did_not_think(hosts: Any) -> None:
    with ChatServer(judge=DeepSeekJudge()) as server:
        talk = await deepseek(hosts, server)
        server.say(CALL)
        server.say("Three.")
        await talk.say("How many pots?")

    assert reasoning_in(server.requests[-1].messages) == [""]
    assert server.faults == []


async def test_deepseek_sends_the_same_bytes_again_over_twenty_turns(hosts: Any) -> None:
    with ChatServer(judge=DeepSeekJudge()) as server:
        talk = await deepseek(hosts, server)
        for at in range(20):
            server.say(thought(f"I look {at}."), CALL)
            server.say(thought(f"So {at}."), f"Three, {at}.")
            await talk.say(f"How many pots, {at}?")

    sent = [request.raw for request in server.requests]
    heads = [one[: one.rindex(b"}]") + 1] for one in (body[: body.index(b'"stream"')] for body in sent)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(heads))
    assert {body[body.index(b'"stream"') :] for body in sent} == {sent[0][sent[0].index(b'"stream"') :]}
    assert server.faults == []


async def test_deepseek_may_send_blank_lines_and_signs_of_life_anywhere(hosts: Any) -> None:
    with ChatServer(judge=DeepSeekJudge()) as server:
        talk = await deepseek(hosts, server)
        server.say(blank_lines(), *queued(3), thought("Hm."), *queued(), blank_lines(), "Three.")
        told = await talk.say("How many pots?")

    assert told.text == "Three."
    assert told.completed.finish == "stop"


async def test_chatgpt_carries_its_sealed_reasoning_through_a_turn_and_the_next(hosts: Any) -> None:
    with ChatGPTServer(account="acc-1") as server:
        server.windows = rate_limits(primary=35.0)
        talk = await chatgpt(hosts, server)
        server.say(thought("I look."), CALL)
        server.say(thought("So."), "Three.")
        first = await talk.say("How many pots?")
        server.say("Yes.")
        await talk.say("Sure?")

    assert first.text == "Three."
    kinds = [item.get("type") for item in server.requests[-1].input]
    assert kinds == [
        *("message", "message", "reasoning", "function_call", "function_call_output"),
        *("reasoning", "message", "message"),
    ]
    assert server.view(3).dropped == []
    assert server.requests[-1].input[0]["role"] == "developer"
    assert len({request.headers["session_id"] for request in server.requests}) == 1
    assert (await talk.chat()).last_provider_state is None
    assert server.faults == []


async def test_chatgpt_is_asked_once_more_without_reasoning_that_nobody_can_read(hosts: Any) -> None:
    with ChatGPTServer() as server:
        talk = await chatgpt(hosts, server)
        server.say(thought("So."), "Three.")
        await talk.say("How many pots?")
        server.rotate_keys()
        server.say("Yes.")
        told = await listen(talk.turn("Sure?"))

    assert told.text == "Yes."
    assert [item.get("type") for item in server.requests[-1].input if item.get("type") == "reasoning"] == []
    assert server.faults == []


async def test_chatgpt_tells_when_a_window_opens_again(hosts: Any) -> None:
    with ChatGPTServer() as server:
        talk = await chatgpt(hosts, server)
        server.reply(used_up(resets_at=NOW + 3600))
        told = await talk.say("How many pots?")

    assert told.failed.code == "PROVIDER_QUOTA_EXHAUSTED"
    assert told.failed.details["retryAfter"] == 3600.0


async def test_chatgpt_is_off_until_its_endpoint_says_otherwise(hosts: Any) -> None:
    with ChatGPTServer() as server:
        host = await hosts(driver="chat", base_url=server.base_url)
        talk = await talk_at(host, "gpt-6-sol")
        told = await talk.say("How many pots?")

    assert told.failed.code == "CONFIG_INVALID"
    assert "accept_unofficial_api = true" in told.failed.message
    assert server.requests == []
