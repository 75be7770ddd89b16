"""Turns that end well: what is sent, told and stored."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fakes.chat_server import thought
from trimtab.turns.settings import ContextSettings
from trimtab_sdk import Image, Text, ToolCall, ToolResult
from trimtab_sdk.errors import TurnInProgressError
from turns.turn_helpers import Stage, listen, on_both_stores, stock

pytestmark = pytest.mark.anyio


@on_both_stores
async def test_the_first_turn_sends_the_input_and_stores_the_answer(stage: Stage) -> None:
    talk = await stage.talk(system="Be brief.")
    stage.server.say("Seven ", "are left.")

    told = await talk.say("How many kettles?")

    assert told.kinds == ["turn_started", "context_ready", "text_delta", "usage", "turn_completed"]
    assert told.text == "Seven are left."
    assert stage.sent == ["system: Be brief.", "user: How many kettles?"]
    assert await talk.texts() == [*stage.sent, "assistant: Seven are left."]
    assert told.completed.finish == "stop"
    assert told.completed.message_ids == tuple(one.message.id for one in (await talk.messages())[1:])


@on_both_stores
async def test_the_second_turn_sends_what_was_said_before(stage: Stage) -> None:
    talk = await stage.talk(system="Be brief.", max_output_tokens=77, options={"temperature": 0.5})
    stage.server.say("Seven.")
    await talk.say("How many kettles?")
    stage.server.say("Yes.")

    told = await talk.say("Sure?")

    assert stage.sent[1:] == ["user: How many kettles?", "assistant: Seven.", "user: Sure?"]
    assert stage.last_request.body["temperature"] == 0.5
    assert 77 in stage.last_request.body.values()
    chat = await talk.chat()
    assert chat.last_context_state == told.completed.snapshot.to_dict()
    usage = told.of("usage")[0]
    assert told.completed.snapshot.reported_input_tokens == usage["inputTokens"] > 0
    assert chat.last_provider_state is None
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert [call.finish for call in audit.calls] == ["stop"]
    assert audit.usage is not None
    assert audit.usage.input_tokens == usage["inputTokens"]


async def test_a_host_that_opens_the_store_later_sends_the_same_bytes(stage: Stage) -> None:
    talk = await stage.talk(stock, system="Be brief.")
    stage.server.call(("stock", {"article": "pot"}))
    stage.server.say("Three.")
    await talk.say("How many pots?")
    other = await stage.host(stock)

    here = await talk.host.preview(talk.chat_id, "Sure?", owner="ann")
    there = await other.preview(talk.chat_id, "Sure?", owner="ann")

    assert here.body == there.body


@on_both_stores
async def test_several_tools_are_called_at_once_and_their_results_go_back_in_order(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.call(("stock", {"article": "kettle"}), ("stock", {"article": "pot"}), text="Let me see.")
    stage.server.say("Seven and three.")

    told = await talk.say("How many?")

    first, second = stage.last_request.messages[-2:]
    assert (first["content"], second["content"]) == ("7", "3")
    calls = stage.last_request.messages[1]["tool_calls"]
    assert [first["tool_call_id"], second["tool_call_id"]] == [call["id"] for call in calls]
    assert sorted(one["text"] for one in told.of("tool_result")) == ["3", "7"]
    assert [one["step"] for one in told.of("context_ready")] == [1, 2]
    assert told.completed.steps == 2
    assert (await talk.texts())[-1] == "assistant: Seven and three."


async def test_a_loop_of_several_steps_sends_each_step_once_more(stage: Stage) -> None:
    talk = await stage.talk(stock)
    for article in ("kettle", "pot", "kettle"):
        stage.server.call(("stock", {"article": article}))
    stage.server.say("Done.")

    told = await talk.say("Count them all.")

    assert told.completed.steps == 4
    roles = [message["role"] for message in stage.last_request.messages]
    assert roles == ["user", *["assistant", "tool"] * 3]
    for before, after in pairwise(stage.server.requests):
        assert after.messages[: len(before.messages)] == before.messages
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert [call.finish for call in audit.calls] == ["tool-calls"] * 3 + ["stop"]
    assert (audit.step, audit.status) == (4, "completed")


async def test_a_turn_that_calls_too_often_fails_and_can_go_on(stage: Stage) -> None:
    talk = await stage.talk(stock, max_steps=2)
    stage.server.call(("stock", {"article": "pot"}))
    stage.server.call(("stock", {"article": "pot"}))

    told = await talk.say("Count.")

    assert told.failed.code == "TURN_STEPS_EXCEEDED"
    assert [one.message.role for one in await talk.messages()] == ["user", "assistant", "tool"]
    stage.server.say("Three.")
    assert (await talk.retry()).text == "Three."


async def test_an_answer_cut_by_the_output_limit_is_completed_and_marked(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Once upon", finish="length")

    told = await talk.say("Tell a story.")

    assert told.completed.finish == "length"
    assert [one.status for one in await talk.messages()] == ["complete", "incomplete"]
    stage.server.say(" a time.")
    await talk.say("Go on.")
    assert stage.sent == ["user: Tell a story.", "assistant: Once upon", "user: Go on."]


async def test_reasoning_is_told_and_stored(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say(thought("Hm, "), thought("kettles."), "Seven.")

    told = await talk.say("How many?")

    assert "".join(one["text"] for one in told.of("reasoning_delta")) == "Hm, kettles."
    answer = (await talk.messages())[-1]
    assert "Hm, kettles." in repr(answer.message.parts)
    assert told.text == "Seven."
    stage.server.say("Yes.")
    await talk.say("Sure?")
    assert stage.sent[1] == "assistant: Seven."


async def test_an_answer_of_reasoning_alone_is_incomplete_and_the_next_turn_works(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say(thought("Hm."))

    await talk.say("How many?")

    assert [one.status for one in await talk.messages()] == ["complete", "incomplete"]
    stage.server.say("Seven.")
    assert (await talk.say("Well?")).text == "Seven."


async def test_an_empty_answer_ends_the_turn_and_the_next_one_works(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say()

    await talk.say("How many?")

    stage.server.say("Seven.")
    assert (await talk.say("Well?")).text == "Seven."
    assert all(text != "assistant: " for text in stage.sent)


async def test_an_image_is_sent_and_stored(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("A kettle.")
    picture = Image(media_type="image/png", data="iVBORw0KGgo=")

    await talk.say((Text("What is it?"), picture))

    assert stage.sent == ["user: What is it?<image_url>"]
    assert (await talk.messages())[0].message.parts == (Text("What is it?"), picture)
    stage.server.say("Yes.")
    await talk.say("Sure?")
    assert stage.sent[0] == "user: What is it?<image_url>"


async def test_an_input_may_be_messages_of_another_format(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Seven.")

    await talk.say([{"role": "user", "content": "Kettles?"}, {"role": "user", "content": "Quick."}])

    assert "Kettles?" in " ".join(stage.sent)
    assert "Quick." in " ".join(stage.sent)
    assert [one.message.source for one in await talk.messages()][:2] == ["input", "input"]


async def test_a_chat_that_began_elsewhere_goes_on(stage: Stage) -> None:
    before = [
        {"role": "user", "content": "How many kettles?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "stock", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "7"},
        {"role": "assistant", "content": "Seven."},
    ]
    talk = await stage.talk(messages=before, system="Be brief.")
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.last_request.messages[1:-1] == before
    kinds = [type(part) for one in await talk.messages() for part in one.message.parts]
    assert kinds == [Text, Text, ToolCall, ToolResult, Text, Text, Text]


async def test_a_second_turn_at_once_is_refused_and_changes_nothing(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("head")
    stage.server.say(gate, "Seven.")
    first = talk.turn("How many?")
    listening = aiter(first)
    await anext(listening)
    await gate.reached.wait_async()

    with pytest.raises(TurnInProgressError):
        await listen(talk.turn("And pots?"))
    gate.open()

    assert [event.kind async for event in listening][-1] == "turn_completed"
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]


async def test_a_chat_without_a_server_gives_an_account_of_its_context(stage: Stage) -> None:
    talk = await stage.talk(provider="dry", system="Be brief.")

    told = await talk.say("How many?")

    assert told.text == (await talk.texts())[-1].removeprefix("assistant: ")
    assert stage.server.requests == []


async def test_settings_of_the_context_reach_the_fit(stage: Stage) -> None:
    talk = await stage.talk(context_settings=ContextSettings(context_limit=1000, reserve=100))
    stage.server.say("Seven.")

    told = await talk.say("How many?")

    assert (told.completed.snapshot.context_limit, told.completed.snapshot.budget) == (1000, 900)


async def test_the_calls_of_a_chat_go_over_one_connection(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.call(("stock", {"article": "pot"}))
    stage.server.say("Three.")
    await talk.say("Pots?")
    stage.server.say("Yes.")
    await talk.say("Sure?")

    assert len({request.connection for request in stage.server.requests}) == 1
