"""Answers that a provider gives in several requests: each is asked to go on, and they make one turn."""

from __future__ import annotations

import pytest

from fakes.chat_replies import ask, reply
from fakes.interactions_server import PAUSE, refusal
from turns.cursor_helpers import CursorStage, CursorTalk, Till, only_gemini, say_all
from turns.turn_helpers import ASK_USER

pytestmark = [pytest.mark.anyio, only_gemini]
both_ways = pytest.mark.parametrize("kept", [True, False])


async def _talk(scene: CursorStage, kept: bool, *tools: object) -> CursorTalk:
    config = scene.config(**({} if kept else {"retention": 0}))
    return await scene.talk(host=await scene.host(*tools, config=config))


async def _goes_on(scene: CursorStage, talk: CursorTalk, kept: bool) -> None:
    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]
    assert told.of("continuation_degraded") == []
    assert (scene.remote.cursors[-1] is not None) is kept
    if kept:
        assert scene.remote.sent == ["user: Sure?"]
    assert (await talk.envelope() is not None) is kept


@both_ways
async def test_an_answer_in_three_requests_is_one_answer(scene: CursorStage, kept: bool) -> None:
    talk = await _talk(scene, kept)
    scene.remote.server.reply(reply("One, ", PAUSE, "two, ", PAUSE, "three."))

    told = await talk.say("Count.")

    assert told.text == "One, two, three."
    assert len(scene.remote.server.requests) == 3
    tokens = [request.body.get("continuation_token") for request in scene.remote.server.requests]
    assert [token is None for token in tokens] == [True, False, False]
    said = "".join(text.partition(": ")[2] for text in await talk.texts() if text.startswith("assistant"))
    assert said == "One, two, three."
    assert "One, " in scene.remote.seen()
    await _goes_on(scene, talk, kept)
    assert scene.remote.seen().count("two, ") == 1


@both_ways
async def test_a_call_after_a_pause_is_run_once(scene: CursorStage, kept: bool) -> None:
    till = Till()
    talk = await _talk(scene, kept, till.stock)
    scene.remote.server.reply(reply("Let me look.", PAUSE, ask("stock", {"article": "pot"})), reply("Three."))

    told = await talk.say("How many pots?")

    assert told.text == "Let me look.Three."
    assert till.sold == ["pot"]
    assert scene.remote.sent[-1] == "result: 3"
    await _goes_on(scene, talk, kept)


@both_ways
async def test_a_call_before_a_pause_is_run_once_when_the_answer_is_whole(scene: CursorStage, kept: bool) -> None:
    till = Till()
    talk = await _talk(scene, kept, till.stock)
    scene.remote.server.reply(
        reply(ask("stock", {"article": "pot"}), PAUSE, ask("stock", {"article": "kettle"})), reply("Ten.")
    )

    told = await talk.say("How many?")

    assert told.text == "Ten."
    assert till.sold == ["pot", "kettle"]
    await _goes_on(scene, talk, kept)


@both_ways
async def test_an_answer_that_paused_may_end_in_a_pause_of_the_turn(scene: CursorStage, kept: bool) -> None:
    talk = await _talk(scene, kept)
    scene.remote.server.reply(reply("Hm. ", PAUSE, ask("ask_user", {"question": "Which?"})))
    told = await talk.say("How many?", tools=[ASK_USER])
    scene.remote.server.say("Three.")

    resumed = await talk.resume(told.turn_id, {told.paused.pending[0].call_id: "The pots."})

    assert resumed.text == "Three."
    assert scene.remote.sent[-1] == "result: The pots."


async def test_a_pause_of_a_continued_turn_goes_on_from_the_paused_answer(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.reply(reply("Y", PAUSE, "es."))

    told = await talk.say("Sure?")

    assert told.text == "Yes."
    assert scene.remote.seen().count("How many kettles?") == 1
    await _goes_on(scene, talk, True)


async def test_a_pause_in_a_replay_tells_once_why_it_is_one(scene: CursorStage) -> None:
    talk = await scene.told()
    await talk.host.set_system(talk.chat_id, "Be kind.", owner="ann")
    scene.remote.server.reply(reply("Y", PAUSE, "e", PAUSE, "s."))

    told = await talk.say("Sure?")

    assert [one["reason"] for one in told.of("continuation_degraded")] == ["system_prompt_changed"]
    assert told.text == "Yes."
    await _goes_on(scene, talk, True)


async def test_a_chat_that_is_lost_in_a_pause_is_replayed_with_what_had_come(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.reply(reply("Y", PAUSE, "es."), refusal("cursor"), reply("Yes, seven."))

    told = await talk.say("Sure?")

    assert [one["reason"] for one in told.of("continuation_degraded")] == ["cursor_expired"]
    assert told.completed.finish == "stop"
    assert scene.remote.cursors[-1] is None
    assert scene.remote.sent[2:] == ["user: Sure?", "assistant: Y"]
    await _goes_on(scene, talk, True)
