"""Tools in a turn: what the model is told, and what is stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fakes.chat_server import ask
from trimtab import Config
from trimtab.turns.tools import ToolLimits
from trimtab_sdk import ToolResult
from trimtab_sdk.edit import MARKER
from turns.turn_helpers import Stage, Talk, Told, stock, waiting_tool, words

pytestmark = pytest.mark.anyio

LIMITS = ToolLimits(seconds=0.05, grace_seconds=0.05)


async def _call(stage: Stage, talk: Talk, *calls: tuple[str, Any]) -> Told:
    stage.server.call(*calls)
    stage.server.say("I see.")
    return await talk.say("Try.")


def _results(stage: Stage) -> list[str]:
    return [str(message["content"]) for message in stage.last_request.messages if message["role"] == "tool"]


async def test_a_tool_that_raises_is_told_to_the_model_and_the_turn_goes_on(stage: Stage) -> None:
    async def broken() -> str:
        """Break."""
        raise ValueError("no kettle 9")

    talk = await stage.talk(broken, stock)

    told = await _call(stage, talk, ("broken", {}), ("stock", {"article": "pot"}))

    assert "no kettle 9" in _results(stage)[0]
    assert _results(stage)[1] == "3"
    codes = {one["name"]: one.get("errorCode") for one in told.of("tool_result")}
    assert codes == {"broken": "TOOL_FAILED", "stock": None}
    assert told.completed.finish == "stop"


async def test_a_tool_that_hangs_is_ended_in_time(stage: Stage) -> None:
    waiting, begun, ended = waiting_tool()
    talk = await stage.talk(host=await stage.host(waiting, tool_limits=LIMITS))

    told = await _call(stage, talk, ("wait", {}))

    assert begun.is_set()
    assert ended.is_set()
    assert "longer than 0.05 s" in _results(stage)[0]
    assert told.of("tool_result")[0]["isError"]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (("nothing", {}), "no tool 'nothing'"),
        (("stock", {"articel": "pot"}), "arguments"),
        (("stock", "{oops"), "arguments"),
        (("stock", "[]"), "arguments"),
        (("stock", {"article": "unknown"}), "unknown"),
    ],
)
async def test_a_call_that_cannot_be_run_is_answered_with_an_error(
    stage: Stage, call: tuple[str, Any], word: str
) -> None:
    talk = await stage.talk(stock)

    told = await _call(stage, talk, call)

    assert word in _results(stage)[0]
    assert told.of("tool_result")[0]["errorCode"] == "TOOL_FAILED"
    part = (await talk.messages())[2].message.parts[0]
    assert isinstance(part, ToolResult)
    assert part.is_error


async def test_a_tool_that_the_chat_must_not_use_is_not_run(stage: Stage) -> None:
    runs = []

    async def delete() -> str:
        """Delete everything."""
        runs.append(1)
        return "gone"

    host = await stage.host(delete, stock)
    talk = await stage.talk(host=host, tools=("stock",))

    await _call(stage, talk, ("delete", {}))

    assert runs == []
    assert "no tool 'delete'" in _results(stage)[0]
    assert [tool["function"]["name"] for tool in stage.last_request.body["tools"]] == ["stock"]


async def test_a_result_over_its_share_is_shortened_for_the_model_and_stored_whole(stage: Stage) -> None:
    whole = f"first {words(3000)} last"

    async def read() -> str:
        """Read the list."""
        return whole

    talk = await stage.talk(read, context_settings={"contextLimit": 4000, "reserve": 0})

    await _call(stage, talk, ("read", {}))

    told = _results(stage)[0]
    assert told.startswith("first kettle")
    assert told.endswith("kettle last")
    assert MARKER in told
    assert len(told) < len(whole) / 2
    result = (await talk.messages())[2]
    assert result.has_full
    assert await talk.host.full_text(talk.chat_id, result.message.id, owner="ann") == whole
    shortened = stage.last_request.messages[-1]
    stage.server.say("Yes.")
    await talk.say("Sure?")
    assert shortened in stage.last_request.messages


async def test_50_megabytes_from_a_tool_are_refused_and_the_turn_goes_on(stage: Stage) -> None:
    async def flood() -> str:
        """Give far too much."""
        return "x" * 50_000_000

    talk = await stage.talk(flood)

    told = await _call(stage, talk, ("flood", {}))

    assert len(_results(stage)[0]) < 3000
    assert told.of("tool_result")[0]["isError"]
    assert told.completed.finish == "stop"


async def test_results_stand_in_the_order_of_their_calls_whoever_is_first(stage: Stage) -> None:
    second_is_done = asyncio.Event()

    async def slow() -> str:
        """Wait for the other one."""
        await second_is_done.wait()
        return "slow"

    async def fast() -> str:
        """Be quick."""
        second_is_done.set()
        return "fast"

    talk = await stage.talk(slow, fast)

    told = await _call(stage, talk, ("slow", {}), ("fast", {}))

    assert _results(stage) == ["slow", "fast"]
    assert [one["text"] for one in told.of("tool_result")] == ["fast", "slow"]


async def test_calls_with_the_same_id_each_get_their_own_result(stage: Stage) -> None:
    talk = await stage.talk(stock)
    stage.server.say(ask("stock", {"article": "pot"}, call_id="same"))
    stage.server.say(ask("stock", {"article": "kettle"}, call_id="same"))
    stage.server.say("Three and seven.")

    await talk.say("How many?")

    assert _results(stage) == ["3", "7"]


async def test_a_provider_without_a_server_calls_the_tools_of_its_settings(stage: Stage) -> None:
    wishes = {"tool_calls": [{"name": "stock", "arguments": {"article": "pot"}}], "reply": "Three."}
    config = Config(providers={"dry": {"driver": "dry-run", "settings": wishes}})
    talk = await stage.talk(host=await stage.host(stock, config=config), provider="dry")

    told = await talk.say("How many?")

    assert [one["text"] for one in told.of("tool_result")] == ["3"]
    assert (told.text, told.completed.steps) == ("Three.", 2)
    assert (await talk.texts())[-2:] == ["tool: 3", "assistant: Three."]
