"""Parts of a reply that only the Responses API knows, beside those of every fake server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fakes.chat_replies import Json, Special


@dataclass(frozen=True, slots=True)
class Commentary(Special):
    """A message of its own with the phase `commentary`."""

    text: str


@dataclass(frozen=True, slots=True)
class Declined(Special):
    """A refusal of the model, as a part of its message."""

    text: str


@dataclass(frozen=True, slots=True)
class Failure(Special):
    """The end of an answer by `response.failed`."""

    message: str
    code: str


@dataclass(frozen=True, slots=True)
class NestedError(Special):
    """An `error` event whose error is an object inside it, as some endpoints send it; ends the answer."""

    message: str
    code: str | None


@dataclass(frozen=True, slots=True)
class Event(Special):
    """An event of any type; its sequence number is added."""

    type: str
    fields: Mapping[str, Json] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Item(Special):
    """An output item that is added and done at once; without an id it gets one."""

    value: Mapping[str, Json] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Compacted(Special):
    """A compaction item that covers everything before it."""


def commentary(text: str) -> Commentary:
    """Make a message beside the answer, as models write before they call tools."""
    return Commentary(text)


def refused(text: str) -> Declined:
    """Make a refusal of the model."""
    return Declined(text)


def failure(message: str, *, code: str = "server_error") -> Failure:
    """Make the end of an answer that failed; as JSON it is the error of the response."""
    return Failure(message, code)


def nested_error(message: str, *, code: str | None = None) -> NestedError:
    """Make an error event of the nested form."""
    return NestedError(message, code)


def event(type: str, **fields: Json) -> Event:
    """Make an event of any type."""
    return Event(type, fields)


def item(value: Mapping[str, Json]) -> Item:
    """Make any output item."""
    return Item(value)


def compacted() -> Compacted:
    """Make a compaction item, whatever the threshold is."""
    return Compacted()
