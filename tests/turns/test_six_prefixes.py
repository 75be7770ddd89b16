"""What is sent again stays the same, byte for byte, so that the server's cache goes on from it."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from fakes.chat_replies import reply, thought
from fakes.chat_requests import Request
from trimtab_sdk import Text
from turns.six_helpers import PICTURE, Six, asks, look_up, six_at
from turns.turn_helpers import Talk

pytestmark = pytest.mark.anyio

MARK = re.compile(rb',"cache_control":\{"type":"ephemeral"\}')
TURNS = 20
REQUESTS = TURNS + TURNS // 2


async def _long_talk(six: Six) -> Talk:
    """Have 20 turns, each other one of them with tools and a picture, all of them with thinking."""
    talk = await six.talk(look_up)
    for number in range(TURNS):
        if number % 2:
            six.server.say(thought(f"Easy {number}."), f"Yes, {number}.")
            await talk.say(f"Sure, {number}?")
        else:
            first = reply(thought(f"I look {number}."), *asks("pot", "spoon", "kettle"))
            six.server.reply(first, reply(thought(f"So {number}."), f"Three, {number}."))
            await talk.say((Text(f"How many pots, {number}?"), PICTURE))
    assert len(six.server.requests) == REQUESTS
    return talk


def _split(request: Request) -> tuple[bytes, bytes]:
    """Give the bytes of the messages without their end, and all others; without marks for caches."""
    body = MARK.sub(b"", request.raw)
    start = body.index(b'"messages":[') + len(b'"messages":[')
    end = body.index(b'],"tools":' if b'],"tools":' in body[start:] else b'],"stream":', start)
    return body[start:end], body[:start] + body[end:]


@pytest.mark.parametrize("name", ["deepseek", "anthropic"])
async def test_each_request_begins_with_the_bytes_of_the_one_before(place: str, name: str) -> None:
    async with six_at(place, name) as six:
        await _long_talk(six)

        messages, others = zip(*map(_split, six.server.requests), strict=True)
        assert all(later.startswith(earlier + b",") for earlier, later in pairwise(messages))
        assert len(set(others)) == 1


async def test_the_cache_of_anthropic_reads_more_with_every_request(place: str) -> None:
    async with six_at(place, "anthropic") as six:
        talk = await _long_talk(six)

        views = [six.server.view(number + 1) for number in range(REQUESTS)]
        read = [view.cached for view in views]
        assert read[0] == 0
        assert all(later > earlier for earlier, later in pairwise(read))
        assert read[-1] > 0.9 * views[-1].tokens
        assert all(len(view.breakpoints) <= 4 for view in views)
        audit = await talk.host.audit(talk.chat_id, owner=talk.owner)
        assert audit is not None
        usage = audit.calls[-1].usage
        assert usage is not None
        assert usage.cached_tokens == read[-1]
