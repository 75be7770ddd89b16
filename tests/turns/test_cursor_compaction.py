"""Compaction at the provider: opaque, reported, used where it may be, void where what it covers was touched."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.chat_replies import ask, reply
from fakes.responses_server import compacted
from trimtab import Config
from trimtab_sdk.messages import Compaction
from turns.cursor_helpers import CursorStage, CursorTalk, Till, only_gemini, only_openai, say_all
from turns.turn_helpers import Told, words

pytestmark = pytest.mark.anyio


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


async def _compacted(scene: CursorStage, **settings: Any) -> CursorTalk:
    """A chat of two turns, whose provider compacted everything before the second answer."""
    talk = await scene.told(**settings)
    scene.remote.server.reply(reply(compacted(), "Three."))
    await talk.say("And pots?")
    return talk


async def _compactions(talk: CursorTalk) -> list[Compaction]:
    return [part for one in await talk.messages() for part in one.message.parts if isinstance(part, Compaction)]


async def _left(talk: CursorTalk) -> dict[str, str]:
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    return {one.id: one.reason for one in audit.left_out}


@only_openai
async def test_a_compaction_is_stored_with_what_it_covers_and_the_cursor_holds_on(scene: CursorStage) -> None:
    talk = await _compacted(scene)
    ids = await talk.ids()
    (compaction,) = await _compactions(talk)
    assert compaction.covers == tuple(ids[1:4])

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == []
    assert scene.remote.sent == ["user: Sure?"]
    assert scene.remote.cursors[-1] is not None
    assert await _left(talk) == dict.fromkeys(ids[1:4], "summarized")
    assert told.of("context_ready")[0]["excluded"] == 3


@only_openai
async def test_after_a_loss_the_compaction_goes_back_in_the_place_of_what_it_covers(scene: CursorStage) -> None:
    talk = await _compacted(scene)
    scene.remote.lose()

    told = await say_all(talk, scene.remote, ("Sure?", "Yes."), ("Really?", "Really."))

    assert [_reasons(one) for one in told] == [["cursor_expired"], []]
    assert scene.remote.sent_in(3) == ["compaction", "assistant: Three.", "user: Sure?"]
    assert scene.remote.sent == ["user: Really?"]


@only_openai
async def test_a_host_started_anew_goes_on_behind_a_compaction(scene: CursorStage) -> None:
    talk = await _compacted(scene)
    later = CursorTalk(await scene.host(), talk.chat_id)

    here = await talk.host.preview(talk.chat_id, "Sure?", owner="ann")
    there = await later.host.preview(talk.chat_id, "Sure?", owner="ann")
    told = (await say_all(later, scene.remote, ("Sure?", "Yes.")))[0]

    assert here.body == there.body == scene.remote.server.requests[-1].raw
    assert _reasons(told) == []


@only_openai
async def test_a_later_compaction_covers_the_earlier_one_and_all_that_stood_for(scene: CursorStage) -> None:
    talk = await _compacted(scene)
    scene.remote.server.reply(reply(compacted(), "Yes."))
    await talk.say("Sure?")

    told = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]

    assert _reasons(told) == []
    first, second = await _compactions(talk)
    assert set(first.covers) < set(second.covers)
    scene.remote.lose()
    await say_all(talk, scene.remote, ("And?", "And."))
    assert scene.remote.sent == [
        *["compaction", "assistant: Yes.", "user: Really?", "assistant: Really.", "user: And?"]
    ]


@only_openai
async def test_another_provider_gets_the_originals(scene: CursorStage) -> None:
    endpoint = {"driver": "openai", "base_url": scene.remote.server.base_url, "retries": 0}
    host = await scene.host(config=Config(providers={"openai": endpoint, "second": endpoint}))
    talk = await _compacted(scene, host=host)
    await host.update_chat(talk.chat_id, owner="ann", provider="second")

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["provider_changed"]
    everything = [
        "user: How many kettles?",
        "assistant: Seven.",
        "user: And pots?",
        "assistant: Three.",
        "user: Sure?",
    ]
    assert scene.remote.sent == everything
    await host.update_chat(talk.chat_id, owner="ann", provider="openai")
    await say_all(talk, scene.remote, ("Really?", "Really."))
    assert scene.remote.sent == [
        *["compaction", "assistant: Three.", "user: Sure?", "assistant: Yes.", "user: Really?"]
    ]


@pytest.mark.parametrize("change", ["edit", "exclude", "remove", "branch", "pin"])
@only_openai
async def test_a_change_of_what_is_covered_makes_it_void(scene: CursorStage, change: str) -> None:
    talk = await _compacted(scene)
    host, chat, ids = talk.host, talk.chat_id, await talk.ids()
    if change == "edit":
        await host.edit(chat, ids[2], "Eight.", owner="ann")
    elif change == "exclude":
        await host.exclude(chat, ids[2], owner="ann")
    elif change == "remove":
        await host.remove(chat, ids[2], owner="ann")
    elif change == "branch":
        await host.branch(chat, ids[2], owner="ann")
    else:
        await host.pin(chat, ids[2], owner="ann")

    told = await say_all(talk, scene.remote, ("Sure?", "Yes."), ("Really?", "Really."))

    assert [_reasons(one) for one in told] == [["history_changed"], []]
    answer = {"edit": ["assistant: Eight."], "exclude": [], "remove": []}.get(change, ["assistant: Seven."])
    rest = [] if change == "branch" else ["user: And pots?", "assistant: Three."]
    assert scene.remote.sent_in(2) == ["user: How many kettles?", *answer, *rest, "user: Sure?"]
    assert scene.remote.sent == ["user: Really?"]
    if change in ("edit", "exclude", "remove"):
        assert "Seven." not in scene.remote.seen()


@only_openai
async def test_a_compaction_of_what_is_pinned_leaves_no_cursor(scene: CursorStage) -> None:
    talk = await scene.told()
    await talk.host.pin(talk.chat_id, (await talk.ids())[1], owner="ann")
    scene.remote.server.reply(reply(compacted(), "Three."))

    await talk.say("And pots?")

    assert await talk.envelope() is None
    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]
    assert _reasons(told) == []
    assert scene.remote.sent == [
        *["user: How many kettles?", "assistant: Seven.", "user: And pots?", "assistant: Three.", "user: Sure?"]
    ]


@only_openai
async def test_the_provider_is_told_from_when_on_it_may_compact(scene: CursorStage) -> None:
    talk = await scene.told(context_settings={"contextLimit": 2000, "reserve": 200})
    assert scene.remote.body["context_management"] == [{"type": "compaction", "compact_threshold": 1620}]

    await talk.host.update_chat(talk.chat_id, owner="ann", context_settings={"providerCompactionEnabled": False})
    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    assert "context_management" not in scene.remote.body


@only_openai
async def test_a_long_chat_is_compacted_by_the_provider_and_stays_within_its_window(scene: CursorStage) -> None:
    talk = await scene.talk(context_settings={"contextLimit": 1500, "reserve": 0})
    told = []
    for number in range(14):
        question, answer = f"Question {number} about {words(60)}?", f"Answer {number} about {words(30, 'pots')}."
        told += await say_all(talk, scene.remote, (question, answer))

    assert await _compactions(talk)
    assert {reason for one in told for reason in _reasons(one)} <= {"context_shifted"}
    for one in told:
        assert one.completed.snapshot.estimated_input_tokens <= 1500
    assert scene.remote.sent[-1].startswith("user: Question 13")


@only_openai
async def test_a_compaction_in_a_tool_loop_does_not_disturb_the_loop(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.told(till.stock)
    scene.remote.server.reply(reply(compacted(), ask("stock", {"article": "pot"})), reply("Three."))

    told = await talk.say("And pots?")

    assert (told.text, _reasons(told), till.sold) == ("Three.", [], ["pot"])
    assert scene.remote.sent == ["result: 3"]
    after = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]
    assert _reasons(after) == []
    assert scene.remote.sent == ["user: Sure?"]
    scene.remote.lose()
    await say_all(talk, scene.remote, ("Really?", "Really."))
    assert scene.remote.sent[:4] == ["compaction", "call: stock", "result: 3", "assistant: Three."]


@only_openai
async def test_where_nothing_may_be_kept_nothing_is_compacted(scene: CursorStage) -> None:
    talk = await scene.told(host=await scene.host(config=scene.config(retention=0)))

    assert "context_management" not in scene.remote.body
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.sent == ["user: How many kettles?", "assistant: Seven.", "user: Sure?"]


@only_gemini
async def test_gemini_is_never_asked_to_compact(scene: CursorStage) -> None:
    await scene.told(context_settings={"contextLimit": 2000, "reserve": 200})

    assert "compact" not in str(scene.remote.body)
