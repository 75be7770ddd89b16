"""Whatever is changed between turns: no thinking is refused, and none is left out that could have stayed."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trimtab
from factories import Interceptor
from fakes.chat_replies import ChatReply, reply, thought
from fakes.messages_context import View
from fakes.messages_server import MessagesServer
from trimtab import Config
from trimtab.host import Host
from trimtab_sdk import BEFORE_INPUT, Edit, Insert, Request, Services, Text
from trimtab_sdk.errors import TrimtabError
from turns.bound_helpers import missed, refused
from turns.six_helpers import asks, look_up
from turns.turn_helpers import OWNER, Talk, Told, words

PLACES = st.integers(0, 30)
STEPS = st.one_of(
    st.tuples(st.sampled_from(("say", "look", "long")), st.just(0)),
    st.tuples(st.sampled_from(("edit", "exclude", "pin", "remove", "branch")), PLACES),
    st.tuples(st.sampled_from(("system", "tools", "preview")), st.integers(0, 1)),
    st.tuples(st.just("host"), st.integers(0, 2)),
)
CHATS = st.fixed_dictionaries(
    {
        "window": st.sampled_from((None, 1100, 2000)),
        "strategy": st.sampled_from(("truncate", "summarize")),
        "steps": st.lists(STEPS, min_size=2, max_size=14),
    }
)
REFUSALS = ("TOKEN_BUDGET_EXCEEDED", "INVALID_REQUEST")
"""What a small window and a pinned answer that no user message stands before come to, without a call."""
SAID = {"say": "Say it.", "look": "Look.", "long": f"Say {words(120)}."}


def _answering() -> Callable[[View], ChatReply]:
    """Make a model that thinks before each answer, and never says the same twice."""
    numbers = count(1)

    def answer(view: View) -> ChatReply:
        number, last = next(numbers), view.sent[-1]
        if view.tools and last.block.get("text") == SAID["look"]:
            return reply(thought(f"Look {number}?"), *asks("pot", "spoon", ids=f"c{number}"))
        return reply(thought(f"Hm {number}?"), f"Answer {number}!")

    return answer


def _motto() -> trimtab.ContextStrategyRegistry:
    def add(request: Request, services: Services) -> Edit:
        return Edit(insert=[Insert("Mind the tide.", BEFORE_INPUT)])

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("motto", Interceptor(add))
    return registry


async def _hosts(stack: AsyncExitStack, place: Path, server: MessagesServer) -> tuple[Host, ...]:
    """Open two hosts that remember different things, and one that adds a text before the input."""
    endpoint = {"driver": "anthropic", "base_url": server.base_url, "retries": 0, "key_variable": "TOKEN"}
    plain = Config(providers={"anthropic": endpoint})
    adding = Config(providers={"anthropic": endpoint}, interceptors=("motto",))
    environ = {"TOKEN": "a-token"}
    hosts = (
        Host(place, plain, [look_up], environ=environ),
        Host(place, plain, [look_up], environ=environ),
        Host(place, adding, [look_up], environ=environ, registry=_motto()),
    )
    return tuple([await stack.enter_async_context(host) for host in hosts])


async def _change(talk: Talk, kind: str, at: int) -> None:
    host, chat_id = talk.host, talk.chat_id
    said = [one for one in await talk.messages() if one.message.role in ("user", "assistant")]
    if kind == "system":
        await host.set_system(chat_id, ("Be brief.", "Be kind.")[at], owner=OWNER)
    elif kind == "tools":
        await host.update_chat(chat_id, owner=OWNER, tools=((), ("look_up",))[at])
    elif kind == "preview":
        await _quietly(host.preview(chat_id, "Say it.", owner=OWNER))
    elif said:
        message = said[at % len(said)].message
        if kind == "edit" and any(isinstance(part, Text) for part in message.parts):
            await host.edit(chat_id, message.id, f"Said otherwise, {at}.", owner=OWNER)
        elif kind == "exclude":
            excluded = not message.meta.get("manualExcluded")
            await host.exclude(chat_id, message.id, owner=OWNER, excluded=excluded)
        elif kind == "pin":
            await host.pin(chat_id, message.id, owner=OWNER, pinned=not message.pinned)
        elif kind == "remove":
            await host.remove(chat_id, message.id, owner=OWNER)
        elif kind == "branch":
            await host.branch(chat_id, message.id, owner=OWNER)


async def _quietly(preview: Any) -> None:
    try:
        await preview
    except TrimtabError as error:
        assert error.code in REFUSALS


async def _live(hosts: tuple[Host, ...], server: MessagesServer, chat: Mapping[str, Any]) -> None:
    start = len(server.requests)
    limit = {"contextLimit": chat["window"], "reserve": 0} if chat["window"] else {}
    made = await hosts[0].create_chat(
        owner=OWNER,
        provider="anthropic",
        model="claude-sonnet-4-5",
        system="Be brief.",
        options={"thinking_budget": 1024},
        context_strategy=chat["strategy"],
        context_settings=limit,
    )
    talk = Talk(hosts[0], made.id)
    for kind, at in chat["steps"]:
        if kind == "host":
            talk = Talk(hosts[at], made.id)
        elif kind in SAID:
            _check_ended(await talk.say(SAID[kind]))
        else:
            await _change(talk, kind, at)
    _check_ended(await talk.say(SAID["say"]))
    assert server.faults == []
    assert refused(server) == []
    assert missed(server, since=start) == []
    await hosts[0].delete_chat(made.id, owner=OWNER)


def _check_ended(told: Told) -> None:
    if told.last.kind != "turn_completed":
        assert told.failed.code in REFUSALS


def test_nothing_is_refused_and_nothing_left_out_that_could_have_stayed(empty_store: Path, tmp_path: Path) -> None:
    place = Path(shutil.copy(empty_store, tmp_path / "chats.db"))
    with MessagesServer(_answering()) as server, asyncio.Runner() as runner:
        stack = AsyncExitStack()
        hosts = runner.run(_hosts(stack, place, server))

        @settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(CHATS)
        def live(chat: dict[str, Any]) -> None:
            runner.run(_live(hosts, server, chat))

        try:
            live()
        finally:
            runner.run(stack.aclose())
