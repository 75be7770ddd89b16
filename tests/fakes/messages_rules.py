"""Rules of the Messages API on blocks and turns: what may stand where, and what may not be empty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.messages_context import THOUGHTS, Place, blocks_of, turns_of
from fakes.messages_types import NEW_VERSION

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ONLY_OF = {
    "tool_result": "user",
    "image": "user",
    "search_result": "user",
    "tool_use": "assistant",
    "server_tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
}
EXPECTED = (
    "Expected `thinking` or `redacted_thinking`, but found `{kind}`. When `thinking` is enabled, a final "
    "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
    "`tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this "
    "requirement, disable `thinking`."
)


def content_faults(body: Json, places: Sequence[Place], *, version: str, mid_system: bool) -> Iterator[Wrong]:
    """Judge blocks one by one."""
    for at, block in enumerate(blocks_of(body.get("system") or [])):
        yield from _text_faults(block, f"system.{at}", "system")
    for at, message in enumerate(body["messages"]):
        if message["content"] == []:
            yield Wrong(f"messages.{at}: all messages must have non-empty content", f"messages.{at}.content")
        if message["role"] == "system" and not mid_system:
            yield Wrong(f"messages.{at}.role: this model takes no `system` messages", f"messages.{at}.role")
    for place in places:
        yield from _block_faults(place)
        if version == NEW_VERSION:
            yield from _new_faults(place)


def turn_faults(places: Sequence[Place]) -> Iterator[Wrong]:
    """Judge who speaks first, and how the assistant's turns end."""
    turns = [turn for turn in turns_of(places) if turn[0].role != "system"]
    if not turns:
        yield Wrong("messages: no message of the user", "messages")
    elif turns[0][0].role != "user" and turns[0][0].kind != "compaction":
        yield Wrong('messages: first message must use the "user" role', "messages.0.role")
    for turn in turns:
        if turn[0].role == "assistant" and turn[-1].kind in THOUGHTS:
            at = turn[-1].message
            yield Wrong(f"messages.{at}: The final block in an assistant message cannot be `thinking`.")


def loop_faults(places: Sequence[Place]) -> Iterator[Wrong]:
    """Judge how an open tool loop begins."""
    if not places or places[-1].role == "assistant":
        return
    first: Place | None = None
    for turn in reversed(turns_of(places)):
        if turn[0].role == "assistant":
            first = turn[0]
        elif turn[0].role == "user" and turn[0].kind != "tool_result":
            break
    if first is not None and first.kind not in THOUGHTS:
        yield Wrong(f"{first.path}.type: {EXPECTED.format(kind=first.kind)}", first.path)


def is_in_loop(places: Sequence[Place]) -> bool:
    """Whether the last to speak are results, so that the assistant's turn has begun already."""
    turns = [turn for turn in turns_of(places) if turn[0].role != "system"]
    return bool(turns) and (turns[-1][0].role == "assistant" or turns[-1][0].kind == "tool_result")


def _block_faults(place: Place) -> Iterator[Wrong]:
    block = place.block
    wanted = _ONLY_OF.get(place.kind, place.role)
    if wanted != place.role or (place.role == "system" and place.kind != "text"):
        yield Wrong(f"{place.path}: `{place.kind}` blocks cannot be in `{place.role}` messages", place.path)
    elif place.kind == "text":
        yield from _text_faults(block, place.path, f"messages.{place.message}")
    elif place.kind == "tool_use" and not _ID.fullmatch(block["id"]):
        yield Wrong(f"{place.path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", place.path)
    elif place.kind == "tool_result" and isinstance(block.get("content"), list):
        for at, inner in enumerate(block["content"]):
            yield from _text_faults(inner, f"{place.path}.content.{at}", f"messages.{place.message}")


def _text_faults(block: Json, path: str, place: str) -> Iterator[Wrong]:
    if block["type"] != "text":
        return
    if not block["text"]:
        yield Wrong(f"{place}: text content blocks must be non-empty", path)
    elif not block["text"].strip():
        yield Wrong(f"{place}: text content blocks must contain non-whitespace text", path)


def _new_faults(place: Place) -> Iterator[Wrong]:
    if place.role == "assistant" and place.kind == "document":
        yield Wrong(f"{place.path}: `document` blocks cannot be in `assistant` messages", place.path)
    if place.role == "user" and place.block.get("citations") and place.kind == "text":
        yield Wrong(f"{place.path}.citations: `citations` cannot be in `user` messages", place.path)
