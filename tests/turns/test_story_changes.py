"""What a caller changes between turns, and what goes upstream then."""

from __future__ import annotations

import pytest

from trimtab_sdk.errors import NotFoundError, TurnInProgressError
from turns.turn_helpers import Stage, Talk, listen_until, on_both_stores, stock, words

pytestmark = pytest.mark.anyio


async def _told_twice(stage: Stage) -> Talk:
    talk = await stage.talk(stock, system="Be brief.")
    stage.server.say("Seven.")
    await talk.say("Kettles?")
    stage.server.say("Three.")
    await talk.say("Pots?")
    return talk


async def _ids(talk: Talk) -> list[str]:
    return [one.message.id for one in await talk.messages()]


@on_both_stores
async def test_an_edited_message_is_sent_as_it_is_now(stage: Stage) -> None:
    talk = await _told_twice(stage)
    _, question, answer, *_ = await _ids(talk)
    await talk.host.edit(talk.chat_id, question, "Teapots?", owner="ann")
    await talk.host.edit(talk.chat_id, answer, "Nine.", owner="ann")
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.sent == [
        "system: Be brief.",
        "user: Teapots?",
        "assistant: Nine.",
        "user: Pots?",
        "assistant: Three.",
        "user: Sure?",
    ]


@on_both_stores
async def test_a_branch_leaves_what_stood_behind_it_and_can_be_taken_back(stage: Stage) -> None:
    talk = await _told_twice(stage)
    before = await _ids(talk)
    await talk.host.branch(talk.chat_id, before[2], owner="ann")
    stage.server.say("Two.")
    await talk.say("Pans?")
    assert stage.sent == ["system: Be brief.", "user: Kettles?", "assistant: Seven.", "user: Pans?"]

    await talk.host.branch(talk.chat_id, before[-1], owner="ann")

    assert await _ids(talk) == before
    stage.server.say("Yes.")
    await talk.say("Sure?")
    assert stage.sent[3:] == ["user: Pots?", "assistant: Three.", "user: Sure?"]


async def test_a_removed_message_is_not_sent_any_more(stage: Stage) -> None:
    talk = await _told_twice(stage)
    ids = await _ids(talk)
    await talk.host.remove(talk.chat_id, ids[1], ids[2], owner="ann")
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.sent == ["system: Be brief.", "user: Pots?", "assistant: Three.", "user: Sure?"]


async def test_an_excluded_message_is_not_sent_until_it_is_taken_in_again(stage: Stage) -> None:
    talk = await _told_twice(stage)
    ids = await _ids(talk)
    await talk.host.exclude(talk.chat_id, *ids[1:3], owner="ann")
    stage.server.say("Yes.")
    told = await talk.say("Sure?")
    assert stage.sent == ["system: Be brief.", "user: Pots?", "assistant: Three.", "user: Sure?"]
    assert told.of("context_ready")[0]["excluded"] == 2
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert [(one.id, one.reason) for one in audit.left_out] == [(name, "manual") for name in ids[1:3]]

    await talk.host.exclude(talk.chat_id, *ids[1:3], owner="ann", excluded=False)
    stage.server.say("Yes.")
    await talk.say("Really?")

    assert stage.sent[1:3] == ["user: Kettles?", "assistant: Seven."]


async def test_an_excluded_call_leaves_with_its_result(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.call(("stock", {"article": "pot"}))
    stage.server.say("Three.")
    await talk.say("Pots?")
    await talk.host.exclude(talk.chat_id, (await _ids(talk))[1], owner="ann")
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.sent == ["user: Pots?", "assistant: Three.", "user: Sure?"]


async def test_a_pinned_message_stays_in_a_window_that_is_too_small_for_all(stage: Stage) -> None:
    talk = await stage.talk(context_settings={"contextLimit": 400, "reserve": 0})
    for number in range(3):
        stage.server.say(f"Answer {number}.")
        await talk.say(f"Question {number}: {words(90)}")
    await talk.host.pin(talk.chat_id, (await _ids(talk))[0], owner="ann")
    for number in range(3, 6):
        stage.server.say(f"Answer {number}.")
        await talk.say(f"Question {number}: {words(90)}")

    asked = [text[6:16] for text in stage.sent if text.startswith("user")]
    assert asked[0] == "Question 0"
    assert asked[-1] == "Question 5"
    assert "Question 1" not in asked


async def test_another_model_and_provider_get_the_same_conversation(stage: Stage) -> None:
    talk = await _told_twice(stage)
    await talk.host.update_chat(talk.chat_id, owner="ann", provider="other", model="gpt-4.1")
    stage.server.say("Yes.")

    told = await talk.say("Sure?")

    assert stage.last_request.body["model"] == "gpt-4.1"
    assert stage.sent[1:-1] == ["user: Kettles?", "assistant: Seven.", "user: Pots?", "assistant: Three."]
    assert "continuation_degraded" not in told.kinds
    await talk.host.update_chat(talk.chat_id, owner="ann", provider="dry")
    assert "3 assistant, 1 system, 4 user" in (await talk.say("Again?")).text


async def test_the_system_text_is_changed_in_its_place(stage: Stage) -> None:
    talk = await _told_twice(stage)
    await talk.host.set_system(talk.chat_id, "Be kind.", owner="ann")
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.sent[:2] == ["system: Be kind.", "user: Kettles?"]
    with pytest.raises(NotFoundError):
        await talk.host.set_system((await stage.talk()).chat_id, "Be kind.", owner="ann")


async def test_nothing_is_changed_while_a_turn_runs(stage: Stage) -> None:
    talk = await _told_twice(stage)
    ids = await _ids(talk)
    gate = stage.server.gate("middle")
    stage.server.say("Y", gate, "es.")
    listening = aiter(talk.turn("Sure?"))
    await anext(listening)
    await gate.reached.wait_async()

    host, chat = talk.host, talk.chat_id
    for change in (
        host.edit(chat, ids[1], "No.", owner="ann"),
        host.pin(chat, ids[1], owner="ann"),
        host.exclude(chat, ids[1], owner="ann"),
        host.remove(chat, ids[1], owner="ann"),
        host.branch(chat, ids[1], owner="ann"),
        host.set_system(chat, "No.", owner="ann"),
    ):
        with pytest.raises(TurnInProgressError):
            await change
    gate.open()
    assert [event.kind async for event in listening][-1] == "turn_completed"
    assert (await _ids(talk))[:-2] == ids


async def test_settings_changed_while_a_turn_runs_hold_for_the_next_one(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    listening = aiter(talk.turn("Kettles?"))
    await anext(listening)
    await gate.reached.wait_async()
    await talk.host.update_chat(talk.chat_id, owner="ann", model="gpt-4.1", title="Kettles")
    gate.open()
    assert [event.kind async for event in listening][-1] == "turn_completed"
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert [request.body["model"] for request in stage.server.requests] == ["gpt-4o", "gpt-4.1"]
    assert (await talk.chat()).title == "Kettles"


async def test_a_cut_answer_can_be_edited_and_is_sent_as_it_is_then(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"))
    await listen_until(talk.turn("Kettles?"), "text_delta")
    await talk.ended()
    await talk.host.edit(talk.chat_id, (await _ids(talk))[-1], "Seven.", owner="ann")
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.sent == ["user: Kettles?", "assistant: Seven.", "user: Sure?"]
