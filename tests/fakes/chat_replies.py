"""What the fake server may answer, as plain values: the parts of a reply, refusals, pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from fakes.chat_moments import Gate

Json: TypeAlias = Any
"""A JSON value."""
EVERY_BYTE: Literal["every byte"] = "every byte"
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Break(Enum):
    """How a connection dies: closed without the end of the answer, reset, or silent for ever."""

    CUT = "cut"
    RESET = "reset"
    STALL = "stall"


CUT, RESET, STALL = Break.CUT, Break.RESET, Break.STALL


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the model's thinking."""

    text: str
    key: str = "reasoning_content"


@dataclass(frozen=True, slots=True)
class Ask:
    """A tool call; its arguments come in `fragments` pieces. Without an id the server makes one."""

    name: str
    arguments: str
    call_id: str | None = None
    fragments: int = 3


@dataclass(frozen=True, slots=True)
class Pause:
    """Milliseconds of silence, for benchmarks; tests use gates."""

    ms: float


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes of the body as they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class StreamError:
    """An error object in the middle of a stream, which ends it."""

    message: str
    code: str | None
    type: str


@dataclass(frozen=True, slots=True)
class Half:
    """A text delta of which only a part arrives before the connection is cut."""

    text: str
    inside: Literal["frame", "character"]


@dataclass(frozen=True, slots=True)
class Endless:
    """The same bytes again and again until the client leaves."""

    data: bytes
    every_ms: float


class Special:
    """A part that only one kind of server knows; others refuse it."""

    __slots__ = ()


Part: TypeAlias = str | Thought | Ask | Gate | Pause | Raw | StreamError | Half | Endless | Break | Special


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """An answer of the model, or what is left of one.

    - `parts` are sent in order.
    - `finish`: "auto" is `tool_calls` after a call, else `stop`; None sends no finish_reason.
    - `usage`: "auto" counts, None sends none; `usage_on` says in which chunk.
    - `done`: whether `[DONE]` follows.
    - `cut_at`: where the body is cut into HTTP chunks, in bytes, whatever the events are; `piece_ms` lie between
      the pieces.
    - `before_head`: gates, pauses or breaks before the first byte of the head.
    - `as_json`: None gives a stream where one was asked for; True gives JSON all the same, False a stream.
    - `chunked`: False ends the body with the connection.
    """

    parts: tuple[Part, ...] = ()
    finish: str | None = "auto"
    usage: Mapping[str, Json] | Literal["auto"] | None = field(default="auto", hash=False)
    usage_on: Literal["last", "finish"] = "last"
    done: bool = True
    cut_at: Sequence[int] | Literal["every byte"] | None = None
    piece_ms: float = 0
    before_head: Sequence[Part] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    as_json: bool | None = None
    chunked: bool = True


class Options(TypedDict, total=False):
    """The options of a ChatReply."""

    finish: str | None
    usage: Mapping[str, Json] | Literal["auto"] | None
    usage_on: Literal["last", "finish"]
    done: bool
    cut_at: Sequence[int] | Literal["every byte"] | None
    piece_ms: float
    before_head: Sequence[Part]
    status: int
    headers: Mapping[str, str]
    as_json: bool | None
    chunked: bool


@dataclass(frozen=True, slots=True)
class PlainReply:
    """Any answer that is not the model's: a status, headers and a body, sent as they are."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)


Reply: TypeAlias = ChatReply | PlainReply


def reply(*parts: Part, **options: Unpack[Options]) -> ChatReply:
    """Make an answer out of parts; the options are those of ChatReply."""
    return ChatReply(parts=parts, **options)


def thought(text: str, key: str = "reasoning_content") -> Thought:
    """Make a piece of thinking; servers differ in its `key`."""
    return Thought(text, key)


def ask(name: str, arguments: Json = "{}", *, call_id: str | None = None, fragments: int = 3) -> Ask:
    """Make a tool call; arguments that are a text are sent as they are, valid or not."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return Ask(name, text, call_id, fragments)


def pause(ms: float) -> Pause:
    """Make a silence of so many milliseconds."""
    return Pause(ms)


def raw(data: bytes) -> Raw:
    """Make bytes that are sent as they are."""
    return Raw(data)


def comment(text: str = "keep-alive") -> Raw:
    """Make an SSE comment."""
    return Raw(f": {text}\n\n".encode())


def stream_error(message: str, *, code: str | None = None, type: str = "server_error") -> StreamError:
    """Make an error object that ends a stream."""
    return StreamError(message, code, type)


def mid_frame(text: str) -> Half:
    """Make an event that is cut in the middle, with its connection."""
    return Half(text, "frame")


def mid_character(text: str) -> Half:
    """Make an event that is cut, with its connection, inside its last character of several bytes."""
    if text.isascii():
        raise ValueError(f"no character of {text!r} has several bytes")
    return Half(text, "character")


def endless(data: bytes = b": keep-alive\n\n", *, every_ms: float = 1) -> Endless:
    """Make bytes that come again and again, without end."""
    return Endless(data, every_ms)


def huge_line(size: int) -> Raw:
    """Make one data line of that many bytes whose event never ends."""
    return Raw(b"data: ".ljust(size, b"x"))
