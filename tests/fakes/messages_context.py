"""What the model sees for a request of the Messages API: its blocks one after another, merged into turns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fakes.chat_replies import Json

THOUGHTS = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Place:
    """One block and where it stands: the number of its message, its own number in there, the role."""

    message: int
    index: int
    role: str
    block: Json = field(hash=False)

    @property
    def path(self) -> str:
        """Where it stands, as the API says it."""
        return f"messages.{self.message}.content.{self.index}"

    @property
    def kind(self) -> str:
        """The type of the block."""
        return str(self.block["type"])


@dataclass(slots=True)
class Cost:
    """Tokens of a context: all of them, those read from the cache, and those written for 5 minutes and an hour."""

    tokens: int = 0
    cached: int = 0
    short: int = 0
    long: int = 0


@dataclass(slots=True, kw_only=True)
class View:
    """What the model sees. `sent` are the blocks of the request, `dropped` tells which of them are withheld.

    `resumes` says that a paused answer goes on.
    """

    body: Json = field(repr=False)
    version: str
    betas: tuple[str, ...]
    sent: list[Place] = field(repr=False)
    dropped: list[Json] = field(default_factory=list)
    resumes: bool = False
    cost: Cost = field(default_factory=Cost)

    @property
    def model(self) -> str:
        """The model that was asked."""
        return str(self.body.get("model"))

    @property
    def system(self) -> list[Json]:
        """The blocks of the system prompt."""
        return [bare(block) for block in blocks_of(self.body.get("system") or [])]

    @property
    def tools(self) -> list[Json]:
        """The tools."""
        return [bare(tool) for tool in self.body.get("tools") or ()]

    @property
    def thinking(self) -> Json:
        """The settings of thinking; an empty object when there are none."""
        return self.body.get("thinking") or {}

    @property
    def messages(self) -> list[Json]:
        """The turns: messages of one role in a row are one, texts are blocks."""
        gone = {drop["path"] for drop in self.dropped}
        seen = [place for place in self.sent if place.path not in gone]
        return [
            {"role": turn[0].role, "content": [bare(place.block) for place in turn]} for turn in turns_of(seen)
        ]

    @property
    def breakpoints(self) -> list[str]:
        """Where `cache_control` stands, in the order in which the cache reads."""
        return [path for path, _ in breakpoints_in(self.body)]

    @property
    def text(self) -> str:
        """All that the model sees, as JSON to search in."""
        return json.dumps([self.system, self.tools, self.messages], ensure_ascii=False)

    @property
    def tokens(self) -> int:
        """All tokens of the context."""
        return self.cost.tokens

    @property
    def cached(self) -> int:
        """Tokens read from the cache."""
        return self.cost.cached

    @property
    def written(self) -> int:
        """Tokens written into the cache."""
        return self.cost.short + self.cost.long


def blocks_of(content: Json) -> list[Json]:
    """Give a content as blocks."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def places_in(messages: Iterable[Json]) -> list[Place]:
    """Give all blocks of messages with their places."""
    return [
        Place(at, index, message["role"], block)
        for at, message in enumerate(messages)
        for index, block in enumerate(blocks_of(message["content"]))
    ]


def turns_of(places: Sequence[Place]) -> list[list[Place]]:
    """Part blocks into turns: runs of one role."""
    turns: list[list[Place]] = []
    for place in places:
        if turns and turns[-1][0].role == place.role:
            turns[-1].append(place)
        else:
            turns.append([place])
    return turns


def bare(block: Json) -> Json:
    """Give a block without what only the cache reads."""
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        block = {**block, "content": [bare(inner) for inner in block["content"]]}
    return {key: value for key, value in block.items() if key != "cache_control"}


def breakpoints_in(body: Json) -> list[tuple[str, str]]:
    """Give the places of `cache_control` and their lifetimes, tools first, the top-level one last."""
    found = [pair for path, block in _holders(body) for pair in _marks(path, block)]
    return [*found, *(("top", ttl) for _, ttl in _marks("top", body))]


def lifetime(block: Json) -> str | None:
    """Give the lifetime that a block asks for, itself or inside; None when it asks for none."""
    marks = list(_marks("", block))
    return marks[-1][1] if marks else None


def _holders(body: Json) -> Iterator[tuple[str, Json]]:
    for at, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{at}", tool
    for at, block in enumerate(blocks_of(body.get("system") or [])):
        yield f"system.{at}", block
    for place in places_in(body["messages"]):
        yield place.path, place.block


def _marks(path: str, block: Json) -> Iterator[tuple[str, str]]:
    inner = block.get("content")
    for at, one in enumerate(inner if isinstance(inner, list) else ()):
        if isinstance(one, dict):
            yield from _marks(f"{path}.content.{at}", one)
    control = block.get("cache_control")
    if control:
        yield path, control.get("ttl") or "5m"
