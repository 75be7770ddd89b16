"""Turns that somebody ends, or leaves alone."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

from fakes.chat_server import ChatServer, ask, reply
from trimtab.turns.events import TurnEvent
from trimtab_sdk import TextDelta, ToolSpec
from turns.turn_helpers import (
    ASK_USER,
    Stage,
    Talk,
    Told,
    check_turn,
    listen,
    listen_until,
    on_both_stores,
    stock,
    waiting_tool,
)

pytestmark = pytest.mark.anyio


async def _goes_on(stage: Stage, talk: Talk) -> None:
    stage.server.say("Back again.")
    assert (await talk.say("And now?")).text == "Back again."
    assert await talk.audit_status() == "completed"
    await stage.server.wait_until_async(lambda: stage.server.open_connections <= 1)


async def test_a_turn_is_cancelled_before_the_head_of_its_answer(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("head")
    stage.server.say("Never", before_head=(gate,))
    listening = asyncio.ensure_future(talk.say("How many?"))
    await gate.reached.wait_async()

    turn = await talk.host.cancel((await talk.last_turn()).id, owner="ann")

    told = await listening
    assert (turn.state, told.kinds[-1], told.text) == ("cancelled", "turn_cancelled", "")
    assert await talk.texts() == ["user: How many?"]
    await _goes_on(stage, talk)
    assert stage.sent == ["user: How many?", "user: And now?"]


@on_both_stores
async def test_the_text_that_had_come_of_a_cancelled_turn_is_stored_and_sent_again(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    stream = talk.turn("How many?")
    listening = aiter(stream)
    while not isinstance(await anext(listening), TextDelta):
        pass

    turn = await talk.host.cancel(stream.turn_id, owner="ann")

    assert turn.state == "cancelled"
    assert [event.kind async for event in listening] == ["turn_cancelled"]
    await stage.server.closed_early.wait_async()
    answer = (await talk.messages())[-1]
    assert (answer.status, await talk.texts()) == ("incomplete", ["user: How many?", "assistant: Sev"])
    await _goes_on(stage, talk)
    assert stage.sent == ["user: How many?", "assistant: Sev", "user: And now?"]


async def test_a_cancelled_turn_is_tried_again_without_what_had_come(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"), "en.")
    await listen_until(talk.turn("How many?"), "text_delta")
    await talk.ended()
    stage.server.say("Seven.")

    told = await talk.retry()

    assert stage.sent == ["user: How many?"]
    assert await talk.texts() == ["user: How many?", "assistant: Seven."]
    assert told.completed.finish == "stop"


async def test_a_turn_is_cancelled_while_its_tools_run(stage: Stage) -> None:
    waiting, begun, ended = waiting_tool()
    talk = await stage.talk(waiting, stock)
    stage.server.call(("wait", {}), ("stock", {"article": "pot"}))
    listening = asyncio.ensure_future(talk.say("How many?"))
    await begun.wait()

    await talk.host.cancel((await talk.last_turn()).id, owner="ann")

    assert ended.is_set()
    assert (await listening).kinds[-1] == "turn_cancelled"
    await _goes_on(stage, talk)
    results = [text for text in stage.sent if text.startswith("tool")]
    assert len(results) == 2
    assert all("interrupted" in text for text in results)


@on_both_stores
async def test_another_host_cancels_a_turn_through_the_store(stage: Stage) -> None:
    talk = await stage.talk(host=await stage.host(lease_seconds=0.06))
    other = await stage.host()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    listening = asyncio.ensure_future(talk.say("How many?"))
    await gate.reached.wait_async()

    asked = await other.cancel((await talk.last_turn()).id, owner="ann")

    assert asked.cancel_requested
    assert (await listening).kinds[-1] == "turn_cancelled"
    await _goes_on(stage, Talk(other, talk.chat_id))
    assert stage.sent == ["user: How many?", "assistant: Sev", "user: And now?"]


async def test_cancelling_twice_and_after_the_end_changes_nothing_more(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("head")
    stage.server.say("Never", before_head=(gate,))
    listening = asyncio.ensure_future(talk.say("How many?"))
    await gate.reached.wait_async()
    turn_id = (await talk.last_turn()).id

    both = await asyncio.gather(*(talk.host.cancel(turn_id, owner="ann") for _ in range(2)))
    third = await talk.host.cancel(turn_id, owner="ann")

    assert [turn.state for turn in (*both, third)] == ["cancelled"] * 3
    assert (await listening).kinds.count("turn_cancelled") == 1
    stage.server.say("Seven.")
    done = await talk.say("And now?")
    assert (await talk.host.cancel(done.turn_id, owner="ann")).state == "completed"
    assert await talk.audit_status() == "completed"


async def test_a_stream_that_is_cancelled_tells_how_its_turn_ended(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"), "en.")
    stream = talk.turn("How many?")
    kinds = []
    async for event in stream:
        kinds.append(event.kind)
        if event.kind == "text_delta":
            stream.cancel()

    assert kinds[-1] == "turn_cancelled"
    await _goes_on(stage, talk)


@pytest.mark.parametrize("kind", ["turn_started", "context_ready", "text_delta"])
async def test_who_leaves_the_loop_ends_the_turn(
    stage: Stage, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"), "en.")

    with caplog.at_level(logging.WARNING):
        await listen_until(talk.turn("How many?"), kind)
        turn = await talk.ended()

    assert turn.state == "cancelled"
    assert caplog.records == []
    await stage.server.wait_until_async(lambda: stage.server.open_connections == 0)
    assert await talk.audit_status() == "cancelled"
    expected = ["user: How many?", "assistant: Sev"] if kind == "text_delta" else ["user: How many?"]
    assert await talk.texts() == expected


async def test_a_stream_that_nobody_holds_any_more_ends_its_turn(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"), "en.")
    listening = aiter(talk.turn("How many?"))
    while (await anext(listening)).kind != "text_delta":
        pass

    del listening
    gc.collect()

    assert (await talk.ended()).state == "cancelled"
    await stage.server.closed_early.wait_async()
    await _goes_on(stage, talk)


async def test_a_listener_whose_task_is_cancelled_ends_the_turn(stage: Stage) -> None:
    talk = await stage.talk()
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    listening = asyncio.ensure_future(listen(talk.turn("How many?")))
    await gate.reached.wait_async()

    listening.cancel()

    with pytest.raises(asyncio.CancelledError):
        await listening
    assert (await talk.ended()).state == "cancelled"
    await stage.server.closed_early.wait_async()
    await _goes_on(stage, talk)


async def test_a_stream_that_is_closed_waits_until_its_turn_has_ended(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"), "en.")

    async with talk.turn("How many?") as stream:
        await listen_until(stream, "text_delta")

    assert (await talk.last_turn()).state == "cancelled"
    await _goes_on(stage, talk)


async def test_a_stream_that_nobody_listens_to_begins_no_turn(stage: Stage) -> None:
    talk = await stage.talk()
    stream = talk.turn("How many?")

    await stream.aclose()

    assert await talk.host.last_turn(talk.chat_id, owner="ann") is None
    assert await talk.messages() == []


async def test_a_host_that_closes_ends_its_turns(stage: Stage) -> None:
    host = stage.closed_host()
    await host.open()
    talk = await stage.talk(host=host)
    stage.server.say("Sev", stage.server.gate("middle"), "en.")
    listening = aiter(talk.turn("How many?"))
    while (await anext(listening)).kind != "text_delta":
        pass

    await host.close()

    later = Talk(await stage.host(), talk.chat_id)
    assert (await later.last_turn()).state == "cancelled"
    assert await later.texts() == ["user: How many?", "assistant: Sev"]
    await _goes_on(stage, later)


async def test_a_chat_is_deleted_while_its_turn_runs(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Sev", stage.server.gate("middle"), "en.")
    listening = aiter(talk.turn("How many?"))
    while (await anext(listening)).kind != "text_delta":
        pass

    await talk.host.delete_chat(talk.chat_id, owner="ann")

    assert [event.kind async for event in listening][-1] == "turn_cancelled"
    assert await talk.host.chats(owner="ann") == []
    await stage.server.closed_early.wait_async()


async def test_a_turn_cancelled_while_it_waits_is_tried_again_with_what_its_tools_did(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.call(("ask_user", {}), ("stock", {"article": "pot"}))
    told = await talk.say("How many?", tools=[ASK_USER])
    await talk.host.cancel(told.turn_id, owner="ann")
    stage.server.say("Three.")

    await talk.retry(tools=[ASK_USER])

    assert [message["role"] for message in stage.last_request.messages] == ["user", "assistant", "tool", "tool"]
    assert (await talk.texts())[0::4] == ["user: How many?", "assistant: Three."]


def _asks_for_pots(body: dict[str, Any]) -> Any:
    """Ask a tool of the host after what a user says, and answer after its result."""
    if body["messages"][-1]["role"] == "tool":
        return reply("Three", " pots.")
    return reply(ask("stock", {"article": "pot"}))


@pytest.mark.parametrize("paused", [False, True])
async def test_a_turn_cancelled_with_any_of_its_events_ends_once_and_the_next_one_works(
    place: str, paused: bool
) -> None:
    tools, own = ([ToolSpec("stock")], []) if paused else ([], [stock])
    with ChatServer(_asks_for_pots) as server:
        async with Stage(place, server) as stage:
            talk = await stage.talk(*own)
            for moment in range(14):
                stream = talk.turn("Pots?", tools=tools)
                events: list[TurnEvent] = []
                async for event in stream:
                    if len(events) == moment:
                        stream.cancel()
                    events.append(event)
                await check_turn(talk, Told(tuple(events)))
                turn = await talk.host.cancel(stream.turn_id, owner="ann")
                assert turn.state in ("cancelled", "completed")
            await _goes_on(stage, talk)
        assert server.faults == []


async def test_a_turn_cancelled_at_any_moment_ends_once(stage: Stage) -> None:
    talk = await stage.talk(provider="dry")

    for ticks in range(0, 120, 3):
        listening = asyncio.ensure_future(_heard(talk))
        for _ in range(ticks):
            await asyncio.sleep(0)
        for runner in list(talk.host._machinery.running.values()):
            runner.cancel()
        await check_turn(talk, await listening)


async def _heard(talk: Talk) -> Told:
    return await listen(talk.turn("Pots?"))
