"""Servers that need no script, for the Responses API. A handler finds under `context` what the model sees."""

from __future__ import annotations

from collections.abc import Iterator

from fakes.chat_handlers import Handler, sample_call
from fakes.chat_replies import ChatReply, Json, reply
from fakes.responses_items import Item


def echo(*, chunks: int = 3) -> Handler:
    """Make a handler that tells the number of items and the last user's text, in so many text deltas."""

    def answer(body: Json) -> ChatReply:
        text = f"{len(body['context'])} items; last: {last_user_text(body['context'])}"
        size = max(1, -(-len(text) // chunks))
        return reply(*(text[at : at + size] for at in range(0, len(text), size)))

    return answer


def agent(*, calls: int = 1, rounds: int = 1) -> Handler:
    """Make a handler that asks for the first `calls` tools offered, in `rounds` steps of a turn, then answers."""

    def answer(body: Json) -> ChatReply:
        turn = list(_since_the_user(body["context"]))
        results = sum(item["type"] == "function_call_output" for item in turn)
        tools = [tool for tool in body.get("tools") or () if tool["type"] == "function"][:calls]
        if tools and results < rounds * len(tools):
            return reply(*(sample_call(tool) for tool in tools))
        return reply(f"{results} results. ", f"You said: {last_user_text(body['context'])}")

    return answer


def last_user_text(items: Json) -> str:
    """Give the text of the last user message among items."""
    for item in reversed(items):
        if item.get("role") == "user":
            return "".join(part.get("text", "") for part in item["content"])
    return ""


def _since_the_user(items: Json) -> Iterator[Item]:
    for item in reversed(items):
        if item.get("role") == "user":
            return
        yield item
