"""Threads of the Messages API: kept for minutes, continued once, with system text and tools that stay."""

from __future__ import annotations

import json
from typing import Any

import pytest

import trimtab
from factories import Interceptor
from fakes.chat_replies import ask, reply, stream_error, thought
from fakes.messages_server import PAUSE, MessagesServer, declined, refusal
from fakes.messages_threads import THREADS
from trimtab import Config
from trimtab_sdk import Edit, Insert, Request, Services
from trimtab_sdk.edit import BEFORE_INPUT
from turns.cursor_helpers import CursorStage, CursorTalk, Till, only_threads, say_all
from turns.turn_helpers import ASK_USER, Told, listen_until, on_both_stores

pytestmark = [pytest.mark.anyio, only_threads]
BEGIN, THINKS = {"type": "create"}, {"thinking_budget": 1024}
EVERYTHING = ["user: How many kettles?", "assistant: Seven."]


def _server(scene: CursorStage) -> MessagesServer:
    server = scene.remote.server
    assert isinstance(server, MessagesServer)
    return server


def _threads(scene: CursorStage) -> list[Any]:
    return [request.body.get("thread") for request in scene.remote.server.requests]


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def _lost_in_the_loop(scene: CursorStage, till: Till) -> CursorTalk:
    async def stock(article: str) -> int:
        """How many are left."""
        scene.remote.lose()
        return await till.stock(article)

    return await scene.told(stock)


async def test_a_thread_begins_with_everything_and_goes_on_with_what_is_new(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.told(till.stock)

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    begun, continued = (request.body for request in scene.remote.server.requests)
    first = _server(scene).answer(1)["id"]
    assert [begun["thread"], "system" in begun, len(begun["tools"])] == [BEGIN, True, 1]
    assert continued["thread"] == {"type": "continue", "previous_message_id": first}
    assert continued.keys().isdisjoint({"system", "tools"})
    assert continued["messages"] == [{"role": "user", "content": "Sure?"}]
    assert [body["cache_control"] for body in (begun, continued)] == [{"type": "ephemeral"}] * 2
    assert b"cache_control" not in json.dumps([begun["messages"], begun["system"], begun["tools"]]).encode()
    assert {request.headers["anthropic-beta"] for request in scene.remote.server.requests} == {THREADS}
    assert json.loads(await talk.envelope() or "")["mode"] == "threads"


async def test_without_the_setting_no_thread_is_begun(scene: CursorStage) -> None:
    config = scene.config(settings={"threads": False})
    talk = await scene.told(host=await scene.host(config=config))

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    assert _threads(scene) == [None, None]
    assert all("anthropic-beta" not in request.headers for request in scene.remote.server.requests)
    assert await talk.envelope() is None


@on_both_stores
async def test_twenty_turns_with_thinking_and_tools_stay_in_one_thread(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.talk(till.stock, options=THINKS)
    for number in range(20):
        call = ask("stock", {"article": "pot"}, call_id=f"call_{number}")
        scene.remote.server.reply(reply(thought(f"Hm, {number}."), call))
        scene.remote.server.reply(reply(thought("So."), f"Three, {number}."))
        told = await talk.say(f"How many pots, {number}?")
        assert _reasons(told) == []

    requests = scene.remote.server.requests
    assert [request.body["thread"]["type"] for request in requests] == ["create"] + ["continue"] * 39
    assert max(len(request.body["messages"]) for request in requests) == 1
    assert all(f"Hm, {number}." in scene.remote.seen() for number in range(20))
    assert len(till.sold) == 20


async def test_a_thread_that_is_lost_with_results_in_flight_is_begun_again(scene: CursorStage) -> None:
    till = Till()
    talk = await _lost_in_the_loop(scene, till)
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.say("Three.")

    told = await talk.say("How many pots?")

    assert (told.text, _reasons(told), till.sold) == ("Three.", ["cursor_expired"], ["pot"])
    assert scene.remote.sent == [*EVERYTHING, "user: How many pots?", "call: stock", "result: 3"]
    assert _threads(scene)[-1] == BEGIN
    assert [one["recovered"] for one in await talk.notices()] == [True]
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.sent == ["user: Sure?"]


async def test_a_paused_turn_goes_on_though_its_thread_is_gone(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.call(("ask_user", {"question": "Which?"}))
    told = await talk.say("How many?", tools=[ASK_USER])
    _server(scene).clock.advance(seconds=301)
    there = CursorTalk(await scene.host(), talk.chat_id)
    scene.remote.server.say("Three.")

    resumed = await there.resume(told.turn_id, {told.paused.pending[0].call_id: "The pots."})

    assert (resumed.text, _reasons(resumed)) == ("Three.", ["cursor_expired"])
    assert scene.remote.sent == [*EVERYTHING, "user: How many?", "call: ask_user", "result: The pots."]


async def test_a_second_loss_in_one_turn_ends_it(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.refuse("cursor")
    scene.remote.server.refuse("cursor")

    told = await talk.say("Sure?")

    assert told.failed.code.startswith("PROVIDER_")
    assert len(scene.remote.server.requests) == 3
    scene.remote.server.say("Yes.")
    assert (await talk.retry()).text == "Yes."


async def test_a_thread_that_was_used_by_a_turn_that_broke_is_not_used_again(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.say("Thr", finish=None, done=False)
    assert (await talk.say("How many pots?")).failed.code == "PROVIDER_STREAM_BROKEN"
    assert await talk.envelope() is None
    scene.remote.server.say("Three.")

    told = await talk.retry()

    assert (told.text, _reasons(told)) == ("Three.", [])
    assert _threads(scene)[-1] == BEGIN
    assert scene.remote.sent == [*EVERYTHING, "user: How many pots?"]


async def test_a_thread_that_was_used_by_a_cancelled_turn_is_not_used_again(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.say("Thr", scene.remote.server.gate("middle"), "ee.")
    await listen_until(talk.turn("How many pots?"), "text_delta")
    await talk.ended()

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == []
    assert _threads(scene)[-1] == BEGIN
    assert scene.remote.sent == [*EVERYTHING, "user: How many pots?", "assistant: Thr", "user: Sure?"]


@pytest.mark.parametrize(("kind", "stays"), [("auth", True), ("rate-limit", True), ("server", False)])
async def test_a_call_that_is_refused_leaves_the_thread_unless_nobody_knows(
    scene: CursorStage, kind: str, stays: bool
) -> None:
    talk = await scene.told()
    before = await talk.envelope()
    scene.remote.server.refuse(kind)
    assert (await talk.say("Sure?")).last.kind == "turn_failed"
    assert await talk.envelope() == (before if stays else None)
    scene.remote.server.say("Yes.")

    told = await talk.retry()

    assert (told.text, _reasons(told)) == ("Yes.", [])
    assert scene.remote.sent == (["user: Sure?"] if stays else [*EVERYTHING, "user: Sure?"])


async def test_an_error_after_text_ends_the_turn_and_the_thread(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.reply(reply("Thr", stream_error("Overloaded", type="overloaded_error")))

    told = await talk.say("Pots?")

    assert told.failed.code == "PROVIDER_OVERLOADED"
    assert await talk.envelope() is None


async def test_a_thread_that_somebody_else_went_on_with_is_begun_again(scene: CursorStage) -> None:
    talk = await scene.told()
    before = await talk.envelope()
    ids = await talk.ids()
    await say_all(talk, scene.remote, ("Pots?", "Three."))
    await talk.host.branch(talk.chat_id, ids[-1], owner="ann")
    scene.poison("UPDATE chats SET last_provider_state = ?", before)
    talk.host.forget(talk.chat_id)

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["cursor_expired"]
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    assert "Three." not in scene.remote.seen()


async def test_other_settings_of_the_model_begin_another_thread(scene: CursorStage) -> None:
    talk = await scene.told(options=THINKS)
    await talk.host.update_chat(talk.chat_id, owner="ann", options={"thinking_budget": 2048})

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert (told.text, _reasons(told)) == ("Yes.", ["cursor_invalid"])
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    await say_all(talk, scene.remote, ("Really?", "Really."))
    assert scene.remote.sent == ["user: Really?"]


def _clock() -> Interceptor:
    times = iter(range(1, 1000))

    def answer(request: Request, services: Services) -> Edit:
        return Edit(insert=[Insert(f"It is {next(times)} o'clock.", BEFORE_INPUT)])

    return Interceptor(answer)


async def _with_a_clock(scene: CursorStage, *tools: Any) -> CursorTalk:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_interceptor("clock", _clock())
    fields = scene.config().model_dump() | {"interceptors": ("clock",)}
    return await scene.talk(host=await scene.host(*tools, config=Config(**fields), registry=registry))


async def test_text_that_is_made_anew_each_turn_is_in_no_thread_that_goes_on(scene: CursorStage) -> None:
    till = Till()
    talk = await _with_a_clock(scene, till.stock)
    told = await say_all(talk, scene.remote, ("Kettles?", "Seven."))
    scene.remote.server.call(("stock", {"article": "pot"}))

    told += await say_all(talk, scene.remote, ("Pots?", "Three."))

    assert [_reasons(one) for one in told] == [[], []]
    assert _threads(scene) == [BEGIN] * 3
    assert "It is 1 o'clock." not in scene.remote.seen()
    assert till.sold == ["pot"]
    assert await talk.envelope() is None


async def test_an_answer_that_pauses_goes_on_when_nothing_is_added(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.reply(reply("One, ", PAUSE, "two."))

    told = await talk.say("Count.")

    assert (told.text, _reasons(told)) == ("One, two.", [])
    assert scene.remote.body["messages"] == []
    assert _threads(scene)[-1]["type"] == "continue"
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.sent == ["user: Sure?"]


async def test_a_thread_ends_with_thinking_that_led_to_no_answer(scene: CursorStage) -> None:
    talk = await scene.told(options=THINKS)
    scene.remote.server.reply(reply(thought("Hm."), finish="max_tokens"))
    await talk.say("How many pots?")
    assert await talk.envelope() is None

    told = (await say_all(talk, scene.remote, ("Well?", "Three.")))[0]

    assert (told.text, _reasons(told)) == ("Three.", [])
    assert _threads(scene)[-1] == BEGIN


async def test_a_thread_ends_with_calls_that_came_without_the_thinking_asked_for(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.told(till.stock, options=THINKS)
    scene.remote.server.reply(reply("I look.", ask("stock", {"article": "pot"})), reply("Three."))

    told = await talk.say("How many pots?")

    assert (told.text, _reasons(told), till.sold) == ("I look.Three.", [], ["pot"])
    assert _threads(scene)[-1] == BEGIN
    assert "thinking" not in scene.remote.body


async def test_after_a_refusal_a_thread_is_begun_anew(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.reply(reply("I will", declined("cyber")))
    await talk.say("Break in.")
    assert await talk.envelope() is None

    told = (await say_all(talk, scene.remote, ("Then not.", "Good.")))[0]

    assert _reasons(told) == []
    assert _threads(scene)[-1] == BEGIN


async def test_a_server_that_does_not_keep_the_chat_is_asked_without_that(scene: CursorStage) -> None:
    talk = await scene.talk()
    scene.remote.server.reply(refusal("no-threads"), reply("Seven."))

    told = await talk.say("How many kettles?")

    assert (told.text, _reasons(told)) == ("Seven.", [])
    assert _threads(scene) == [BEGIN, None]
    assert await talk.envelope() is None
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert _threads(scene) == [BEGIN, None, None]
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]


async def test_a_server_that_keeps_the_chat_no_longer_is_asked_without_that(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.told(till.stock)
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.reply(refusal("no-threads"), reply("Three."))

    told = await talk.say("How many pots?")

    assert (told.text, _reasons(told), till.sold) == ("Three.", ["cursor_invalid"], ["pot"])
    assert scene.remote.sent == [*EVERYTHING, "user: How many pots?", "call: stock", "result: 3"]
    assert await talk.envelope() is None


async def test_the_provider_counts_everything_of_a_thread(scene: CursorStage) -> None:
    talk = await scene.talk()
    alone = await talk.host.count_tokens(talk.chat_id, "Sure?", owner="ann")
    await say_all(talk, scene.remote, ("How many kettles?", "Seven."))
    before = await talk.envelope()

    more = await talk.host.count_tokens(talk.chat_id, "Sure?", owner="ann")

    assert more > alone
    assert "thread" not in scene.remote.body
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    assert await talk.envelope() == before
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.sent == ["user: Sure?"]


async def test_a_preview_tells_what_a_thread_is_sent(scene: CursorStage) -> None:
    talk = await scene.told()

    there = await talk.host.preview(talk.chat_id, "Sure?", owner="ann")
    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    assert there.body == scene.remote.server.requests[-1].raw


async def test_a_thread_ends_when_the_setting_is_taken_back(scene: CursorStage) -> None:
    talk = await scene.told()
    plain = CursorTalk(await scene.host(config=scene.config(settings={"threads": False})), talk.chat_id)

    told = await say_all(plain, scene.remote, ("Sure?", "Yes."), ("Really?", "Really."))

    assert [_reasons(one) for one in told] == [["provider_changed"], []]
    assert _threads(scene) == [BEGIN, None, None]
