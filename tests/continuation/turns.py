"""Turns, stored envelopes and random messages for the tests of continuation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from factories import message
from trimtab.continuation import (
    HistoryChain,
    StoreEnvelope,
    TurnEnd,
    TurnFacts,
    chain_history,
    decide_turn_persistence,
    system_prompt_hash,
    toolset_hash,
)
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

SYSTEM = [message("s", "system", "You keep the books of a harbour.", source="system")]
TOOLS: list[object] = [{"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}]
TALK = [message("u1"), message("a1", "assistant")]
INPUT = message("u2")


def facts(messages: Sequence[Message] = (*TALK, INPUT), **changes: Any) -> TurnFacts:
    """The facts of a turn with `openai` that would send these messages."""
    known: dict[str, Any] = {
        "provider": "openai",
        "mode": "responses",
        "model_name": "gpt-6-astra",
        "system_prompt_hash": system_prompt_hash(SYSTEM),
        "toolset_hash": toolset_hash(TOOLS),
        "history": chain_history(messages),
    }
    return TurnFacts(**known | changes)


def stored(messages: Sequence[Message] = TALK, cursor: str = "resp_1", **changes: Any) -> str:
    """What a completed turn stored whose cursor stands for these messages."""
    write = decide_turn_persistence(ended(messages, cursor=cursor, turn=facts((), **changes)))
    assert isinstance(write, StoreEnvelope)
    return write.stored


def ended(messages: Sequence[Message] = TALK, **changes: Any) -> TurnEnd:
    """A completed turn whose cursor stands for these messages."""
    known: dict[str, Any] = {"turn": facts(), "outcome": "completed", "cursor": "resp_1"}
    return TurnEnd(**known | {"history": chain_history(messages)} | changes)


def chain(*ids: str) -> HistoryChain:
    """The chain of user messages whose text is their id."""
    return chain_history([message(name) for name in ids])


JSON: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.text(max_size=8)
CONTENT: st.SearchStrategy[Any] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Image, WORDS, WORDS, WORDS, WORDS),
    st.builds(File, WORDS, WORDS, WORDS, WORDS, WORDS, WORDS),
    st.builds(Audio, WORDS, WORDS, WORDS),
    st.builds(Unknown, JSON),
)
SENT_PARTS: st.SearchStrategy[Part] = st.one_of(
    CONTENT,
    st.builds(ToolCall, WORDS, WORDS, WORDS),
    st.builds(ToolResult, WORDS, WORDS | st.lists(CONTENT, max_size=2).map(tuple), st.booleans()),
    st.builds(Reasoning, WORDS, WORDS),
    st.builds(ApprovalRequest, WORDS, WORDS),
    st.builds(ApprovalResponse, WORDS, st.booleans()),
    st.builds(Compaction, WORDS, WORDS),
)
NOTICES = st.builds(Notice, WORDS)
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool"])


@st.composite
def histories(draw: st.DrawFn, *, min_size: int = 0, max_size: int = 6) -> list[Message]:
    """Messages of a talk with every kind of part; ids are unique."""
    length = draw(st.integers(min_size, max_size))
    return [
        Message(
            f"m{at}",
            draw(st.sampled_from(["user", "assistant", "tool"])),
            tuple(draw(st.lists(SENT_PARTS, min_size=1, max_size=3))),
            name=draw(st.none() | WORDS),
        )
        for at in range(length)
    ]
