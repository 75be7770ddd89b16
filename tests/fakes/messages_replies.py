"""The parts of an answer that only the fake Messages server knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes.chat_replies import Json, Special
from fakes.interactions_replies import PAUSE, Delta, Hop, delta


@dataclass(frozen=True, slots=True)
class Block(Special):
    """A block that comes whole in its start."""

    value: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class Search(Special):
    """A web search that the server does itself."""

    query: str
    call_id: str | None


@dataclass(frozen=True, slots=True)
class Cited(Special):
    """A block of text with citations."""

    text: str
    citations: tuple[Json, ...] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Event(Special):
    """Any event."""

    kind: str
    fields: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class Declined(Special):
    """Why an answer ends as a refusal."""

    category: str | None
    explanation: str | None


class Redacted(Special):
    """Thinking that nobody but the server can read."""

    __slots__ = ()


def block(value: Json) -> Block:
    """Make any block."""
    return Block(value)


def search(query: str, *, call_id: str | None = None) -> Search:
    """Make a `server_tool_use` of the web search; without an id the server makes one."""
    return Search(query, call_id)


def found(call_id: str, *, url: str = "https://example.org/", title: str = "A page") -> Block:
    """Make the `web_search_tool_result` of a search, with one page."""
    page = {"type": "web_search_result", "url": url, "title": title, "encrypted_content": "ZW5j", "page_age": None}
    return Block({"type": "web_search_tool_result", "tool_use_id": call_id, "content": [page]})


def cited(text: str, *citations: Json) -> Cited:
    """Make a block of text with citations."""
    return Cited(text, citations)


def event(kind: str, **fields: Json) -> Event:
    """Make any event."""
    return Event(kind, fields)


def ping() -> Event:
    """Make the event that says nothing."""
    return Event("ping", {})


def declined(category: str | None = None, explanation: str | None = None) -> Declined:
    """Let an answer end as a refusal."""
    return Declined(category, explanation)


def redacted() -> Redacted:
    """Make a `redacted_thinking` block."""
    return Redacted()


__all__ = [
    "PAUSE",
    "Block",
    "Cited",
    "Declined",
    "Delta",
    "Event",
    "Hop",
    "Redacted",
    "Search",
    "block",
    "cited",
    "declined",
    "delta",
    "event",
    "found",
    "ping",
    "redacted",
    "search",
]
