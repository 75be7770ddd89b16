"""Interactions servers that need no script: one that tells what the model sees, one that asks for tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fakes.chat_handlers import sample_call
from fakes.chat_replies import ChatReply, Reply, reply
from fakes.interactions_context import View, last_user_text

InteractionHandler: TypeAlias = Callable[[View], Reply]


def echo(*, chunks: int = 3) -> InteractionHandler:
    """Make a handler that tells the number of steps in the context and the last user's text."""

    def answer(view: View) -> ChatReply:
        text = f"{len(view.steps)} steps; last: {last_user_text(view)}"
        size = max(1, -(-len(text) // chunks))
        return reply(*(text[at : at + size] for at in range(0, len(text), size)))

    return answer


def agent(*, calls: int = 1, rounds: int = 1) -> InteractionHandler:
    """Make a handler that asks for the first `calls` tools offered, in `rounds` steps of a turn, then answers."""

    def answer(view: View) -> ChatReply:
        done, results = _since_the_user(view)
        tools = [tool for tool in view.tools if tool["type"] == "function"]
        if tools and done < rounds:
            return reply(*(sample_call(tool) for tool in tools[:calls]))
        return reply(f"{results} results. ", f"You said: {last_user_text(view)}")

    return answer


def _since_the_user(view: View) -> tuple[int, int]:
    """Count the runs of results since the user spoke, and the results."""
    runs = results = 0
    kinds = [one["type"] for one in view.steps]
    for at in range(len(kinds) - 1, -1, -1):
        if kinds[at] == "user_input":
            break
        is_result = kinds[at] == "function_result"
        results += is_result
        runs += is_result and kinds[at - 1] != "function_result"
    return runs, results
