"""Messages servers that need no script: one that tells what the model sees, one that asks for tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fakes.chat_handlers import sample_call
from fakes.chat_replies import ChatReply, Reply, reply
from fakes.messages_context import View

MessagesHandler: TypeAlias = Callable[[View], Reply]


def echo(*, chunks: int = 3) -> MessagesHandler:
    """Make a handler that tells the number of turns in the context and the last user's text."""

    def answer(view: View) -> ChatReply:
        text = f"{len(view.messages)} messages; last: {last_user_text(view)}"
        size = max(1, -(-len(text) // chunks))
        return reply(*(text[at : at + size] for at in range(0, len(text), size)))

    return answer


def agent(*, calls: int = 1, rounds: int = 1) -> MessagesHandler:
    """Make a handler that asks for the first `calls` tools offered, in `rounds` steps of a turn, then answers."""

    def answer(view: View) -> ChatReply:
        done, results = _since_the_user(view)
        tools = [tool for tool in view.tools if "input_schema" in tool]
        if tools and done < rounds:
            return reply(
                *(sample_call({"name": one["name"], "parameters": one["input_schema"]}) for one in tools[:calls])
            )
        return reply(f"{results} results. ", f"You said: {last_user_text(view)}")

    return answer


def last_user_text(view: View) -> str:
    """Give the text of the last turn in which the user says something."""
    for turn in reversed(view.messages):
        texts = [block["text"] for block in turn["content"] if block["type"] == "text"]
        if turn["role"] == "user" and texts:
            return "".join(texts)
    return ""


def _since_the_user(view: View) -> tuple[int, int]:
    """Count the turns of results since the user spoke, and the results."""
    runs = results = 0
    for turn in reversed(view.messages):
        found = sum(block["type"] == "tool_result" for block in turn["content"])
        if turn["role"] == "user" and not found:
            break
        runs += bool(found)
        results += found
    return runs, results
