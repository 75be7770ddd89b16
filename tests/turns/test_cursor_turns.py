"""Turns that carry on by a cursor: what is sent, and what the provider holds."""

from __future__ import annotations

import json

import pytest

from trimtab_sdk import Image, Text
from trimtab_sdk.messages import Part
from turns.cursor_helpers import CursorStage, CursorTalk, Till, keeps_long, only_gemini, say_all
from turns.turn_helpers import ASK_USER, Told, listen_until, on_both_stores

pytestmark = pytest.mark.anyio


async def test_the_first_turn_sends_everything_and_stores_the_cursor(scene: CursorStage) -> None:
    talk = await scene.told()

    assert scene.remote.cursors == [None]
    assert scene.remote.instructions == "Be brief."
    assert scene.remote.sent == ["user: How many kettles?"]
    assert scene.remote.keeping == [True]
    envelope = json.loads(await talk.envelope() or "")
    assert (envelope["cursor"], envelope["provider"]) == (scene.remote.server.last_id, scene.remote.name)
    assert await talk.decision() == {"decision": "start_replay", "cause": "nothing_stored"}


@on_both_stores
async def test_later_turns_send_only_what_is_new(scene: CursorStage) -> None:
    talk = await scene.told()

    told = await say_all(talk, scene.remote, ("Sure?", "Yes."), ("Really?", "Indeed."))

    assert scene.remote.cursors[0] is None
    assert None not in scene.remote.cursors[1:]
    assert [scene.remote.sent_in(1), scene.remote.sent_in(2)] == [["user: Sure?"], ["user: Really?"]]
    assert scene.remote.instructions == "Be brief."
    assert "Seven." in scene.remote.seen()
    assert [one.of("continuation_degraded") for one in told] == [[], []]
    assert await talk.notices() == []


async def test_parallel_calls_are_answered_through_the_cursor(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.talk(till.stock)
    scene.remote.server.call(("stock", {"article": "kettle"}), ("stock", {"article": "pot"}))
    scene.remote.server.say("Ten.")

    await talk.say("How many?")

    assert scene.remote.sent == ["result: 7", "result: 3"]
    assert scene.remote.cursors[1] is not None
    assert sorted(till.sold) == ["kettle", "pot"]
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.sent == ["user: Sure?"]
    assert len(till.sold) == 2


async def test_a_step_after_another_goes_on_from_the_answer_before(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.talk(till.stock)
    for article in ("kettle", "pot"):
        scene.remote.server.call(("stock", {"article": article}), text=f"Looking at the {article}.")
    scene.remote.server.say("Ten.")

    await talk.say("How many?")

    assert [scene.remote.sent_in(at) for at in (1, 2)] == [["result: 7"], ["result: 3"]]
    assert len(set(scene.remote.cursors)) == 3
    assert till.sold == ["kettle", "pot"]


async def _pause(scene: CursorStage, talk: CursorTalk) -> Told:
    scene.remote.server.call(("ask_user", {"question": "Which?"}), ("stock", {"article": "pot"}))
    return await talk.say("How many pots?", tools=[ASK_USER])


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_paused_turn_goes_on_through_its_own_cursor(scene: CursorStage, elsewhere: bool) -> None:
    till = Till()
    talk = await scene.told(till.stock)
    before = await talk.envelope()
    told = await _pause(scene, talk)
    assert await talk.envelope() == before
    there = CursorTalk(await scene.host(till.stock), talk.chat_id) if elsewhere else talk
    scene.remote.server.say("Three.")

    await there.resume(told.turn_id, {told.paused.pending[0].call_id: "The red ones."})

    assert sorted(scene.remote.sent) == ["result: 3", "result: The red ones."]
    assert scene.remote.cursors[-1] not in (None, scene.remote.cursors[-2])
    assert till.sold == ["pot"]


async def test_a_turn_after_a_paused_one_says_that_the_tools_have_changed_once(scene: CursorStage) -> None:
    talk = await scene.told(Till().stock)
    told = await _pause(scene, talk)
    assert [one["reason"] for one in told.of("continuation_degraded")] == ["toolset_changed"]
    scene.remote.server.say("Three.")
    resumed = await talk.resume(told.turn_id, {told.paused.pending[0].call_id: "The red ones."})
    assert resumed.of("continuation_degraded") == []

    told_again = await say_all(talk, scene.remote, ("Sure?", "Yes."), ("Really?", "Yes, really."))

    reasons = [[one["reason"] for one in told.of("continuation_degraded")] for told in told_again]
    assert reasons == [["toolset_changed"], []]


@pytest.mark.parametrize("kept", [True, False])
async def test_a_host_started_anew_decides_the_same(scene: CursorStage, kept: bool) -> None:
    till = Till()
    async with scene.closed_host(till.stock) as first:
        talk = await scene.told(host=first)
        scene.remote.server.call(("stock", {"article": "pot"}))
        await say_all(talk, scene.remote, ("And pots?", "Three."))
        if not kept:
            await first.edit(talk.chat_id, (await talk.ids())[1], "How many?", owner="ann")
        here = await first.preview(talk.chat_id, "Sure?", owner="ann")
    later = CursorTalk(await scene.host(till.stock), talk.chat_id)

    there = await later.host.preview(talk.chat_id, "Sure?", owner="ann")
    told = (await say_all(later, scene.remote, ("Sure?", "Yes.")))[0]

    assert there.body == here.body
    assert bool(told.of("continuation_degraded")) is not kept
    assert (scene.remote.cursors[-1] is not None) is kept


@on_both_stores
async def test_two_hosts_on_one_store_carry_on_with_each_others_cursor(scene: CursorStage) -> None:
    here = await scene.told()
    there = CursorTalk(await scene.host(), here.chat_id)

    for number in range(4):
        told = await say_all((here, there)[number % 2], scene.remote, (f"Question {number}?", f"Answer {number}."))
        assert told[0].of("continuation_degraded") == []
        assert scene.remote.sent == [f"user: Question {number}?"]
    assert len(set(scene.remote.cursors)) == 5


async def test_a_picture_is_sent_once(scene: CursorStage) -> None:
    talk = await scene.talk()
    dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    scene.remote.server.say("A kettle.")
    said: list[Part] = [Text("What is it?"), Image(data=dot, media_type="image/png", width=1, height=1)]
    await talk.say(said)

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    assert scene.remote.sent == ["user: Sure?"]
    assert dot in scene.remote.seen()
    assert scene.remote.server.requests[-1].raw.count(b"iVBOR") == 0


async def test_an_answer_cut_by_the_output_limit_is_carried_on_from(scene: CursorStage) -> None:
    talk = await scene.talk(max_output_tokens=16)
    finish = {"openai": "length", "gemini": "incomplete", "anthropic": "max_tokens"}[scene.remote.name]
    scene.remote.server.say("Sev", finish=finish)
    told = await talk.say("How many kettles?")
    assert told.completed.finish == "length"

    told = (await say_all(talk, scene.remote, ("Go on.", "Seven.")))[0]

    assert told.of("continuation_degraded") == []
    assert "Sev" in scene.remote.seen()
    assert await talk.texts() == [
        "system: Be brief.",
        "user: How many kettles?",
        "assistant: Sev",
        "user: Go on.",
        "assistant: Seven.",
    ]


@keeps_long
async def test_what_came_of_a_cancelled_turn_is_new_to_the_provider(scene: CursorStage) -> None:
    talk = await scene.told()
    before = await talk.envelope()
    scene.remote.server.say("Thr", scene.remote.server.gate("middle"), "ee.")
    await listen_until(talk.turn("How many pots?"), "text_delta")
    await talk.ended()
    assert await talk.envelope() == before

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert told.of("continuation_degraded") == []
    assert scene.remote.cursors[1] == scene.remote.cursors[2] is not None
    assert scene.remote.sent == ["user: How many pots?", "assistant: Thr", "user: Sure?"]


@keeps_long
async def test_a_cancelled_turn_is_tried_again_with_the_same_cursor(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.say("Thr", scene.remote.server.gate("middle"), "ee.")
    await listen_until(talk.turn("How many pots?"), "text_delta")
    await talk.ended()
    scene.remote.server.say("Three.")

    told = await talk.retry()

    assert told.of("continuation_degraded") == []
    assert scene.remote.cursors[1] == scene.remote.cursors[2] is not None
    assert scene.remote.sent == ["user: How many pots?"]
    assert (await talk.texts())[-2:] == ["user: How many pots?", "assistant: Three."]


@keeps_long
async def test_a_cut_answer_leaves_the_cursor_and_is_tried_again(scene: CursorStage) -> None:
    talk = await scene.told()
    before = await talk.envelope()
    scene.remote.server.say("Thr", finish=None, done=False)
    assert (await talk.say("How many pots?")).failed.code == "PROVIDER_STREAM_BROKEN"
    assert await talk.envelope() == before
    scene.remote.server.say("Three.")

    told = await talk.retry()

    assert told.of("continuation_degraded") == []
    assert scene.remote.cursors[1] == scene.remote.cursors[2] is not None
    assert scene.remote.sent == ["user: How many pots?"]


async def test_a_turn_that_breaks_in_its_loop_is_tried_again_without_running_a_tool_twice(
    scene: CursorStage,
) -> None:
    till = Till()
    talk = await scene.told(till.stock)
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.say("Thr", finish=None, done=False)
    assert (await talk.say("How many pots?")).failed.code == "PROVIDER_STREAM_BROKEN"
    scene.remote.server.say("Three.")

    told = await talk.retry()

    assert told.text == "Three."
    assert told.of("continuation_degraded") == []
    assert till.sold == ["pot"]
    assert scene.remote.sent[-1] == "result: 3"
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.sent == ["user: Sure?"]


@only_gemini
async def test_nothing_is_resent_when_the_provider_names_no_thoughts(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.talk(till.stock)
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.say("Three.")
    await talk.say("How many pots?")

    assert scene.remote.reasoning_in(1) == []
    assert "signature" in scene.remote.seen()
