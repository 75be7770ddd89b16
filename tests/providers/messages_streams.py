"""Streams of Anthropic's Messages as its server sends them, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from trimtab_plugins.providers.anthropic import Anthropic
from trimtab_sdk import (
    Answer,
    Encoded,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderFaultError,
    ReasoningDelta,
    ServerEvent,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)

Json = dict[str, Any]
SEAL = "EqQBCkgIBRABGAIi/+Zw=="
USAGE: Json = {
    "input_tokens": 20,
    "cache_creation_input_tokens": 30,
    "cache_read_input_tokens": 70,
    "output_tokens": 1,
    "service_tier": "standard",
}


def start(**fields: object) -> Json:
    """The event that begins a message."""
    message: Json = {
        "id": "msg_7f",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    return {"type": "message_start", "message": {**message, **fields}}


def block(at: int, begun: Json, *deltas: Json, stops: bool = True) -> list[Json]:
    """The events of one block."""
    place = {"index": at}
    events = [{"type": "content_block_start", **place, "content_block": begun}]
    events += [{"type": "content_block_delta", **place, "delta": delta} for delta in deltas]
    return [*events, {"type": "content_block_stop", **place}] if stops else events


def says(at: int, *pieces: str, stops: bool = True) -> list[Json]:
    """A text in pieces."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return block(at, {"type": "text", "text": ""}, *deltas, stops=stops)


def thinks(at: int, *pieces: str, signature: str = SEAL) -> list[Json]:
    """Signed thinking in pieces."""
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    signed = [{"type": "signature_delta", "signature": signature}] if signature else []
    return block(at, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, *signed)


def asks(at: int, name: str, *pieces: str, kind: str = "tool_use", stops: bool = True) -> list[Json]:
    """A call of a tool, its arguments in pieces."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    begun = {"type": kind, "id": f"toolu_{at}", "name": name, "input": {}}
    return block(at, begun, *deltas, stops=stops)


def ends(reason: str | None = "end_turn", **fields: object) -> list[Json]:
    """The events that end a message."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    told: Json = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 40}}
    return [{**told, **fields}, {"type": "message_stop"}]


def whole(*blocks: list[Json], reason: str | None = "end_turn") -> list[Json]:
    """A message from its start to its end."""
    return [start(), *(event for one in blocks for event in one), *ends(reason)]


def server_events(events: Iterable[object]) -> list[ServerEvent]:
    """Events as they come in a stream; a text goes as it is, without a name."""
    return [
        ServerEvent(one) if isinstance(one, str) else ServerEvent(json.dumps(one), event=str(one.get("type", "")))
        for one in events
        if isinstance(one, str | dict)
    ]


@dataclass(frozen=True)
class Heard:
    """What a reader gave."""

    events: Sequence[ProviderEvent]

    @property
    def answer(self) -> Answer:
        answers = [one for one in self.events if isinstance(one, Answer)]
        assert len(answers) == 1
        assert self.events[-1] is answers[0]
        return answers[0]

    @property
    def content(self) -> list[Any]:
        (item,) = self.answer.items
        assert isinstance(item, dict)
        assert item.keys() == {"role", "content"}
        assert item["role"] == "assistant"
        return list(item["content"])

    @property
    def text(self) -> str:
        return "".join(one.text for one in self.events if isinstance(one, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(one.text for one in self.events if isinstance(one, ReasoningDelta))

    @property
    def started(self) -> list[tuple[str, str]]:
        return [(one.call_id, one.name) for one in self.events if isinstance(one, ToolCallStarted)]

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        ended = [one for one in self.events if isinstance(one, ToolCallCompleted)]
        return [(one.call_id, one.name, one.arguments) for one in ended]

    def arguments_told(self, call_id: str) -> str:
        deltas = [one for one in self.events if isinstance(one, ToolCallDelta)]
        return "".join(one.arguments for one in deltas if one.call_id == call_id)


def heard(*events: object) -> Heard:
    """Read a whole stream."""
    reader = Anthropic().reader(ProviderCall(model="claude-opus-5-5", prompt=Encoded([])))
    told = [one for each in server_events(events) for one in reader.parse(each)]
    assert reader.end() is None
    return Heard(told)


def fault_in(*events: object) -> Fault:
    """Read a stream that tells an error or is none; give the fault of its last event."""
    reader = Anthropic().reader(ProviderCall(model="claude-opus-5-5", prompt=Encoded([])))
    *before, last = server_events(events)
    for one in before:
        reader.parse(one)
    with pytest.raises(ProviderFaultError) as caught:
        reader.parse(last)
    return caught.value.fault
