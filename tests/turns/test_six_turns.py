"""What a turn can be, with each of six providers at a server that takes nothing wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from fakes.chat_replies import ask, reply, thought
from fakes.interactions_server import PAUSE
from fakes.messages_replies import declined, found, search
from fakes.responses_parts import refused
from trimtab_sdk import Image, Text, TextDelta
from turns.six_helpers import DOCUMENT, PAGE, PICTURE, PIXEL, SIX, Six, asks, look_up, six_at
from turns.turn_helpers import Talk

pytestmark = pytest.mark.anyio

REFUSING = {
    "openai": reply(refused("I can't.")),
    "chatgpt": reply(refused("I can't.")),
    "openai-compatible": reply("I can't.", finish="content_filter"),
    "deepseek": reply("I can't.", finish="content_filter"),
    "anthropic": reply("I can't.", declined("cyber", "No.")),
}
REFUSED = {"openai-compatible": "content-filter", "deepseek": "content-filter"}
AT_THE_LIMIT = {"gemini": "incomplete", "anthropic": "max_tokens"}
only_pausing = pytest.mark.parametrize("six", ["anthropic", "gemini"], indirect=True)


@pytest.fixture(params=SIX)
async def six(request: pytest.FixtureRequest, place: str) -> AsyncIterator[Six]:
    async with six_at(place, request.param) as ready:
        yield ready


async def _goes_on(six: Six, talk: Talk, *heard: str) -> None:
    """Have another turn, in which the model sees each of these texts once."""
    six.server.say("So it is.")
    assert (await talk.say("And now?")).text == "So it is."
    seen = six.seen()
    assert [seen.count(text) for text in heard] == [1] * len(heard)


async def test_a_first_turn_and_the_one_behind_it(six: Six) -> None:
    talk = await six.talk()
    six.server.say("Sev", "en.")

    told = await talk.say("How many kettles?")

    assert (told.text, told.completed.finish) == ("Seven.", "stop")
    assert told.kinds == ["turn_started", "context_ready", "text_delta", "usage", "turn_completed"]
    assert await talk.texts() == ["system: Be brief.", "user: How many kettles?", "assistant: Seven."]
    await _goes_on(six, talk, "Be brief.", "How many kettles?", "Seven.", "And now?")


async def test_parallel_tools_of_which_one_fails(six: Six) -> None:
    talk = await six.talk(look_up)
    six.server.reply(reply("I look.", *asks("pot", "spoon", "cup")), reply(*asks("kettle")), reply("Ten."))

    told = await talk.say("How many?")

    assert told.text == "I look.Ten."
    assert sorted(result["isError"] for result in told.of("tool_result")) == [False] * 3 + [True]
    assert len(six.server.requests) == 3
    await _goes_on(six, talk, "I look.", "no spoons", "Ten.")
    assert six.seen().count('"look_up"') >= 4


async def test_thinking_goes_through_the_tools_and_where_the_wire_wants_it_into_the_next_turn(six: Six) -> None:
    talk = await six.talk(look_up)
    six.server.reply(reply(thought("Pots, hm."), *asks("pot")), reply(thought("Three, so."), "Three."))

    told = await talk.say("How many pots?")

    assert "".join(one["text"] for one in told.of("reasoning_delta")) == "Pots, hm.Three, so."
    assert "Pots, hm." in six.seen(number=2)
    lasting = six.name != "openai-compatible"
    await _goes_on(six, talk, "Three.", *(["Pots, hm.", "Three, so."] if lasting else []))
    assert ("Pots, hm." in six.seen()) is lasting
    _check_nothing_dropped(six)


@pytest.mark.parametrize("six", ["openai", "gemini"], indirect=True)
async def test_thinking_is_carried_by_the_host_where_nothing_may_be_kept(six: Six) -> None:
    talk = await six.talk(host=await six.host(look_up, retention=0))
    six.server.reply(reply(thought("Pots, hm."), *asks("pot")), reply(thought("Three, so."), "Three."))
    await talk.say("How many pots?")
    await _goes_on(six, talk, "Pots, hm.", "Three, so.", "Three.")
    assert all(not request.body["store"] for request in six.server.requests)
    _check_nothing_dropped(six)


def _check_nothing_dropped(six: Six) -> None:
    if six.name in ("openai", "chatgpt"):
        numbers = range(1, len(six.server.requests) + 1)
        assert [number for number in numbers if six.server.dropped(number)] == []


async def test_pictures_and_a_file_in_the_input_are_sent_again_in_the_next_turn(six: Six) -> None:
    talk = await six.talk()
    six.server.say("A dot.")

    await talk.say((Text("What is it?"), PICTURE, Image(url="https://example.org/dot.png"), DOCUMENT))

    await _goes_on(six, talk, "What is it?", PIXEL, "https://example.org/dot.png", PAGE, "A dot.")


async def test_a_turn_that_is_cancelled_in_the_middle_leaves_what_had_come(six: Six) -> None:
    talk = await six.talk()
    six.server.say("Half an", six.server.gate("middle"), "swer.")
    stream = talk.turn("How many?")
    listening = aiter(stream)
    while not isinstance(await anext(listening), TextDelta):
        pass

    turn = await talk.host.cancel(stream.turn_id, owner=talk.owner)

    assert turn.state == "cancelled"
    assert [event.kind async for event in listening] == ["turn_cancelled"]
    await six.server.closed_early.wait_async()
    assert (await talk.messages())[-1].status == "incomplete"
    await _goes_on(six, talk, "How many?", "Half an")


async def test_a_turn_that_is_cancelled_while_its_answer_calls_runs_nothing(six: Six) -> None:
    talk = await six.talk(look_up)
    six.server.say(*asks("pot"), six.server.gate("middle"), *asks("cup"))
    stream = talk.turn("How many?")
    async for event in stream:
        if event.kind == "tool_call_started":
            break
    await talk.host.cancel(stream.turn_id, owner=talk.owner)

    await _goes_on(six, talk, "How many?")
    assert await talk.texts() == [
        *("system: Be brief.", "user: How many?", "user: And now?", "assistant: So it is."),
    ]


async def test_an_answer_that_reaches_the_output_limit_is_kept_and_marked(six: Six) -> None:
    talk = await six.talk()
    six.server.say("Sev", finish=AT_THE_LIMIT.get(six.name, "length"))

    told = await talk.say("How many?")

    assert (told.text, told.completed.finish) == ("Sev", "length")
    assert (await talk.messages())[-1].status == "incomplete"
    await _goes_on(six, talk, "How many?", "Sev")


async def test_thinking_that_led_to_no_answer_does_not_stand_in_the_way_of_the_next(six: Six) -> None:
    talk = await six.talk(look_up)
    six.server.say("Hello.")
    await talk.say("Hello.")
    six.server.say(thought("Hm, hm."), finish=AT_THE_LIMIT.get(six.name, "length"))
    assert (await talk.say("Think.")).completed.finish == "length"
    six.server.reply(reply(thought("Pots, hm."), *asks("pot")), reply(thought("Three, so."), "Three."))

    told = await talk.say("How many pots?")

    assert told.text == "Three."
    assert "Pots, hm." in six.seen()
    await _goes_on(six, talk, "Think.", "How many pots?", "Three.")


@pytest.mark.parametrize("six", REFUSING, indirect=True)
async def test_an_answer_that_refuses_is_told_as_one(six: Six) -> None:
    talk = await six.talk()
    six.server.reply(REFUSING[six.name])

    told = await talk.say("How is it picked?")

    assert told.completed.finish == REFUSED.get(six.name, "refusal")
    assert (await talk.messages())[-1].status == "incomplete"
    await _goes_on(six, talk, "How is it picked?")


@only_pausing
async def test_an_answer_that_pauses_goes_on_to_its_end(six: Six) -> None:
    talk = await six.talk(look_up)
    six.server.reply(reply(thought("Hm."), "One, ", PAUSE, "two, ", PAUSE, *asks("pot")), reply("three."))

    told = await talk.say("Count.")

    assert told.text == "One, two, three."
    assert told.completed.steps == 4
    assert [result["text"] for result in told.of("tool_result")] == ["3"]
    await _goes_on(six, talk, "One, ", "two, ", "three.")


@pytest.mark.parametrize("six", ["anthropic"], indirect=True)
async def test_an_answer_that_pauses_in_a_search_of_the_server_goes_on(six: Six) -> None:
    talk = await six.talk()
    six.server.say("I search.", search("kettles", call_id="srvtoolu_1"), PAUSE, found("srvtoolu_1"), "Seven.")

    told = await talk.say("How many?")

    assert told.text == "I search.Seven."
    await _goes_on(six, talk, "I search.", "Seven.")


async def test_arguments_that_are_no_json_do_not_break_the_chat(six: Six) -> None:
    talk = await six.talk(look_up)
    six.server.say(ask("look_up", '{"article": '))
    six.server.say("Three.")

    told = await talk.say("How many pots?")
    if six.name == "gemini":
        # There arguments are an object, so an answer with others is none.
        assert told.failed.code == "PROVIDER_BAD_RESPONSE"
        told = await talk.retry()

    assert told.text == "Three."
    assert [result["isError"] for result in told.of("tool_result")] == ([] if six.name == "gemini" else [True])
    await _goes_on(six, talk, "How many pots?", "Three.")
