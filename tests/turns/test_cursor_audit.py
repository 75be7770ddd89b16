"""What the audit, the snapshot and the preview say of a turn that carries on by a cursor."""

from __future__ import annotations

import sqlite3

import pytest

from turns.cursor_helpers import CursorStage, CursorTalk, Till, say_all
from turns.turn_helpers import words

pytestmark = pytest.mark.anyio


def _dump(place: str) -> list[str]:
    connection = sqlite3.connect(place)
    rows = list(connection.iterdump())
    connection.close()
    return rows


async def _told_twice(scene: CursorStage) -> CursorTalk:
    till = Till()
    talk = await scene.told(till.stock)
    scene.remote.server.call(("stock", {"article": "pot"}))
    scene.remote.server.say("Three.")
    await talk.say("And pots?")
    return talk


async def test_the_audit_tells_what_the_provider_holds_and_what_was_sent(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    before = await talk.ids()

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    sent = (await talk.ids())[len(before)]
    assert audit.continuation == {"decision": "continue_with_cursor", "held": len(before) - 1, "sent": [sent]}
    assert [block.id for block in audit.blocks] == [*before, sent]
    assert [block.id for block in audit.blocks if block.behind_cursor] == before[1:]
    assert audit.recount == sum(block.tokens for block in audit.blocks) + audit.overhead
    resolved = await talk.host.resolve_audit(talk.chat_id, owner="ann")
    assert resolved is not None
    assert resolved.matches is True
    assert "How many kettles?" not in str(resolved.messages)


async def test_the_audit_of_a_loop_speaks_of_its_last_call(scene: CursorStage) -> None:
    talk = await _told_twice(scene)

    audit = await talk.host.audit(talk.chat_id, owner="ann")

    assert audit is not None
    assert [call.finish for call in audit.calls] == ["tool-calls", "stop"]
    assert audit.continuation["decision"] == "continue_with_cursor"
    assert [block.role for block in audit.blocks if not block.behind_cursor] == ["system", "tool"]


async def test_the_audit_of_a_replay_has_its_reason_and_nothing_behind_a_cursor(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    scene.remote.lose()

    await say_all(talk, scene.remote, ("Sure?", "Yes."))

    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert audit.continuation == {"decision": "degrade_to_replay", "reason": "cursor_expired"}
    assert [block.behind_cursor for block in audit.blocks] == [False] * len(audit.blocks)
    assert [call.error_code for call in audit.calls] == ["PROVIDER_CURSOR_LOST", ""]


async def test_the_snapshot_counts_what_the_provider_holds(scene: CursorStage) -> None:
    talk = await scene.talk()
    told = await say_all(talk, scene.remote, (f"Read this: {words(500)}", "I have."), ("Sure?", "Yes."))

    first, second = (one.completed.snapshot for one in told)
    assert second.estimated_input_tokens > first.estimated_input_tokens > 500
    assert second.reported_input_tokens is not None
    assert second.reported_input_tokens >= scene.remote.server.view(2).tokens > 100
    assert len(scene.remote.server.requests[-1].raw) < 1500


async def test_a_preview_is_what_is_sent_with_the_cursor_and_writes_nothing(scene: CursorStage) -> None:
    talk = await _told_twice(scene)
    before = _dump(scene.place)

    preview = await talk.host.preview(talk.chat_id, "Sure?", owner="ann")

    assert _dump(scene.place) == before
    requests = len(scene.remote.server.requests)
    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]
    assert len(scene.remote.server.requests) == requests + 1
    assert scene.remote.server.requests[-1].raw == preview.body
    assert scene.remote.cursors[-1] is not None
    assert told.of("context_ready")[0]["snapshot"] == preview.snapshot.to_dict()
    account = preview.to_dict()
    assert account["continuation"] == await talk.decision() | {"sent": account["continuation"]["sent"]}  # type: ignore[index]


@pytest.mark.parametrize("change", ["edit", "model", "expired"])
async def test_a_preview_of_a_replay_says_so_and_stores_no_notice(scene: CursorStage, change: str) -> None:
    talk = await _told_twice(scene)
    if change == "edit":
        await talk.host.edit(talk.chat_id, (await talk.ids())[1], "How many?", owner="ann")
    elif change == "model":
        await talk.host.update_chat(talk.chat_id, owner="ann", model=scene.remote.other_model)
    else:
        scene.now += 60 * 86_400.0
    before = _dump(scene.place)

    preview = await talk.host.preview(talk.chat_id, "Sure?", owner="ann")

    assert _dump(scene.place) == before
    reason = {"edit": "history_changed", "model": "model_changed", "expired": "cursor_expired"}[change]
    assert preview.to_dict()["continuation"] == {"decision": "degrade_to_replay", "reason": reason}
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    assert scene.remote.server.requests[-1].raw == preview.body
