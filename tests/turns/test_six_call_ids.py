"""Two providers give calls the same ids, as servers that number them do, and a third one is asked."""

from __future__ import annotations

import pytest

from fakes.chat_replies import reply
from turns.six_helpers import asks, look_up, six_at

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("last", ["openai", "chatgpt", "gemini", "anthropic"])
async def test_ids_that_stand_twice_are_told_apart(place: str, last: str) -> None:
    async with six_at(place, "openai-compatible", "deepseek", last) as six:
        talk = await six.talk(host=await six.host(look_up))
        for name in ("openai-compatible", "deepseek"):
            await six.go_to(talk, name)
            six.servers[name].reply(reply(*asks("pot", "kettle", ids="call")), reply("Ten."))
            await talk.say("How many?")

        await six.go_to(talk, last)
        six.servers[last].say("Ten.")
        assert (await talk.say("Sure?")).text == "Ten."
