"""Thinking that is bound to its prefix: it goes back while that is the same, and is left out before it fails."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

import trimtab
from factories import Interceptor
from fakes.chat_replies import ask, reply, thought
from fakes.messages_server import CONTROLS
from trimtab import Config
from trimtab.host import Host
from trimtab_sdk import BEFORE_INPUT, Edit, Insert, Request, Services, Text, before
from turns.bound_helpers import bound_at, forget_prefixes, id_of, left_out, refused, say, say_all, thoughts
from turns.six_helpers import Six, asks, look_up
from turns.turn_helpers import ASK_USER, OWNER, Talk, words

pytestmark = pytest.mark.anyio
WHICH = ask("ask_user", {"question": "Which?"})


async def again(six: Six, talk: Talk, *tools: Any) -> Talk:
    """Give the chat in a process that remembers nothing."""
    return Talk(await six.host(*tools), talk.chat_id)


async def test_thinking_stays_in_twenty_plain_turns(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk(look_up)
        names = [f"Word {number}" for number in range(20)]
        for number, name in enumerate(names):
            await say(six, talk, name)
            assert thoughts(six.server) == [f"{one}?" for one in names[:number]]
            if number % 5 == 4:
                talk = await again(six, talk, look_up)
        assert await left_out(talk) == []


async def test_an_edited_message_takes_the_thinking_behind_it_and_what_comes_later_stays(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say(six, talk, "One")
        await talk.host.edit(talk.chat_id, await id_of(talk, "user: Say One."), "Say Once.", owner=OWNER)

        await say(six, talk, "Two")
        assert thoughts(six.server) == []
        assert await left_out(talk) == ["assistant: One!"]
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["Two?"]
        talk = await again(six, talk)
        await say(six, talk, "Four")
        assert thoughts(six.server) == ["Two?", "Three?"]
        assert await left_out(talk) == ["assistant: One!"]


async def test_thinking_before_an_edited_message_stays(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say_all(six, talk, "One", "Two", "Three")
        await talk.host.edit(talk.chat_id, await id_of(talk, "user: Say Two."), "Say Twice.", owner=OWNER)

        await say(six, talk, "Four")

        assert thoughts(six.server) == ["One?"]
        assert await left_out(talk) == ["assistant: Two!", "assistant: Three!"]


async def test_thinking_comes_back_when_an_edit_is_taken_back(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say(six, talk, "One")
        question = await id_of(talk, "user: Say One.")
        await talk.host.edit(talk.chat_id, question, "Say Once.", owner=OWNER)
        await say(six, talk, "Two")
        await talk.host.edit(talk.chat_id, question, "Say One.", owner=OWNER)

        await say(six, talk, "Three")

        assert thoughts(six.server) == ["One?"]
        assert await left_out(talk) == ["assistant: Two!"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_another_system_text_takes_all_thinking_until_it_is_the_old_one(place: str, elsewhere: bool) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say(six, talk, "One")
        await talk.host.set_system(talk.chat_id, "Be long.", owner=OWNER)
        talk = await again(six, talk) if elsewhere else talk
        await say(six, talk, "Two")
        assert thoughts(six.server) == []
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["Two?"]

        await talk.host.set_system(talk.chat_id, "Be brief.", owner=OWNER)
        await say(six, talk, "Four")

        assert thoughts(six.server) == ["One?"]


async def test_other_tools_take_all_thinking(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk(look_up)
        await say(six, talk, "One")
        await talk.host.update_chat(talk.chat_id, owner=OWNER, tools=())
        await say(six, talk, "Two")
        assert thoughts(six.server) == []
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["Two?"]
        await talk.host.update_chat(talk.chat_id, owner=OWNER, tools=("look_up",))
        await say(six, talk, "Four")
        assert thoughts(six.server) == ["One?"]


async def test_tools_of_the_caller_count_as_well(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say(six, talk, "One")
        six.server.reply(reply(thought("Two?"), "Two!"))
        await talk.say("Say Two.", tools=[ASK_USER])
        assert thoughts(six.server) == []
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["One?"]


async def test_excluded_removed_and_branched_messages_take_the_thinking_behind_them(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say_all(six, talk, "One", "Two", "Three")
        gone = await id_of(talk, "assistant: Two!")
        await talk.host.exclude(talk.chat_id, gone, owner=OWNER)
        await say(six, talk, "Four")
        assert thoughts(six.server) == ["One?"]
        await talk.host.exclude(talk.chat_id, gone, owner=OWNER, excluded=False)
        await say(six, talk, "Five")
        assert thoughts(six.server) == ["One?", "Two?", "Three?"]
        await talk.host.remove(talk.chat_id, await id_of(talk, "user: Say One."), owner=OWNER)
        await say(six, talk, "Six")
        assert thoughts(six.server) == []
        leaf = await id_of(talk, "assistant: Three!")
        await talk.host.branch(talk.chat_id, leaf, owner=OWNER)
        talk = await again(six, talk)
        await say(six, talk, "Seven")
        assert thoughts(six.server) == []
        await say(six, talk, "Eight")
        assert thoughts(six.server) == ["Seven?"]


async def test_a_pin_changes_no_prefix(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say_all(six, talk, "One", "Two")
        await talk.host.pin(talk.chat_id, await id_of(talk, "user: Say One."), owner=OWNER)
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["One?", "Two?"]


@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
@pytest.mark.parametrize("elsewhere", [False, True])
async def test_thinking_made_behind_a_cut_stays_until_the_next_one(
    place: str, strategy: str, elsewhere: bool
) -> None:
    async with bound_at(place) as six:
        limit = {"contextLimit": 1500, "reserve": 0, "target": 0.6}
        talk = await six.talk(context_settings=limit, context_strategy=strategy)
        kept: list[int] = []
        for number in range(24):
            name = f"Word {number} {words(40)}"
            await say(six, talk, name)
            kept.append(len(thoughts(six.server)))
            if elsewhere:
                talk = await again(six, talk)
        assert sum(later < earlier for earlier, later in pairwise(kept)) >= 2
        assert sum(kept) > 25


async def test_a_pin_in_a_small_window_is_refused_nothing(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk(context_settings={"contextLimit": 1200, "reserve": 0})
        for number in range(12):
            await say(six, talk, f"Word {number} {words(40)}")
            if number in (2, 8):
                name = (await talk.messages())[2 * number - 1].message.id
                await talk.host.pin(talk.chat_id, name, owner=OWNER)


async def test_thinking_that_cannot_be_sent_any_more_displaces_nothing(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk(context_settings={"contextLimit": 1500, "reserve": 0})
        six.server.reply(reply(thought(words(900)), "One!"))
        await talk.say("Say One.")
        await talk.host.set_system(talk.chat_id, "Be kind.", owner=OWNER)

        six.server.reply(reply(thought("Two?"), "Two!"))
        told = await talk.say(words(500))

        assert told.text == "Two!"
        assert "Say One." in six.seen()
        assert await left_out(talk) == ["assistant: One!"]


async def test_a_text_that_an_interceptor_makes_anew_takes_the_thinking_of_the_turn_before(place: str) -> None:
    hours = iter(range(1, 100))

    def clock(request: Request, services: Services) -> Edit:
        return Edit(insert=[Insert(f"It is {next(hours)} o'clock.", BEFORE_INPUT)])

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("clock", Interceptor(clock))
    async with bound_at(place) as six:
        endpoint = {"driver": "anthropic", "base_url": six.server.base_url, "retries": 0, "key_variable": "TOKEN"}
        config = Config(providers={"anthropic": endpoint}, interceptors=("clock",))
        async with Host(place, config, environ={"TOKEN": "a-token"}, registry=registry) as host:
            talk = await six.talk(host=host)
            await say_all(six, talk, "One", "Two", "Three")
            assert thoughts(six.server) == []


async def test_a_text_that_an_interceptor_always_adds_takes_nothing(place: str) -> None:
    def motto(request: Request, services: Services) -> Edit:
        first = next(message for message in request.messages if message.role == "user")
        return Edit(insert=[Insert("Mind the tide.", before(first.id))])

    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("motto", Interceptor(motto))
    async with bound_at(place) as six:
        endpoint = {"driver": "anthropic", "base_url": six.server.base_url, "retries": 0, "key_variable": "TOKEN"}
        config = Config(providers={"anthropic": endpoint}, interceptors=("motto",))
        async with Host(place, config, environ={"TOKEN": "a-token"}, registry=registry) as host:
            talk = await six.talk(host=host)
            await say_all(six, talk, "One", "Two", "Three")
            assert thoughts(six.server) == ["One?", "Two?"]


async def test_what_is_ephemeral_belongs_to_the_prefix(place: str) -> None:
    async with bound_at(place) as six:
        bell = {"id": "bell", "role": "system", "content": "A bell.", "ephemeral": True, "source": "lorebook"}
        hello = {"id": "hello", "role": "user", "content": "Hello."}
        talk = await six.talk(system=None, messages=[bell, hello])
        await say_all(six, talk, "One", "Two")
        assert thoughts(six.server) == ["One?"]
        await talk.host.edit(talk.chat_id, "bell", "Two bells.", owner=OWNER)
        await say(six, talk, "Three")
        assert thoughts(six.server) == []


async def test_a_loop_of_parallel_tools_keeps_its_thinking(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk(look_up)
        for number in range(3):
            first = reply(thought(f"I look {number}."), *asks("pot", "spoon", "kettle"))
            second = reply(thought(f"Again {number}."), *asks("cup"))
            six.server.reply(first, second, reply(thought(f"So {number}."), f"Three, {number}."))
            await talk.say((Text(f"How many, {number}?"),))
        assert len(thoughts(six.server)) == 8

        await talk.host.edit(talk.chat_id, await id_of(talk, "user: How many, 1?"), "How few?", owner=OWNER)
        six.server.reply(reply(thought("Hm."), *asks("pot")), reply(thought("Well."), "Three."))
        await talk.say("Sure?")

        assert thoughts(six.server) == ["I look 0.", "Again 0.", "So 0.", "Hm."]


async def test_a_turn_that_paused_goes_on_elsewhere_with_its_thinking(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say(six, talk, "One")
        six.server.reply(reply(thought("Which?"), WHICH))
        told = await talk.say("How many?", tools=[ASK_USER])
        assert thoughts(six.server) == []

        there = await again(six, talk)
        six.server.reply(reply(thought("Pots."), "Three."))
        call_id = told.paused.pending[0].call_id
        assert (await there.resume(told.turn_id, {call_id: "The pots."})).text == "Three."

        assert thoughts(six.server) == ["Which?"]
        six.server.reply(reply(thought("Yes?"), "Yes."))
        await there.say("Sure?", tools=[ASK_USER])
        assert thoughts(six.server) == ["Which?", "Pots."]


async def test_a_turn_that_paused_goes_on_where_another_tool_is_known(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        six.server.reply(reply(thought("Which?"), WHICH))
        told = await talk.say("How many?", tools=[ASK_USER])

        there = await again(six, talk, look_up)
        six.server.reply(reply("Three."))
        call_id = told.paused.pending[0].call_id
        assert (await there.resume(told.turn_id, {call_id: "The pots."})).text == "Three."

        assert thoughts(six.server) == []


async def test_a_retry_keeps_what_stands_behind_the_same_prefix(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk(look_up)
        await say(six, talk, "One")
        six.server.reply(reply(thought("I look."), *asks("pot")))
        six.server.refuse("server")
        assert (await talk.say("How many?")).failed.code == "PROVIDER_FAILED"
        talk = await again(six, talk, look_up)
        six.server.reply(reply(thought("So."), "Three."))
        assert (await talk.retry()).text == "Three."
        assert thoughts(six.server) == ["One?", "I look."]

        six.server.refuse("server")
        await talk.say("Sure?")
        await talk.host.set_system(talk.chat_id, "Be kind.", owner=OWNER)
        six.server.reply(reply(thought("Sure."), "Yes."))
        assert (await talk.retry()).text == "Yes."
        assert thoughts(six.server) == []


async def test_a_preview_is_what_is_sent_and_a_count_is_of_it(place: str) -> None:
    async with bound_at(place) as six:
        talk = await six.talk()
        await say_all(six, talk, "One", "Two")
        await talk.host.edit(talk.chat_id, await id_of(talk, "user: Say Two."), "Say Twice.", owner=OWNER)

        preview = await talk.host.preview(talk.chat_id, "Say Three.", owner=OWNER)
        counted = await talk.host.count_tokens(talk.chat_id, "Say Three.", owner=OWNER)
        elsewhere = await again(six, talk)
        told = await say(six, elsewhere, "Three")

        assert json.loads(preview.body) == six.server.requests[-1].body
        assert counted == six.server.view(len(six.server.requests)).tokens
        assert told.of("context_ready")[0]["snapshot"] == preview.snapshot.to_dict()
        assert thoughts(six.server) == ["One?"]


@pytest.mark.parametrize("other", ["openai", "gemini", "deepseek"])
async def test_thinking_outlives_a_visit_to_another_provider(place: str, other: str) -> None:
    async with bound_at(place, other) as six:
        talk = await six.talk(look_up)
        await say_all(six, talk, "One", "Two")
        await six.go_to(talk, other)
        six.servers[other].reply(reply(thought("Hm."), *asks("pot", "spoon")), reply(thought("So."), "Three."))
        await talk.say("How many?")
        await six.go_to(talk, "anthropic")
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["One?", "Two?"]
        talk = await again(six, talk, look_up)
        await say(six, talk, "Four")
        assert thoughts(six.server) == ["One?", "Two?", "Three?"]


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_answers_without_a_prefix_are_sent_and_refused_once(place: str, elsewhere: bool) -> None:
    async with Six(place, ["anthropic"]) as six:
        talk = await six.talk()
        await say_all(six, talk, "One", "Two")
        forget_prefixes(place)
        talk = await again(six, talk)
        await say(six, talk, "Three")
        assert thoughts(six.server) == ["One?", "Two?"]
        assert refused(six.server) == []

        await talk.host.set_system(talk.chat_id, "Be kind.", owner=OWNER)
        talk = await again(six, talk) if elsewhere else talk
        await say(six, talk, "Four")
        assert refused(six.server) == [4]
        await say(six, talk, "Five")
        assert thoughts(six.server) == ["Four?"]
        assert refused(six.server) == [4]


async def test_prefixes_are_stored_with_the_answer_and_only_there_where_they_are_asked_for(place: str) -> None:
    async with bound_at(place, "openai") as six:
        talk = await six.talk()
        await say(six, talk, "One")
        await six.go_to(talk, "openai")
        six.servers["openai"].reply(reply(thought("Hm."), "Yes."))
        await talk.say("Sure?")

        wires = [one.wire for one in await talk.messages() if one.wire is not None]

        assert [len(wire.prefixes) for wire in wires if wire.provider == "anthropic"] == [1]
        assert all(wire.prefixes == () for wire in wires if wire.provider == "openai")


async def test_the_server_may_still_be_told_to_drop_thinking(place: str) -> None:
    async with bound_at(place) as six:
        host = await six.host(settings={"thinking_mismatch": "drop_block"})
        talk = await six.talk(host=host)
        await say(six, talk, "One")
        forget_prefixes(place)
        host.forget(talk.chat_id)
        await host.set_system(talk.chat_id, "Be kind.", owner=OWNER)

        await say(six, talk, "Two")

        view = six.server.view(len(six.server.requests))
        assert CONTROLS in view.betas
        assert [drop["reason"] for drop in view.dropped] == ["prefix_binding_mismatch"]
        assert len(six.server.asks) == 2
