"""Reasoning that a provider made after something was left out, and answers of which a part was removed."""

from __future__ import annotations

import pytest

from fakes.chat_replies import ask, reply, thought
from trimtab_sdk.messages import Reasoning
from turns.cursor_helpers import CursorStage, Till, only_openai, say_all

pytestmark = pytest.mark.anyio


@only_openai
async def test_reasoning_made_after_an_exclusion_goes_back(scene: CursorStage) -> None:
    talk = await scene.talk(host=await scene.host(Till().stock, config=scene.config(retention=0)))
    await say_all(talk, scene.remote, ("Kettles?", "Seven."), ("Pans?", "Two."))
    await talk.host.exclude(talk.chat_id, (await talk.ids())[2], owner="ann")
    scene.remote.server.reply(reply(thought("Hm."), ask("stock", {"article": "pot"})), reply("Three."))
    await talk.say("Pots?")
    assert len(scene.remote.reasoning_in(-1)) == 1

    await say_all(talk, scene.remote, ("Lids?", "None."))
    assert len(scene.remote.reasoning_in(-1)) == 1


@only_openai
async def test_reasoning_made_before_an_exclusion_does_not_go_back(scene: CursorStage) -> None:
    talk = await scene.talk(host=await scene.host(Till().stock, config=scene.config(retention=0)))
    await say_all(talk, scene.remote, ("Kettles?", "Seven."))
    scene.remote.server.reply(reply(thought("Hm."), ask("stock", {"article": "pot"})), reply("Three."))
    await talk.say("Pots?")
    await talk.host.exclude(talk.chat_id, (await talk.ids())[1], owner="ann")

    await say_all(talk, scene.remote, ("Lids?", "None."))
    assert scene.remote.reasoning_in(-1) == []


async def test_reasoning_that_is_removed_is_gone_at_the_provider_too(scene: CursorStage) -> None:
    talk = await scene.talk(Till().stock)
    scene.remote.server.reply(
        reply(thought("Hm 0."), ask("stock", {"article": "pot"})), reply("Three."), reply("Yes.")
    )
    await talk.say("Pots?")
    reasoning = [one.message.id for one in await talk.messages() if isinstance(one.message.parts[0], Reasoning)]
    await talk.host.remove(talk.chat_id, reasoning[0], owner="ann")
    told = await talk.say("Sure?")

    assert told.completed
    assert "Hm 0." not in scene.remote.seen()
