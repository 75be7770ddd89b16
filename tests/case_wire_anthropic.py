"""What an Anthropic server refuses, written down apart from the codec and from its tests.

The rules are those of the public documentation: what a block may be and who may say it, every call answered at
once and in front, ids used once, nothing blank, no answer of thinking alone, the user first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from case_files import Json
from case_view_anthropic import blocks_in

_ID = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})
_USER_ONLY = frozenset({"tool_result", "image", "document", "search_result"})
_IN_RESULT = frozenset({"text", "image", "document", "search_result", "tool_reference"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
_TEXT_OF = {"text": "text", "thinking": "thinking", "redacted_thinking": "data", "tool_use": "name"}
_MOST_BREAKPOINTS = 4


def anthropic_faults(messages: Sequence[Json], system: Json = None) -> list[str]:
    """Give one sentence for each fault; none means a server takes the conversation."""
    faults = [f"{at}: {fault}" for at, message in enumerate(messages) for fault in _message_faults(message)]
    if faults:
        return faults
    every = [block for message in messages for block in blocks_in(message["content"])]
    return [
        *_system_faults(system),
        *_breakpoint_faults([*blocks_in(system), *every]),
        *_id_faults(every),
        *_turn_faults(messages),
    ]


def _message_faults(message: Json) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        yield f"role {role!r}"
    elif not isinstance(content, str | list) or not content:
        yield "empty content"
    else:
        for block in blocks_in(content):
            yield from _block_faults(block, role)


def _block_faults(block: Json, role: str) -> Iterator[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str):
        yield "a block without type"
        return
    if kind in (_USER_ONLY if role == "assistant" else _ASSISTANT_ONLY):
        yield f"{kind} said by the {role}"
    if kind in _TEXT_OF and not isinstance(block.get(_TEXT_OF[kind]), str):
        yield f"{kind} without {_TEXT_OF[kind]}"
    elif kind == "text" and not block["text"].strip():
        yield "blank text"
    elif kind == "thinking" and not block.get("signature"):
        yield "thinking without signature"
    elif kind == "tool_use" and not isinstance(block.get("input"), dict):
        yield "tool_use whose input is no object"
    elif kind == "tool_use" and not _ID.fullmatch(str(block.get("id"))):
        yield f"tool_use with the id {block.get('id')!r}"
    elif kind == "tool_result":
        yield from _result_faults(block)
    elif kind in ("image", "document") and not isinstance(block.get("source"), dict):
        yield f"{kind} without source"


def _result_faults(block: Json) -> Iterator[str]:
    if not isinstance(block.get("tool_use_id"), str):
        yield "tool_result without tool_use_id"
    content = block.get("content", "")
    if not isinstance(content, str | list):
        yield "tool_result whose content is neither text nor blocks"
    for inner in content if isinstance(content, list) else ():
        if inner.get("type") not in _IN_RESULT:
            yield f"{inner.get('type')} inside a tool_result"
        yield from _block_faults(inner, "user")


def _system_faults(system: Json) -> Iterator[str]:
    for block in blocks_in(system):
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            yield f"system: {block!r}"
        elif isinstance(system, list) and not block["text"].strip():
            yield "system: blank text"


def _breakpoint_faults(blocks: Sequence[Json]) -> Iterator[str]:
    count = sum("cache_control" in block for block in blocks)
    if count > _MOST_BREAKPOINTS:
        yield f"{count} cache breakpoints"


def _id_faults(blocks: Sequence[Json]) -> Iterator[str]:
    ids = Counter(block["id"] for block in blocks if block["type"] == "tool_use")
    yield from (f"id {name} is used {count} times" for name, count in ids.items() if count > 1)


def _turn_faults(messages: Sequence[Json]) -> Iterator[str]:
    turns = _turns(messages)
    if turns and turns[0][0] == "assistant" and turns[0][1][0]["type"] != "compaction":
        yield "the assistant speaks first"
    open_calls: list[str] = []
    for role, blocks in turns:
        if role == "assistant" and all(block["type"] in _THINKING for block in blocks):
            yield "an answer of thinking alone"
        if role == "user":
            yield from _answer_faults(blocks, open_calls)
        open_calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if open_calls:
        yield f"no results for {open_calls}"
    yield from _spread_faults(messages)


def _turns(messages: Sequence[Json]) -> list[tuple[str, list[Json]]]:
    """Messages of one role in a row are one turn to the server."""
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        if not turns or turns[-1][0] != message["role"]:
            turns.append((message["role"], []))
        turns[-1][1].extend(blocks_in(message["content"]))
    return turns


def _answer_faults(blocks: Sequence[Json], open_calls: list[str]) -> Iterator[str]:
    answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    if Counter(answered) != Counter(open_calls):
        yield f"calls {open_calls}, results {answered}"
    kinds = [block["type"] == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        yield "a result behind something else"


def _spread_faults(messages: Sequence[Json]) -> Iterator[str]:
    """All results of an answer stand in one message."""
    for at, message in enumerate(messages[1:], 1):
        if message["role"] == "user" == messages[at - 1]["role"] and _has_result(message):
            yield f"{at}: results of one answer in two messages"


def _has_result(message: Json) -> bool:
    return any(block["type"] == "tool_result" for block in blocks_in(message["content"]))
