"""Small makers of messages and plugins for tests."""

from __future__ import annotations

from collections.abc import Callable

from trimtab_sdk import Edit, Message, Reasoning, Request, Services, Text, ToolCall, ToolResult, hookimpl


def message(id: str, role: str = "user", text: str | None = None, **fields: object) -> Message:
    """A message with one text; the id doubles as the text when none is given."""
    return Message(id, role, (Text(id if text is None else text),), **fields)  # type: ignore[arg-type]


def calls(id: str, *call_ids: str, text: str = "") -> Message:
    """An assistant message with tool calls."""
    parts = (Text(text),) if text else ()
    return Message(id, "assistant", (*parts, *(ToolCall(one, "look", "{}") for one in call_ids)))


def result(id: str, call_id: str, text: str = "found") -> Message:
    """A tool message with one result."""
    return Message(id, "tool", (ToolResult(call_id, text),))


def thinking(id: str, text: str = "hm") -> Message:
    """An assistant message that holds reasoning alone."""
    return Message(id, "assistant", (Reasoning(text),))


class Strategy:
    """A strategy that answers what a function gives."""

    def __init__(self, answer: Callable[[Request, Services], object]) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    @hookimpl
    def trimtab_shift(self, request: Request, services: Services) -> Edit | None:
        self.requests.append(request)
        return self._answer(request, services)  # type: ignore[return-value]


class Interceptor:
    """An interceptor that answers what a function gives."""

    def __init__(self, answer: Callable[[Request, Services], object]) -> None:
        self._answer = answer
        self.requests: list[Request] = []

    @hookimpl
    def trimtab_intercept(self, request: Request, services: Services) -> Edit | None:
        self.requests.append(request)
        return self._answer(request, services)  # type: ignore[return-value]
