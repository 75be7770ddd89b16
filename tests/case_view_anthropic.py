"""The view of Anthropic messages."""

from __future__ import annotations

from collections.abc import Iterator

from case_files import Json
from case_views import Call, View, compact, strings_in

_KNOWN = frozenset(
    {"text", "tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "search_result"}
)
_THINKING = frozenset({"thinking", "redacted_thinking"})
_PRICED = frozenset({"text", "tool_use", "tool_result", "thinking"})


def blocks_in(content: Json) -> list[Json]:
    """Give a content as blocks: a text is one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def anthropic_view(message: Json) -> View:
    """See one message; one of nothing but results is the tool's."""
    blocks = blocks_in(message["content"])
    kinds = [block["type"] for block in blocks]
    inner = [one for block in _of(blocks, "tool_result") for one in blocks_in(block.get("content"))]
    words = (*_words(blocks), *_words(inner))
    return View(
        role="tool" if kinds and set(kinds) == {"tool_result"} else message["role"],
        texts=(*words, *(block["thinking"] for block in _of(blocks, "thinking"))),
        words=words,
        calls=tuple(Call(one["id"], one["name"], compact(one["input"])) for one in _of(blocks, "tool_use")),
        answers=tuple(block["tool_use_id"] for block in _of(blocks, "tool_result")),
        data=tuple(_data([*blocks, *inner])),
        thinks=not _THINKING.isdisjoint(kinds),
        other=not _KNOWN.issuperset(kinds),
        is_priced=all(block["type"] in _PRICED for block in [*blocks, *inner]),
    )


def _of(blocks: list[Json], kind: str) -> list[Json]:
    return [block for block in blocks if block["type"] == kind]


def _words(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        if block["type"] == "text":
            yield block["text"]
        elif block["type"] == "search_result":
            yield from strings_in(block["content"])
        elif block["type"] == "document" and block["source"]["type"] == "text":
            yield block["source"]["data"]


def _data(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        source = block.get("source")
        if block["type"] in ("image", "document") and source["type"] != "text":
            yield source.get("data") or source.get("url") or source.get("file_id") or compact(source)
