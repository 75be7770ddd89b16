"""What was changed since the last turn never comes back through a cursor; what changes nothing keeps it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import TypeAlias

import pytest

from fakes.chat_replies import ask, reply, thought
from trimtab_sdk.messages import Reasoning, plain_text
from turns.cursor_helpers import CursorStage, CursorTalk, Till, keeps_long, say_all
from turns.turn_helpers import Told, listen_until, words

pytestmark = pytest.mark.anyio

Change: TypeAlias = Callable[[CursorStage, CursorTalk], Awaitable[object]]


async def _model(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.update_chat(talk.chat_id, owner="ann", model=scene.remote.other_model)


async def _system(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.set_system(talk.chat_id, "Be kind.", owner="ann")


async def _tools(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.update_chat(talk.chat_id, owner="ann", tools=())


async def _edit(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.edit(talk.chat_id, (await talk.ids())[2], "Eight.", owner="ann")


async def _remove(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.remove(talk.chat_id, *(await talk.ids())[1:3], owner="ann")


async def _branch(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.branch(talk.chat_id, (await talk.ids())[2], owner="ann")


async def _exclude(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.exclude(talk.chat_id, *(await talk.ids())[1:3], owner="ann")


async def _exclude_one(scene: CursorStage, talk: CursorTalk) -> None:
    await talk.host.exclude(talk.chat_id, (await talk.ids())[1], owner="ann")


CHANGES: dict[str, tuple[Change, str, list[str]]] = {
    "model": (_model, "model_changed", ["How many kettles?", "Seven.", "Pots?", "Three."]),
    "system": (_system, "system_prompt_changed", ["How many kettles?", "Seven.", "Pots?", "Three."]),
    "tools": (_tools, "toolset_changed", ["How many kettles?", "Seven.", "Pots?", "Three."]),
    "edit": (_edit, "history_changed", ["How many kettles?", "Eight.", "Pots?", "Three."]),
    "remove": (_remove, "history_changed", ["Pots?", "Three."]),
    "branch": (_branch, "history_changed", ["How many kettles?", "Seven."]),
    "exclude": (_exclude, "history_changed", ["Pots?", "Three."]),
    "exclude one": (_exclude_one, "history_changed", ["Seven.", "Pots?", "Three."]),
}


async def _told_twice(scene: CursorStage) -> CursorTalk:
    talk = await scene.told(Till().stock)
    await say_all(talk, scene.remote, ("Pots?", "Three."))
    return talk


def _reasons(told: Told) -> list[str]:
    return [one["reason"] for one in told.of("continuation_degraded")]


@pytest.mark.parametrize("what", CHANGES)
async def test_after_a_change_everything_is_sent_once_as_it_is_now(scene: CursorStage, what: str) -> None:
    change, reason, left = CHANGES[what]
    if what == "exclude one" and scene.remote.name == "anthropic":
        left = left[1:]  # there the user has to begin
    talk = await _told_twice(scene)
    await change(scene, talk)

    told = await say_all(talk, scene.remote, ("Sure?", "Yes."), ("Really?", "Really."))

    assert [_reasons(one) for one in told] == [[reason], []]
    replayed = [text.partition(": ")[2] for text in scene.remote.sent_in(2)]
    assert replayed == [*left, "Sure?"]
    assert (scene.remote.cursors[2], scene.remote.sent) == (None, ["user: Really?"])
    gone = {"How many kettles?", "Seven.", "Pots?", "Three."} - set(left)
    assert all(text not in scene.remote.seen(number) for text in gone for number in (3, 4))


async def test_what_was_taken_in_again_is_sent_again(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    ids = (await talk.ids())[1:3]
    await talk.host.exclude(talk.chat_id, *ids, owner="ann")
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    await talk.host.exclude(talk.chat_id, *ids, owner="ann", excluded=False)

    told = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]

    assert _reasons(told) == ["history_changed"]
    assert scene.remote.sent[:2] == ["user: How many kettles?", "assistant: Seven."]


async def test_changes_that_were_taken_back_keep_the_cursor(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    ids = await talk.ids()
    await talk.host.exclude(talk.chat_id, *ids[1:3], owner="ann")
    await talk.host.exclude(talk.chat_id, *ids[1:3], owner="ann", excluded=False)
    await talk.host.branch(talk.chat_id, ids[2], owner="ann")
    await talk.host.branch(talk.chat_id, ids[-1], owner="ann")
    await talk.host.update_chat(talk.chat_id, owner="ann", model=scene.remote.other_model)
    await talk.host.update_chat(talk.chat_id, owner="ann", model=scene.remote.model)

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == []
    assert scene.remote.sent == ["user: Sure?"]


async def test_a_pin_that_changes_nothing_keeps_the_cursor(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    ids = await talk.ids()
    await talk.host.pin(talk.chat_id, ids[1], owner="ann")

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]
    await talk.host.pin(talk.chat_id, ids[1], owner="ann", pinned=False)
    told_again = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]

    assert [*_reasons(told), *_reasons(told_again)] == []
    assert scene.remote.sent == ["user: Really?"]


async def test_an_edit_of_a_call_or_its_result_is_a_change(scene: CursorStage) -> None:
    till = Till()
    talk = await scene.talk(till.stock)
    scene.remote.server.call(("stock", {"article": "pot"}))
    await say_all(talk, scene.remote, ("Pots?", "Three."))
    call = next(one for one in await talk.messages() if one.message.role == "tool")
    await talk.host.exclude(talk.chat_id, call.message.id, owner="ann")

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert _reasons(told) == ["history_changed"]
    assert scene.remote.sent == ["user: Pots?", "assistant: Three.", "user: Sure?"]
    assert scene.remote.reasoning_in(-1) == []
    assert till.sold == ["pot"]


async def test_what_leaves_for_want_of_room_leaves_the_provider_too(scene: CursorStage) -> None:
    settings = {"contextLimit": 700, "reserve": 0, "providerCompactionEnabled": False}
    talk = await scene.talk(context_settings=settings)
    reasons: list[list[str]] = []
    for number in range(12):
        question = f"Question {number} about {words(40)}?"
        told = (await say_all(talk, scene.remote, (question, f"Answer {number} about {words(20, 'pots')}.")))[0]
        reasons.append(_reasons(told))
        audit = await talk.host.audit(talk.chat_id, owner="ann")
        assert audit is not None
        gone = {one.id for one in audit.left_out}
        said = [plain_text(one.message) for one in await talk.messages() if one.message.id in gone]
        assert [text for text in said if text.partition(" about")[0] + " about" in scene.remote.seen()] == []
        assert audit.recount <= 700

    shifts = [number for number, told in enumerate(reasons) if told]
    assert {reason for told in reasons for reason in told} == {"context_shifted"}
    assert shifts
    assert all(later - earlier > 1 for earlier, later in pairwise(shifts))
    assert [number for number, cursor in enumerate(scene.remote.cursors) if cursor is None] == [0, *shifts]


async def test_a_failed_turn_does_not_hide_that_somebody_changed_the_chat(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    await _edit(scene, talk)
    scene.remote.server.refuse("server")
    failed = await talk.say("Pans?")
    assert failed.failed.code == "PROVIDER_FAILED"
    scene.remote.server.say("Two.")

    told = await talk.retry()

    assert _reasons(failed) == _reasons(told) == ["history_changed"]
    assert [one["recovered"] for one in await talk.notices()] == [False, True]
    assert "Seven." not in scene.remote.seen()


@keeps_long
async def test_a_cancelled_or_broken_turn_does_not_hide_that_somebody_changed_the_chat(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    await _edit(scene, talk)
    scene.remote.server.say("Tw", scene.remote.server.gate("middle"), "o.")
    await listen_until(talk.turn("Pans?"), "text_delta")
    await talk.ended()
    scene.remote.server.call(("stock", {"article": "lid"}), text="Looking.")
    scene.remote.server.refuse("server")
    told = await talk.say("Lids?")

    last = (await say_all(talk, scene.remote, ("Well?", "None.")))[0]

    assert _reasons(told) == _reasons(last) == ["history_changed"]
    assert [one["recovered"] for one in await talk.notices()] == [False, False, True]


async def _think(scene: CursorStage, talk: CursorTalk, number: int) -> Told:
    call = ask("stock", {"article": "pot"})
    scene.remote.server.reply(reply(thought(f"Hm {number}."), call), reply(thought("So."), f"Answer {number}."))
    return await talk.say(f"Question {number}?")


@pytest.mark.parametrize("change", [_exclude, _exclude_one, _remove, _edit])
async def test_reasoning_after_a_change_does_not_break_the_cursor(scene: CursorStage, change: Change) -> None:
    talk = await _told_twice(scene)
    await change(scene, talk)

    told = [await _think(scene, talk, number) for number in range(3)]

    assert [_reasons(one) for one in told] == [["history_changed"], [], []]
    assert [cursor is None for cursor in scene.remote.cursors] == [True, False, True, *[False] * 5]
    assert scene.remote.sent == ["result: 3"]
    later = CursorTalk(await scene.host(Till().stock), talk.chat_id)
    assert _reasons(await _think(scene, later, 3)) == []


async def test_reasoning_that_is_excluded_leaves_with_its_call_and_is_gone_at_the_provider_too(
    scene: CursorStage,
) -> None:
    talk = await _told_twice(scene)
    await _exclude(scene, talk)
    await _think(scene, talk, 0)
    reasoning = [one.message.id for one in await talk.messages() if isinstance(one.message.parts[0], Reasoning)]
    await talk.host.exclude(talk.chat_id, reasoning[0], owner="ann")

    told = await _think(scene, talk, 1)

    assert _reasons(told) == ["history_changed"]
    assert "Hm 0." not in scene.remote.seen()
