"""Reading along a turn of the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from trimtab.turns.following import Following
from trimtab_sdk.errors import InvalidRequestError, NotFoundError
from turns.turn_helpers import ASK_USER, OWNER, Stage, joined, on_both_stores, stock

pytestmark = pytest.mark.anyio

Numbered = list[tuple[int, Mapping[str, Any]]]


async def read(following: Following) -> Numbered:
    """Everything a reader is given."""
    return [(sequence, dict(event)) async for sequence, event in following]


@on_both_stores
async def test_a_turn_runs_with_nobody_listening_and_is_read_along(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.call(("stock", {"article": "pot"}))
    stage.server.say("Three", " pots", ".")

    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    told = await read(talk.host.follow(turn_id, owner=OWNER))

    assert [sequence for sequence, _ in told] == list(range(1, len(told) + 1))
    assert told[0][1]["kind"] == "turn_started"
    assert told[-1][1]["kind"] == "turn_completed"
    assert "".join(event["text"] for _, event in told if event["kind"] == "text_delta") == "Three pots."
    stored = await talk.host.events(turn_id, owner=OWNER)
    assert [(one.sequence, one.event) for one in stored] == told
    assert await talk.audit_status() == "completed"


@on_both_stores
async def test_a_reader_that_comes_back_after_any_event_gets_exactly_the_rest(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.call(("stock", {"article": "pot"}))
    stage.server.say(*(f"{number} " for number in range(40)))
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    whole = await read(talk.host.follow(turn_id, owner=OWNER))

    for after in range(len(whole)):
        assert await read(talk.host.follow(turn_id, owner=OWNER, after=after)) == whole[after:]


async def test_text_is_told_while_it_comes_and_its_pieces_are_joined(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, *("e" * 300), "n.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    following = talk.host.follow(turn_id, owner=OWNER)
    seen: list[Any] = []
    async for _, event in following:
        seen.append(dict(event))
        if event["kind"] == "text_delta":
            gate.open()

    texts = [event["text"] for event in seen if event["kind"] == "text_delta"]
    assert texts[0] == "Sev"
    assert "".join(texts) == f"Sev{'e' * 300}n."
    assert len(texts) < 100


async def test_the_events_reach_the_store_though_nothing_more_comes(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    async for _, event in talk.host.follow(turn_id, owner=OWNER):
        if event["kind"] == "text_delta":
            break

    for _ in range(2000):
        stored = await talk.host.events(turn_id, owner=OWNER)
        if stored and stored[-1].event["kind"] == "text_delta":
            break
        await asyncio.sleep(0.001)
    gate.open()

    assert stored[-1].event == {"kind": "text_delta", "text": "Sev"}
    assert (await read(talk.host.follow(turn_id, owner=OWNER)))[-1][1]["kind"] == "turn_completed"


async def test_a_paused_turn_ends_the_reading_and_goes_on_for_who_comes_back(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.call(("ask_user", {"question": "Which?"}))
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER, tools=[ASK_USER])
    first = await read(talk.host.follow(turn_id, owner=OWNER))
    assert first[-1][1]["kind"] == "turn_paused"
    call_id = first[-1][1]["pending"][0]["callId"]
    waiting = asyncio.ensure_future(read(talk.host.follow(turn_id, owner=OWNER, after=first[-1][0])))
    stage.server.say("Three.")

    assert await talk.host.start_resume(turn_id, {call_id: "pots"}, owner=OWNER) == turn_id

    rest = await waiting
    assert rest[0][0] == first[-1][0] + 1
    assert rest[-1][1]["kind"] == "turn_completed"
    assert await read(talk.host.follow(turn_id, owner=OWNER)) == first + rest


async def test_a_pause_at_the_end_of_a_page_does_not_hide_a_later_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = await stage.talk()
    stage.server.call(("ask_user", {"question": "Which?"}))
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER, tools=[ASK_USER])
    first = await read(talk.host.follow(turn_id, owner=OWNER))
    stage.server.call(("ask_user", {"question": "Where?"}))
    await talk.host.start_resume(turn_id, {first[-1][1]["pending"][0]["callId"]: "pots"}, owner=OWNER)
    rest = await read(talk.host.follow(turn_id, owner=OWNER, after=first[-1][0]))
    assert rest[-1][1]["kind"] == "turn_paused"
    monkeypatch.setattr("trimtab.turns.tailing.PAGE", len(first))
    monkeypatch.setattr("trimtab.turns.live.PAGE", len(first))

    assert await read(talk.host.follow(turn_id, owner=OWNER)) == first + rest


async def test_who_asks_for_a_turn_and_never_reads_is_no_reader(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Three.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)

    await talk.host.follow(turn_id, owner=OWNER).check()

    assert talk.host.readers(turn_id) == 0
    assert (await read(talk.host.follow(turn_id, owner=OWNER)))[-1][1]["kind"] == "turn_completed"
    assert talk.host.readers(turn_id) == 0


async def test_a_watch_that_ends_for_a_fault_says_so_and_turns_go_on(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("no ear")

    monkeypatch.setattr("trimtab.store.sql_store.SqlStore.watch", broken)
    talk = await stage.talk()
    stage.server.say("Three.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)

    assert (await read(talk.host.follow(turn_id, owner=OWNER)))[-1][1]["kind"] == "turn_completed"
    assert "trimtab-watch has ended for a fault" in caplog.text
    assert "no ear" in caplog.text


async def test_errors_from_before_the_turn_are_raised_by_its_start(stage: Stage) -> None:
    talk = await stage.talk()
    with pytest.raises(NotFoundError):
        await talk.host.start_turn("nowhere", "How many?", owner=OWNER)
    with pytest.raises(InvalidRequestError):
        await talk.host.start_turn(talk.chat_id, "", owner=OWNER)
    with pytest.raises(NotFoundError):
        await read(talk.host.follow("nothing", owner=OWNER))
    with pytest.raises(InvalidRequestError):
        talk.host.follow("nothing", owner=OWNER, after=-1)
    assert await talk.messages() == []


async def test_a_turn_of_another_owner_cannot_be_read_along(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    with pytest.raises(NotFoundError):
        await read(talk.host.follow(turn_id, owner="bob"))
    gate.open()
    await talk.ended()
    with pytest.raises(NotFoundError):
        await read(talk.host.follow(turn_id, owner="bob"))


@on_both_stores
async def test_a_key_that_was_used_gives_its_turn_and_begins_no_other(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("head")
    stage.server.say("Seven.", before_head=(gate,))
    asking = [talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER, key="k1") for _ in range(5)]

    ids = await asyncio.gather(*asking)
    gate.open()
    await talk.ended()

    assert len(set(ids)) == 1
    other = await stage.host()
    assert await other.start_turn(talk.chat_id, "How many?", owner=OWNER, key="k1") == ids[0]
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]
    with pytest.raises(InvalidRequestError, match="another input"):
        await talk.host.start_turn(talk.chat_id, "How few?", owner=OWNER, key="k1")


async def test_a_failed_turn_is_read_to_its_end_and_tried_again(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.refuse("overloaded")
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    failed = await read(talk.host.follow(turn_id, owner=OWNER))
    assert failed[-1][1]["kind"] == "turn_failed"
    stage.server.say("Seven.")

    again = await talk.host.start_retry(talk.chat_id, owner=OWNER)

    assert (await read(talk.host.follow(again, owner=OWNER)))[-1][1]["kind"] == "turn_completed"
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]


async def test_slow_readers_lose_nothing_and_hold_nobody_up(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say(*(f"t{at} " for at in range(700)))
    turn_id = await talk.host.start_turn(talk.chat_id, "Count.", owner=OWNER)
    slow = [talk.host.follow(turn_id, owner=OWNER) for _ in range(3)]
    first = [await one.batch() for one in slow]
    await talk.ended()

    for one, begun in zip(slow, first, strict=True):
        rest = await read(one)
        events = [dict(event.event) for event in begun] + [dict(event) for _, event in rest]
        assert "".join(e["text"] for e in events if e["kind"] == "text_delta") == "".join(
            f"t{at} " for at in range(700)
        )
        assert events[-1]["kind"] == "turn_completed"
        stored = [dict(one.event) for one in await talk.host.events(turn_id, owner=OWNER)]
        assert joined(events) == joined(stored)


async def test_a_batch_is_empty_when_a_turn_is_silent(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("head")
    stage.server.say("Seven.", before_head=(gate,))
    turn_id = await talk.host.start_turn(talk.chat_id, "How many?", owner=OWNER)
    async with talk.host.follow(turn_id, owner=OWNER) as following:
        assert (await following.batch())[0].event["kind"] == "turn_started"
        await gate.reached.wait_async()
        while await following.batch(0.01):
            pass
        assert not following.is_over
        gate.open()
        kinds = []
        while events := await following.batch(5):
            kinds += [one.event["kind"] for one in events]
        assert kinds[-1] == "turn_completed"
        assert following.is_over
