"""A preview: what the next turn would send, and nothing else happens."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakes.chat_server import ChatServer
from trimtab.host import Host
from trimtab.turns.looking import Preview
from trimtab_sdk.errors import TokenBudgetExceededError, TrimtabError
from turns.turn_helpers import OWNER, Stage, Talk, Told, config_of, listen, stock, words

anyio_test = pytest.mark.anyio

STRATEGIES = ("truncate", "summarize", "manual", "vector-recall")
_TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(str.strip),
    st.integers(1, 60).map(words),
)


@st.composite
def _chats(draw: st.DrawFn) -> dict[str, Any]:
    """A chat: messages with calls and results, flags, a strategy and a window."""
    messages: list[dict[str, Any]] = []
    for at in range(draw(st.integers(0, 8))):
        messages.append({"role": "user", "content": draw(_TEXTS)})
        if draw(st.booleans()):
            call = {"id": f"c{at}", "type": "function", "function": {"name": "stock", "arguments": "{}"}}
            messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": f"c{at}", "content": draw(_TEXTS)})
        messages.append({"role": "assistant", "content": draw(_TEXTS)})
    limit = draw(st.one_of(st.none(), st.integers(60, 900)))
    return {
        "messages": messages,
        "system": draw(st.one_of(st.none(), _TEXTS)),
        "context_strategy": draw(st.sampled_from(STRATEGIES)),
        "context_settings": {} if limit is None else {"contextLimit": limit, "reserve": 0},
        "input": draw(_TEXTS),
        "pinned": draw(st.sets(st.integers(0, 20), max_size=2)),
        "excluded": draw(st.sets(st.integers(0, 20), max_size=3)),
        "before": draw(st.integers(0, 1)),
    }


def _dump(place: Path) -> list[str]:
    connection = sqlite3.connect(place)
    rows = list(connection.iterdump())
    connection.close()
    return rows


async def _begin(host: Host, chat: dict[str, Any]) -> Talk:
    names = ("messages", "system", "context_strategy", "context_settings")
    made = await host.create_chat(
        owner=OWNER, provider="local", model="gpt-4o", **{key: chat[key] for key in names}
    )
    talk = Talk(host, made.id)
    ids = [one.message.id for one in await talk.messages()]
    for flag, change in (("pinned", host.pin), ("excluded", host.exclude)):
        chosen = [ids[at] for at in sorted(chat[flag]) if at < len(ids)]
        if chosen:
            await change(made.id, *chosen, owner=OWNER)
    return talk


async def _compare(host: Host, place: Path, server: ChatServer, chat: dict[str, Any]) -> None:
    talk = await _begin(host, chat)
    for _ in range(chat["before"]):
        server.say("Well, well.")
        await listen(talk.turn("And?"))
    before = _dump(place)
    try:
        preview = await host.preview(talk.chat_id, chat["input"], owner=OWNER)
    except TrimtabError as error:
        assert _dump(place) == before
        assert (await talk.say(chat["input"])).failed.code == error.code
    else:
        assert _dump(place) == before
        server.say("Indeed.")
        told = await talk.say(chat["input"])
        await _check(talk, server, preview, told)
    await host.delete_chat(talk.chat_id, owner=OWNER)


async def _check(talk: Talk, server: ChatServer, preview: Preview, told: Told) -> None:
    assert server.requests[-1].raw == preview.body
    assert told.of("context_ready")[0]["snapshot"] == preview.snapshot.to_dict()
    audit = await talk.host.audit(talk.chat_id, owner=OWNER)
    assert audit is not None
    assert (audit.recount, len(audit.blocks)) == (preview.fit.tokens_after, len(server.requests[-1].messages))
    assert audit.recount == preview.to_dict()["recount"]


def test_a_preview_of_any_chat_is_what_is_sent_then_and_writes_nothing(empty_store: Path, tmp_path: Path) -> None:
    place = Path(shutil.copy(empty_store, tmp_path / "chats.db"))
    with ChatServer() as server, asyncio.Runner() as runner:
        host = Host(place, config_of(server), [stock], environ={})
        runner.run(host.open())

        @settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(_chats())
        def compare(chat: dict[str, Any]) -> None:
            runner.run(_compare(host, place, server, chat))

        try:
            compare()
        finally:
            runner.run(host.close())
        assert server.faults == []


@anyio_test
async def test_a_preview_without_input_is_of_the_chat_as_it_stands(stage: Stage) -> None:
    talk = await stage.talk(system="Be brief.", messages=[{"role": "user", "content": "Kettles?"}])

    preview = await talk.host.preview(talk.chat_id, owner="ann")

    said = [message["role"] for message in json.loads(preview.body)["messages"]]
    assert said == ["system", "user"]
    assert stage.server.requests == []
    assert await talk.host.last_turn(talk.chat_id, owner="ann") is None


@anyio_test
async def test_a_preview_of_a_busy_chat_disturbs_nothing(stage: Stage) -> None:
    talk = await stage.talk(stock)
    gate = stage.server.gate("middle")
    stage.server.say("Sev", gate, "en.")
    listening = aiter(talk.turn("Kettles?"))
    await anext(listening)
    await gate.reached.wait_async()

    preview = await talk.host.preview(talk.chat_id, "Pots?", owner="ann")

    assert b"Pots?" in preview.body
    gate.open()
    assert [event.kind async for event in listening][-1] == "turn_completed"
    assert await talk.texts() == ["user: Kettles?", "assistant: Seven."]


@anyio_test
async def test_a_preview_that_cannot_fit_raises_what_the_turn_would_tell(stage: Stage) -> None:
    talk = await stage.talk(context_settings={"contextLimit": 50, "reserve": 0})

    with pytest.raises(TokenBudgetExceededError):
        await talk.host.preview(talk.chat_id, words(500), owner="ann")

    assert await talk.messages() == []


@anyio_test
async def test_a_preview_of_a_provider_without_a_server_has_a_prompt_and_no_body(stage: Stage) -> None:
    talk = await stage.talk(provider="dry", system="Be brief.")

    preview = await talk.host.preview(talk.chat_id, "Kettles?", owner="ann")

    assert preview.body == b""
    assert [message["role"] for message in preview.to_dict()["messages"]] == ["system", "user"]  # type: ignore[attr-defined]
