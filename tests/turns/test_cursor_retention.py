"""Providers that may keep nothing, and reasoning that cannot be read any more."""

from __future__ import annotations

import pytest

from fakes.chat_replies import ask, reply, thought
from turns.cursor_helpers import CursorStage, CursorTalk, Till, only_gemini, only_openai, say_all
from turns.turn_helpers import ASK_USER, Told

pytestmark = pytest.mark.anyio


async def _unkept(scene: CursorStage, *tools: object) -> CursorTalk:
    return await scene.talk(host=await scene.host(*tools, config=scene.config(retention=0)))


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def test_where_nothing_may_be_kept_everything_is_sent_each_time(scene: CursorStage) -> None:
    till = Till()
    talk = await _unkept(scene, till.stock)
    call = ask("stock", {"article": "pot"})
    scene.remote.server.reply(reply(thought("Hm."), call), reply(thought("Three, then."), "Three."))
    told = await talk.say("How many pots?")
    scene.remote.server.reply(reply(thought("Surely."), "Yes."))

    again = await talk.say("Sure?")

    assert scene.remote.cursors == [None] * 3
    assert scene.remote.keeping == [False] * 3
    assert scene.remote.sent_in(1) == ["user: How many pots?", "call: stock", "result: 3"]
    assert scene.remote.sent == [*scene.remote.sent_in(1), "assistant: Three.", "user: Sure?"]
    assert len(scene.remote.reasoning_in(1)) == 1
    assert len(scene.remote.reasoning_in(2)) == 2
    key = "encrypted_content" if scene.remote.name == "openai" else "signature"
    assert all(item[key] for item in scene.remote.reasoning_in(2))
    assert await talk.envelope() is None
    assert [*_reasons(told), *_reasons(again)] == []
    assert scene.remote.server.kept == []
    assert till.sold == ["pot"]


async def test_where_nothing_may_be_kept_a_paused_turn_is_resumed_elsewhere(scene: CursorStage) -> None:
    talk = await _unkept(scene)
    scene.remote.server.reply(reply(thought("Hm."), ask("ask_user", {"question": "Which?"})))
    told = await talk.say("How many?", tools=[ASK_USER])
    there = CursorTalk(await scene.host(config=scene.config(retention=0)), talk.chat_id)
    scene.remote.server.say("Three.")

    await there.resume(told.turn_id, {told.paused.pending[0].call_id: "The pots."})

    assert scene.remote.sent == ["user: How many?", "call: ask_user", "result: The pots."]
    assert len(scene.remote.reasoning_in(-1)) == 1
    assert await talk.envelope() is None


async def test_a_provider_that_may_keep_nothing_any_more_is_told_so_once(scene: CursorStage) -> None:
    talk = await scene.told()
    strict = CursorTalk(await scene.host(config=scene.config(retention=0)), talk.chat_id)

    told = await say_all(strict, scene.remote, ("Sure?", "Yes."), ("Really?", "Really."))

    assert [_reasons(one) for one in told] == [["provider_changed"], []]
    assert scene.remote.cursors == [None] * 3
    assert scene.remote.sent[0] == "user: How many kettles?"
    back = await say_all(talk, scene.remote, ("Well?", "Well."), ("And?", "And."))
    assert [_reasons(one) for one in back] == [[], []]
    assert scene.remote.sent == ["user: And?"]


async def test_nothing_that_is_excluded_is_seen_where_nothing_is_kept(scene: CursorStage) -> None:
    talk = await _unkept(scene)
    await say_all(talk, scene.remote, ("Kettles?", "Seven."), ("Pots?", "Three."))
    await talk.host.exclude(talk.chat_id, *(await talk.ids())[1:3], owner="ann")

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    assert scene.remote.sent == ["user: Pots?", "assistant: Three.", "user: Sure?"]


@pytest.mark.parametrize("kept", [True, False])
async def test_stale_reasoning_is_left_out_once(scene: CursorStage, kept: bool) -> None:
    till = Till()
    host = await scene.host(till.stock, config=scene.config(**({} if kept else {"retention": 0})))
    talk = await scene.talk(host=host)
    scene.remote.server.reply(reply(thought("Hm."), ask("stock", {"article": "pot"})), reply("Three."))
    await talk.say("How many pots?")
    scene.remote.lose()
    scene.remote.server.rotate_keys()

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    requests = len(scene.remote.server.requests)
    assert requests == (5 if kept else 4)
    assert len(scene.remote.reasoning_in(requests - 2)) == 1
    assert scene.remote.reasoning_in(-1) == []
    assert _reasons(told) == (["cursor_expired"] if kept else [])
    assert "How many pots?" in scene.remote.seen()
    assert "Three." in scene.remote.seen()
    assert till.sold == ["pot"]
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert [bool(call.error_code) for call in audit.calls] == [*([True] if kept else []), True, False]
    assert audit.continuation["staleUntil"]
    after = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]
    assert (after.text, _reasons(after)) == ("Really.", [])
    assert len(scene.remote.server.requests) == requests + 1
    assert (scene.remote.sent == ["user: Really?"]) is kept


async def test_a_call_that_is_refused_without_reasoning_too_ends_the_turn(scene: CursorStage) -> None:
    till = Till()
    talk = await _unkept(scene, till.stock)
    scene.remote.server.reply(reply(thought("Hm."), ask("stock", {"article": "pot"})), reply("Three."))
    await talk.say("How many pots?")
    kind = "stale-reasoning" if scene.remote.name == "openai" else "signature"
    scene.remote.server.refuse(kind)
    scene.remote.server.refuse(kind)

    told = await talk.say("Sure?")

    assert told.last.kind == "turn_failed"
    assert len(scene.remote.server.requests) == 4


@only_openai
async def test_a_model_without_reasoning_goes_without(scene: CursorStage) -> None:
    till = Till()
    host = await scene.host(till.stock, config=scene.config(retention=0))
    talk = await scene.talk(host=host, model="gpt-4o")
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.say("Three.")

    await talk.say("How many pots?")

    assert scene.remote.sent == ["user: How many pots?", "call: stock", "result: 3"]
    assert "include" not in scene.remote.body


@only_gemini
async def test_thoughts_go_back_before_what_they_led_to(scene: CursorStage) -> None:
    till = Till()
    talk = await _unkept(scene, till.stock)
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.say("Three.")
    await talk.say("How many pots?")

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    kinds = [step["type"] for step in scene.remote.body["input"]]
    assert kinds == ["user_input", "thought", "function_call", "function_result", "model_output", "user_input"]


async def test_stale_reasoning_in_a_replay_is_told_of_as_one_replay(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.talk(till.stock)
    scene.remote.server.reply(reply(thought("Hm."), ask("stock", {"article": "pot"})), reply("Three."))
    await talk.say("How many pots?")
    await talk.host.set_system(talk.chat_id, "Be kind.", owner="ann")
    scene.remote.server.rotate_keys()
    scene.remote.server.call(("stock", {"article": "kettle"}))
    scene.remote.server.say("Seven.")

    told = await talk.say("And kettles?")

    assert (told.text, _reasons(told)) == ("Seven.", ["system_prompt_changed"])
    assert till.sold == ["pot", "kettle"]
    assert scene.remote.sent == ["result: 7"]
