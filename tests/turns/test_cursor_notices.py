"""A stored cursor that is not used is told once, in three ways, whatever the store holds."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from trimtab.continuation import SENTENCES as BY_REASON
from turns.cursor_helpers import CursorStage, CursorTalk, say_all

pytestmark = pytest.mark.anyio
HASH = "sha256-1:" + "0" * 64

SENTENCES: dict[str, str] = {str(reason): text for reason, text in BY_REASON.items()}
POISONS: dict[str, dict[str, Any]] = {
    "provider_changed": {"provider": "somebody"},
    "model_changed": {"modelName": "another"},
    "system_prompt_changed": {"systemPromptHash": HASH},
    "toolset_changed": {"toolsetHash": HASH},
    "context_shifted": {"historyHash": HASH},
    "history_changed": {"historyHash": HASH},
    "envelope_malformed": {"surplus": 1},
    "cursor_expired": {},
    "cursor_invalid": {"cursor": "?"},
}
MALFORMED = [
    *["{", "[]", "7", '""', "{}", "nul", "x" * 20_000],
    *['{"schemaVersion":2}', '{"schemaVersion":1,"schemaVersion":1}', '{"loop":{"cursor":"resp_1"}}'],
]


def test_there_is_a_case_for_every_reason() -> None:
    assert POISONS.keys() == SENTENCES.keys()


async def _poisoned(scene: CursorStage, reason: str) -> CursorTalk:
    talk = await scene.told()
    envelope = json.loads(await talk.envelope() or "")
    scene.poison("UPDATE chats SET last_provider_state = ?", json.dumps(envelope | POISONS[reason]))
    if reason == "cursor_expired":
        scene.remote.lose()
    if reason == "history_changed":
        await talk.host.pin(talk.chat_id, (await talk.ids())[1], owner="ann")
    return talk


def _as_told(scene: CursorStage, reason: str) -> str:
    """A server of threads does not tell an id that is none from one that it has lost."""
    return "cursor_expired" if reason == "cursor_invalid" and scene.remote.name == "anthropic" else reason


@pytest.mark.parametrize("reason", POISONS)
async def test_each_reason_is_told_stored_and_logged_once(
    scene: CursorStage, caplog: pytest.LogCaptureFixture, reason: str
) -> None:
    talk = await _poisoned(scene, reason)
    reason = _as_told(scene, reason)
    gate = scene.remote.server.gate("middle")
    scene.remote.server.say("Y", gate, "es.")
    caplog.set_level(logging.INFO)
    listening = asyncio.ensure_future(talk.say("Sure?"))
    await gate.reached.wait_async()
    meanwhile = await talk.notices()
    gate.open()

    told = await listening

    for kind in ("continuation_degraded", "fallback_notice"):
        assert [(one["reason"], one["message"]) for one in told.of(kind)] == [(reason, SENTENCES[reason])]
    facts = {"reason": reason, "provider": scene.remote.name, "modelName": scene.remote.model}
    assert meanwhile == [{**facts, "message": SENTENCES[reason], "recovered": False}]
    assert await talk.notices() == [{**meanwhile[0], "recovered": True}]
    lines = [record.getMessage() for record in caplog.records if "][degrade]" in record.getMessage()]
    assert lines == [f"[continuation][degrade] reason={reason}"]
    assert scene.remote.sent == ["user: How many kettles?", "assistant: Seven.", "user: Sure?"]
    assert scene.remote.cursors[-1] is None
    again = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]
    assert again.of("continuation_degraded") == []
    assert scene.remote.sent == ["user: Really?"]
    if reason == "cursor_invalid":
        scene.remote.forgive_malformed_cursor()


@pytest.mark.parametrize("reason", ["model_changed", "history_changed", "cursor_expired", "cursor_invalid"])
async def test_the_notice_of_a_turn_that_fails_stays_as_it_is(scene: CursorStage, reason: str) -> None:
    talk = await _poisoned(scene, reason)
    reason = _as_told(scene, reason)
    scene.remote.server.say("Y", finish=None, done=False)

    told = await talk.say("Sure?")

    assert told.failed.code == "PROVIDER_STREAM_BROKEN"
    assert [(one["reason"], one["recovered"]) for one in await talk.notices()] == [(reason, False)]
    scene.remote.server.say("Yes.")
    again = await talk.retry()
    told_again = [one["reason"] for one in again.of("continuation_degraded")]
    assert told_again == ([] if reason in ("cursor_expired", "cursor_invalid") else [reason])
    assert scene.remote.sent == ["user: How many kettles?", "assistant: Seven.", "user: Sure?"]
    if reason == "cursor_invalid":
        scene.remote.forgive_malformed_cursor()


async def test_whatever_is_stored_is_read_as_no_envelope(scene: CursorStage) -> None:
    talk = await scene.told()
    for number, stored in enumerate(MALFORMED):
        scene.poison("UPDATE chats SET last_provider_state = ?", stored)

        told = (await say_all(talk, scene.remote, (f"Question {number}?", f"Answer {number}.")))[0]

        assert [one["reason"] for one in told.of("continuation_degraded")] == ["envelope_malformed"], stored
        assert (await talk.decision())["decision"] == "degrade_to_replay"
    assert [cursor for cursor in scene.remote.cursors if cursor] == []


@pytest.mark.parametrize("stored", ["null", None])
async def test_nothing_that_is_stored_is_a_plain_replay(scene: CursorStage, stored: str | None) -> None:
    talk = await scene.told()
    scene.poison("UPDATE chats SET last_provider_state = ?", stored)

    told = (await say_all(talk, scene.remote, ("Sure?", "Yes.")))[0]

    assert told.of("continuation_degraded") == []
    assert await talk.decision() == {"decision": "start_replay", "cause": "nothing_stored"}


async def test_a_notice_is_never_sent_nor_counted(scene: CursorStage) -> None:
    talk = await _poisoned(scene, "cursor_expired")
    await say_all(talk, scene.remote, ("Sure?", "Yes."))
    scene.remote.lose()
    told = (await say_all(talk, scene.remote, ("Really?", "Really.")))[0]

    assert len(await talk.notices()) == 2
    assert "sent again" not in scene.remote.seen()
    assert told.of("context_ready")[-1]["kept"] == 6
    audit = await talk.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert len(audit.blocks) == 6


async def test_no_log_line_and_no_event_holds_a_cursor(
    scene: CursorStage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    talk = await scene.told()
    told = await say_all(talk, scene.remote, ("Sure?", "Yes."))
    scene.remote.lose()
    told += await say_all(talk, scene.remote, ("Really?", "Really."))
    envelope = await talk.envelope()
    assert envelope is not None
    cursors = {cursor for cursor in scene.remote.cursors if cursor} | {json.loads(envelope)["cursor"]}

    audit = await talk.host.audit(talk.chat_id, owner="ann")
    log = [record.getMessage() for record in caplog.records if record.name.startswith("trimtab")]
    shown = f"{log} {[event.to_dict() for one in told for event in one.events]} {audit!r} {await talk.chat()!r}"
    assert len(cursors) == 3
    assert [cursor for cursor in cursors if cursor in shown] == []
