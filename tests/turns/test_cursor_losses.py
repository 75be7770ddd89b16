"""Cursors that the provider no longer takes: by age, forgotten, malformed, at any point of a turn."""

from __future__ import annotations

import json
import logging

import pytest

from fakes.chat_replies import reply, stream_error
from fakes.responses_server import ResponsesServer
from turns.cursor_helpers import DAY, CursorStage, CursorTalk, Till, keeps_long, only_openai, say_all
from turns.turn_helpers import ASK_USER, Told

pytestmark = pytest.mark.anyio
EVERYTHING = ["user: How many kettles?", "assistant: Seven."]


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def _next_is_continued(scene: CursorStage, talk: CursorTalk) -> None:
    told = (await say_all(talk, scene.remote, ("And now?", "Still.")))[0]
    assert _reasons(told) == []
    assert scene.remote.sent == ["user: And now?"]
    assert scene.remote.cursors[-1] is not None


async def test_a_cursor_older_than_the_provider_keeps_it_is_not_tried(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.now += scene.remote.retention + 1

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["cursor_expired"]
    assert scene.remote.cursors == [None, None]
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    await _next_is_continued(scene, talk)


async def test_a_cursor_as_old_as_the_provider_keeps_it_is_used(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.now += scene.remote.retention

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == []
    assert scene.remote.cursors[1] is not None


async def test_the_user_says_for_how_long_the_provider_keeps_it(scene: CursorStage) -> None:
    talk = await scene.told(host=await scene.host(config=scene.config(retention=DAY)))
    scene.now += DAY + 1

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["cursor_expired"]
    assert scene.remote.cursors == [None, None]


@keeps_long
async def test_a_cancelled_answer_does_not_make_a_cursor_younger(scene: CursorStage) -> None:
    talk = await scene.told(host=await scene.host(config=scene.config(retention=DAY)))
    scene.now += DAY - 1
    gate = scene.remote.server.gate("middle")
    scene.remote.server.say("Thr", gate, "ee.")
    async for event in talk.turn("Pots?"):
        if event.kind == "text_delta":
            break
    await talk.ended()
    scene.now += 2

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["cursor_expired"]


async def test_a_forgotten_cursor_is_replayed_once(scene: CursorStage, caplog: pytest.LogCaptureFixture) -> None:
    talk = await scene.told()
    scene.remote.lose()

    with caplog.at_level(logging.INFO):
        told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert (_reasons(told), told.text) == (["cursor_expired"], "Yes.")
    assert [cursor is None for cursor in scene.remote.cursors] == [True, False, True]
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    assert [one["recovered"] for one in await talk.notices()] == [True]
    lines = [record.getMessage() for record in caplog.records if "[continuation]" in record.getMessage()]
    assert [line.split()[0] for line in lines] == ["[continuation][valid]", "[continuation][degrade]"]
    await _next_is_continued(scene, talk)


@pytest.mark.parametrize("form", ["usual", "terse", "404"])
@only_openai
async def test_every_wording_of_a_lost_cursor_is_understood(scene: CursorStage, form: str) -> None:
    server = scene.remote.server
    assert isinstance(server, ResponsesServer)
    server.switches.cursor_errors = "terse" if form == "terse" else "usual"
    server.switches.cursor_status = 404 if form == "404" else 400
    talk = await scene.told()
    scene.remote.lose()

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert len(_reasons(told)) == 1
    assert _reasons(told)[0] in ("cursor_expired", "cursor_invalid")
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    await _next_is_continued(scene, talk)


@keeps_long
async def test_a_cursor_that_the_provider_cannot_read_is_replayed_once(scene: CursorStage) -> None:
    talk = await scene.told()
    envelope = json.loads(await talk.envelope() or "")
    scene.poison("UPDATE chats SET last_provider_state = ?", json.dumps({**envelope, "cursor": "!not-an-id"}))
    talk.host.forget(talk.chat_id)

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["cursor_invalid"]
    assert scene.remote.cursors[1:] == ["!not-an-id", None]
    await _next_is_continued(scene, talk)
    scene.remote.forgive_malformed_cursor()


@keeps_long
async def test_a_loss_after_text_has_come_is_replayed_and_the_text_is_not_kept(scene: CursorStage) -> None:
    talk = await scene.told()
    openai = scene.remote.name == "openai"
    lost = stream_error(
        "Previous response with id 'resp_0' not found." if openai else "Interaction v1_lost was not found.",
        code="previous_response_not_found" if openai else "not_found",
    )
    scene.remote.server.reply(reply("Thr", lost))

    told = (await say_all(talk, scene.remote, ("Pots?", "Four.")))[0]

    assert _reasons(told) == ["cursor_expired"]
    assert (await talk.texts())[-1] == "assistant: Four."
    assert scene.remote.sent == [*EVERYTHING, "user: Pots?"]
    await _next_is_continued(scene, talk)


class LosingTill(Till):
    """A tool in whose time the provider loses the chat."""

    def __init__(self) -> None:
        super().__init__()
        self.scene: CursorStage | None = None

    async def stock(self, article: str) -> int:
        """How many are left."""
        if self.scene is not None:
            self.scene.remote.lose()
        return await super().stock(article)


@keeps_long
async def test_a_loss_with_results_in_flight_ends_the_turn_and_keeps_them(scene: CursorStage) -> None:
    till = LosingTill()
    talk = await scene.told(till.stock)
    till.scene = scene
    scene.remote.server.call(("stock", {"article": "pot"}))

    told = await talk.say("How many pots?")

    assert told.failed.code == "TOOL_RESULT_CURSOR_LOSS"
    assert _reasons(told) == []
    assert await talk.envelope() is None
    assert [one.message.role for one in await talk.messages()][-2:] == ["assistant", "tool"]
    assert len(scene.remote.server.requests) == 3
    till.scene = None
    scene.remote.server.say("Three.")
    again = await talk.retry()
    assert (again.text, _reasons(again), till.sold) == ("Three.", [], ["pot"])
    assert scene.remote.sent == [*EVERYTHING, "user: How many pots?", "call: stock", "result: 3"]
    await _next_is_continued(scene, talk)


@keeps_long
async def test_after_a_loss_in_the_loop_a_new_turn_sends_the_results_too(scene: CursorStage) -> None:
    till = LosingTill()
    talk = await scene.talk(till.stock)
    till.scene = scene
    scene.remote.server.call(("stock", {"article": "pot"}), ("stock", {"article": "kettle"}))
    assert (await talk.say("How many?")).failed.code == "TOOL_RESULT_CURSOR_LOSS"
    till.scene = None

    told = (await say_all(talk, scene.remote, ("Well?", "Ten.")))[0]

    assert _reasons(told) == []
    assert scene.remote.sent == [
        *["user: How many?", "call: stock", "call: stock", "result: 3", "result: 7", "user: Well?"]
    ]
    assert till.sold == ["pot", "kettle"]
    await _next_is_continued(scene, talk)


@keeps_long
async def test_a_second_loss_in_one_turn_ends_it(scene: CursorStage) -> None:
    till = LosingTill()
    talk = await scene.told(till.stock)
    scene.remote.lose()
    till.scene = scene
    scene.remote.server.call(("stock", {"article": "pot"}))

    told = await talk.say("How many pots?")

    assert told.failed.code == "TOOL_RESULT_CURSOR_LOSS"
    assert _reasons(told) == ["cursor_expired"]
    assert [one["recovered"] for one in await talk.notices()] == [False]
    assert await talk.envelope() is None
    assert len(scene.remote.server.requests) == 4
    till.scene = None
    scene.remote.server.say("Three.")
    assert _reasons(await talk.retry()) == []
    assert till.sold == ["pot"]


async def test_a_server_that_complains_of_a_cursor_that_was_not_sent_is_not_asked_for_ever(
    scene: CursorStage,
) -> None:
    talk = await scene.told()
    scene.remote.server.refuse("cursor")
    scene.remote.server.refuse("cursor")

    told = await talk.say("Sure?")

    assert told.failed.code.startswith("PROVIDER_")
    assert len(scene.remote.server.requests) == 3
    assert await talk.envelope() is None
    scene.remote.server.say("Yes.")
    await talk.retry()
    await _next_is_continued(scene, talk)


@keeps_long
async def test_what_says_nothing_of_the_cursor_leaves_it(scene: CursorStage) -> None:
    talk = await scene.told()
    before = await talk.envelope()
    scene.remote.server.refuse("bad-request")
    told = await talk.say("Sure?")
    for kind in ("auth", "server", "quota"):
        assert told.last.kind == "turn_failed"
        assert _reasons(told) == []
        assert await talk.envelope() == before
        scene.remote.server.refuse(kind)
        told = await talk.retry()
    scene.remote.server.say("Yes.")
    assert _reasons(await talk.retry()) == []
    assert scene.remote.sent == ["user: Sure?"]


@only_openai
async def test_a_cursor_that_ends_in_an_unanswered_call_is_not_stale(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.refuse("no-tool-output")

    told = await talk.say("Sure?")

    assert told.failed.code == "PROVIDER_REQUEST_REFUSED"
    assert _reasons(told) == []
    assert len(scene.remote.server.requests) == 2


async def test_a_context_that_is_too_long_for_the_provider_clears_the_cursor(
    scene: CursorStage, caplog: pytest.LogCaptureFixture
) -> None:
    talk = await scene.told()
    scene.remote.server.refuse("context")

    with caplog.at_level(logging.INFO):
        told = await talk.say("Sure?")

    assert told.failed.code == "PROVIDER_CONTEXT_LENGTH"
    assert _reasons(told) == []
    assert await talk.envelope() is None
    scene.remote.server.say("Yes.")
    again = await talk.retry()
    assert _reasons(again) == []
    assert scene.remote.sent == [*EVERYTHING, "user: Sure?"]
    await _next_is_continued(scene, talk)


@keeps_long
async def test_a_paused_turn_whose_chat_was_lost_ends_and_keeps_the_result(scene: CursorStage) -> None:
    talk = await scene.told()
    scene.remote.server.call(("ask_user", {"question": "Which?"}))
    told = await talk.say("How many?", tools=[ASK_USER])
    scene.remote.lose()

    resumed = await talk.resume(told.turn_id, {told.paused.pending[0].call_id: "The pots."})

    assert resumed.failed.code == "TOOL_RESULT_CURSOR_LOSS"
    scene.remote.server.say("Three.")
    again = await talk.retry(tools=[ASK_USER])
    assert again.text == "Three."
    assert scene.remote.sent == [*EVERYTHING, "user: How many?", "call: ask_user", "result: The pots."]
