"""Turns that wait for the caller's own tools, and go on with their results."""

from __future__ import annotations

import asyncio

import pytest

from trimtab_sdk import ToolCall, ToolResult
from trimtab_sdk.errors import InvalidRequestError, NotFoundError, TurnInProgressError, TurnStateError
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
)

pytestmark = pytest.mark.anyio


async def _pause(stage: Stage, talk: Talk, *more: tuple[str, dict[str, object]]) -> Told:
    stage.server.call(("ask_user", {"question": "Which?"}), *more)
    return await talk.say("How many?", tools=[ASK_USER])


def _call_id(told: Told) -> str:
    return told.paused.pending[0].call_id


@on_both_stores
async def test_a_call_of_a_tool_of_the_caller_pauses_the_turn_until_its_result_comes(stage: Stage) -> None:
    talk = await stage.talk(stock)
    told = await _pause(stage, talk, ("stock", {"article": "pot"}))
    assert told.kinds[-2:] == ["tool_result", "turn_paused"]
    assert [(one.name, one.arguments) for one in told.paused.pending] == [("ask_user", '{"question": "Which?"}')]
    stage.server.say("Three pots.")

    resumed = await talk.resume(told.turn_id, {_call_id(told): "The pots."})

    assert resumed.kinds == ["turn_started", "context_ready", "text_delta", "usage", "turn_completed"]
    assert resumed.turn_id == told.turn_id
    assert sorted(stage.sent[2:]) == ["tool: 3", "tool: The pots."]
    assert resumed.completed.message_ids == tuple(one.message.id for one in await talk.messages())
    assert stage.last_request.body["tools"] == stage.server.requests[0].body["tools"]


@on_both_stores
async def test_another_host_resumes_what_the_first_one_left(stage: Stage) -> None:
    async with stage.closed_host(stock) as first:
        talk = await stage.talk(host=first)
        told = await _pause(stage, talk, ("stock", {"article": "kettle"}))
    stage.server.say("Seven.")
    later = Talk(await stage.host(stock), talk.chat_id)

    resumed = await later.resume(told.turn_id, {_call_id(told): "Kettles."})

    assert resumed.completed.steps == 2
    assert resumed.text == "Seven."
    audit = await later.host.audit(talk.chat_id, owner="ann")
    assert audit is not None
    assert [call.step for call in audit.calls] == [1, 2]


async def test_a_host_that_still_lives_knows_what_another_one_resumed(stage: Stage) -> None:
    talk = await stage.talk(stock)
    told = await _pause(stage, talk)
    stage.server.say("Seven.")
    await Talk(await stage.host(stock), talk.chat_id).resume(told.turn_id, {_call_id(told): "Kettles."})
    stage.server.say("Yes.")

    await talk.say("Sure?")

    assert stage.sent[2:] == ["tool: Kettles.", "assistant: Seven.", "user: Sure?"]


async def test_a_turn_may_pause_several_times(stage: Stage) -> None:
    talk = await stage.talk()
    told = await _pause(stage, talk)
    stage.server.call(("ask_user", {"question": "And where?"}))
    again = await talk.resume(told.turn_id, {_call_id(told): "Kettles."})
    stage.server.say("Seven.")

    resumed = await talk.resume(told.turn_id, {_call_id(again): ToolResult("any", "Bern", is_error=False)})

    assert resumed.completed.steps == 3
    assert [text for text in stage.sent if text.startswith("tool")] == ["tool: Kettles.", "tool: Bern"]


@pytest.mark.parametrize("given", [{}, {"nobody": "x"}, {"right": "x", "nobody": "x"}, {"right": 7}])
async def test_wrong_results_are_refused_and_the_turn_waits_on(stage: Stage, given: dict[str, object]) -> None:
    talk = await stage.talk()
    told = await _pause(stage, talk)
    results = {_call_id(told) if name == "right" else name: value for name, value in given.items()}

    with pytest.raises(InvalidRequestError):
        await listen(talk.host.resume(told.turn_id, results, owner="ann"))  # type: ignore[arg-type]

    assert (await talk.last_turn()).state == "paused"
    stage.server.say("Seven.")
    assert (await talk.resume(told.turn_id, {_call_id(told): "Kettles."})).text == "Seven."


@on_both_stores
async def test_of_two_that_resume_at_once_exactly_one_goes_on(stage: Stage) -> None:
    talk = await stage.talk()
    told = await _pause(stage, talk)
    other = await stage.host()
    stage.server.say("Seven.")
    streams = [host.resume(told.turn_id, {_call_id(told): "Kettles."}, owner="ann") for host in (talk.host, other)]

    outcomes = await asyncio.gather(*map(listen, streams), return_exceptions=True)

    assert [type(one) for one in outcomes if isinstance(one, Exception)] == [TurnStateError]
    won = [one for one in outcomes if isinstance(one, Told)]
    assert [one.text for one in won] == ["Seven."]
    await check_turn(talk, won[0])
    assert len(stage.server.requests) == 2
    assert [one.message.role for one in await talk.messages()] == ["user", "assistant", "tool", "assistant"]


async def test_a_paused_chat_takes_no_turn_and_no_change(stage: Stage) -> None:
    talk = await stage.talk()
    told = await _pause(stage, talk)
    first = (await talk.messages())[0].message.id

    with pytest.raises(TurnInProgressError):
        await listen(talk.turn("Well?"))
    with pytest.raises(TurnInProgressError):
        await talk.host.edit(talk.chat_id, first, "No.", owner="ann")
    with pytest.raises(TurnStateError):
        await listen(talk.host.retry(talk.chat_id, owner="ann"))

    assert (await talk.last_turn()).id == told.turn_id


async def test_a_turn_that_is_not_paused_is_not_resumed(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Seven.")
    told = await talk.say("How many?")

    with pytest.raises(TurnStateError):
        await listen(talk.host.resume(told.turn_id, {}, owner="ann"))
    with pytest.raises(NotFoundError):
        await listen(talk.host.resume("nobody", {}, owner="ann"))


@on_both_stores
async def test_a_paused_turn_is_cancelled_and_its_open_call_is_closed_by_the_next_turn(stage: Stage) -> None:
    talk = await stage.talk(stock)
    told = await _pause(stage, talk, ("stock", {"article": "pot"}))

    turn = await talk.host.cancel(told.turn_id, owner="ann")

    assert (turn.state, turn.loop_state) == ("cancelled", None)
    assert await talk.audit_status() == "cancelled"
    events = await talk.host.events(told.turn_id, owner="ann")
    assert [one.event["kind"] for one in events[-2:]] == ["turn_paused", "turn_cancelled"]
    assert [one.sequence for one in events] == list(range(1, len(events) + 1))
    stage.server.say("Three.")
    await talk.say("Never mind, pots.")
    assert [text[:33] for text in stage.sent if text.startswith("tool")] == [
        "tool: 3",
        "tool: This call was interrupted b",
    ]


async def test_who_stops_listening_at_the_pause_leaves_the_turn_paused(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.call(("ask_user", {"question": "Which?"}))

    await listen_until(talk.turn("How many?", tools=[ASK_USER]), "turn_paused")
    await talk.host.close()

    later = Talk(await stage.host(), talk.chat_id)
    turn = await later.last_turn()
    assert turn.state == "paused"
    stage.server.say("Seven.")
    call = (await later.messages())[-1].message.parts[-1]
    assert isinstance(call, ToolCall)
    assert (await later.resume(turn.id, {call.call_id: "Kettles."})).text == "Seven."


async def test_who_stops_listening_at_the_end_leaves_the_turn_completed(stage: Stage) -> None:
    talk = await stage.talk()
    stage.server.say("Seven.")

    await listen_until(talk.turn("How many?"), "turn_completed")
    stage.server.say("Yes.")
    await talk.say("Sure?")

    assert stage.sent == ["user: How many?", "assistant: Seven.", "user: Sure?"]


async def test_a_tool_name_of_the_host_is_not_given_twice(stage: Stage) -> None:
    talk = await stage.talk(stock)
    same = type(ASK_USER)("stock", "Mine.")

    with pytest.raises(InvalidRequestError):
        talk.turn("How many?", tools=[same])


async def test_a_turn_whose_tool_is_gone_keeps_the_results_and_fails_with_a_word(stage: Stage) -> None:
    talk = await stage.talk()
    told = await _pause(stage, talk)
    await talk.host.update_chat(talk.chat_id, owner="ann", provider="nowhere")

    resumed = await talk.resume(told.turn_id, {_call_id(told): "Kettles."})

    assert resumed.failed.code == "UNKNOWN_PROVIDER"
    await talk.host.update_chat(talk.chat_id, owner="ann", provider="local")
    stage.server.say("Seven.")
    await talk.retry()
    assert stage.sent[-1] == "tool: Kettles."
