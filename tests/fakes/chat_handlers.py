"""Servers that need no script: one that tells what it got, one that asks for tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fakes.chat_replies import Ask, ChatReply, Json, Part, Reply, ask, pause, reply

Handler: TypeAlias = Callable[[Json], Reply]
_SAMPLES: dict[str, Json] = {
    "string": "x",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "null": None,
}


def echo(*, chunks: int = 3, first_ms: float = 0, chunk_ms: float = 0) -> Handler:
    """Make a handler that tells the number of messages and the last user's text, in so many text deltas.

    `first_ms` pass before the first delta, `chunk_ms` between two of them.
    """

    def answer(body: Json) -> ChatReply:
        text = f"{len(body['messages'])} messages; last: {last_user_text(body)}"
        size = max(1, -(-len(text) // chunks))
        parts: list[Part] = [pause(first_ms)] if first_ms else []
        for at in range(0, len(text), size):
            parts += [pause(chunk_ms)] if at and chunk_ms else []
            parts.append(text[at : at + size])
        return reply(*parts)

    return answer


def agent(*, calls: int = 1, rounds: int = 1) -> Handler:
    """Make a handler that asks for the first `calls` tools offered, in `rounds` steps of a turn, then answers."""

    def answer(body: Json) -> ChatReply:
        done, results = _steps_since_the_user(body["messages"])
        tools = [tool for tool in body.get("tools") or () if tool["type"] == "function"]
        if tools and done < rounds and body["messages"][-1]["role"] in ("user", "tool"):
            return reply(*(sample_call(tool["function"]) for tool in tools[:calls]))
        return reply(f"{results} results. ", f"You said: {last_user_text(body)}")

    return answer


def last_user_text(body: Json) -> str:
    """Give the text of the last user message of a request."""
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            return text_in(message["content"])
    return ""


def text_in(content: Json) -> str:
    """Give the text of a message's content."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _steps_since_the_user(messages: Json) -> tuple[int, int]:
    steps = results = 0
    for message in reversed(messages):
        if message["role"] == "user":
            break
        steps += bool(message.get("tool_calls"))
        results += message["role"] == "tool"
    return steps, results


def sample_call(function: Json) -> Ask:
    """Make a call of a function that fits its schema."""
    schema = function.get("parameters") or {}
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    return ask(function["name"], {name: _sample(properties.get(name) or {}) for name in required})


def _sample(schema: Json) -> Json:
    if "enum" in schema:
        return schema["enum"][0]
    return _SAMPLES.get(schema.get("type", "string"), {})
