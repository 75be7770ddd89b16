"""Reading a conversation, or another JSON value, from a file or from stdin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab.cli.source import Source

Kind: TypeAlias = Literal["list", "body", "lines"]

CONVERSATION_KEYS = ("messages", "input", "contents")
"""Where a request body of one format or another keeps its conversation."""

_ONE_AT_A_TIME = "one conversation is fitted at a time, so put it in a file of its own"


@dataclass(frozen=True, slots=True)
class Form:
    """How a conversation was written: what holds it, on how many lines, with or without blanks after colons."""

    kind: Kind
    indented: bool = False
    spaced: bool = True


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a file holds: a list of messages or a request body, and how it was written."""

    data: list[object] | dict[str, object]
    form: Form

    @property
    def messages(self) -> list[object]:
        """The messages as they were read; empty where a body keeps them in no known place."""
        if isinstance(self.data, list):
            return self.data
        for key in CONVERSATION_KEYS:
            messages = self.data.get(key)
            if isinstance(messages, list):
                return messages
        return []

    @property
    def model(self) -> str | None:
        """The model that a request body names."""
        model = self.data.get("model") if isinstance(self.data, dict) else None
        return model if isinstance(model, str) and model else None


def read_conversation(file: str) -> Conversation:
    """Read JSON (a list of messages or a request body) or JSONL (one message a line); `-` is stdin.

    The content decides, not the name. Raises UnreadableInputError, with line and column where JSON is broken.
    """
    source = Source(file)
    value, start, end = source.first_value()
    if source.is_end(end):
        indented = source.has_line_break(start, end)
        return _whole_file(source, value, indented=indented)
    if isinstance(value, dict) and not source.has_line_break(start, end) and source.line_ends(end):
        return Conversation(_messages_by_line(source), Form("lines", spaced=source.is_spaced()))
    raise source.rest_error(end)


def read_json(file: str) -> object:
    """Read a file that holds one JSON value; `-` is stdin. Raises UnreadableInputError."""
    source = Source(file)
    value, _, end = source.first_value()
    if not source.is_end(end):
        raise source.rest_error(end)
    return value


def _whole_file(source: Source, value: object, *, indented: bool) -> Conversation:
    spaced = source.is_spaced()
    if isinstance(value, list):
        for at, item in enumerate(value):
            if _is_conversation(item):
                raise source.error(f"item {at} is a whole conversation; {_ONE_AT_A_TIME}")
        return Conversation(value, Form("list", indented=indented, spaced=spaced))
    if isinstance(value, dict):
        if _is_message(value) and not indented:
            return Conversation([value], Form("lines", spaced=spaced))
        return Conversation(value, Form("body", indented=indented, spaced=spaced))
    kind = _kind_of(value)
    raise source.error(f"it holds {kind}, not a list of messages, a request body or messages line by line")


def _messages_by_line(source: Source) -> list[object]:
    messages: list[object] = []
    for value, line in source.line_values():
        if _is_conversation(value):
            raise source.error(f"this line is a whole conversation; {_ONE_AT_A_TIME}", line)
        if not isinstance(value, dict):
            raise source.error(f"this line is {_kind_of(value)}, not a message", line)
        messages.append(value)
    return messages


def _is_message(value: dict[str, object]) -> bool:
    return isinstance(value.get("role"), str) and not any(key in value for key in CONVERSATION_KEYS)


def _is_conversation(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list) and "role" not in value


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a number"
