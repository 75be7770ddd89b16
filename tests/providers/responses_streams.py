"""Streams of OpenAI's Responses as its server sends them, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from trimtab_plugins.providers.openai import OpenAI
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
    Usage,
)

Json = dict[str, Any]
USAGE: Json = {
    "input_tokens": 120,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 32},
    "output_tokens": 40,
    "output_tokens_details": {"reasoning_tokens": 25},
    "total_tokens": 160,
}
SEAL = "gAAAAABo/7+Zw==\u2028\n é"


def message(*texts: str, at: int = 1, **fields: object) -> Json:
    """An item with an answer."""
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    head = {"type": "message", "id": f"msg_{at}", "role": "assistant", "status": "completed"}
    return {**head, "content": content, **fields}


def reasoning(*summary: str, at: int = 1, **fields: object) -> Json:
    """An item with sealed reasoning."""
    told = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": f"rs_{at}", "summary": told, "encrypted_content": SEAL, **fields}


def call(name: str, arguments: str, at: int = 1, **fields: object) -> Json:
    """An item with a call of a function."""
    named = {"type": "function_call", "id": f"fc_{at}", "call_id": f"call_{at}", "name": name}
    return {**named, "arguments": arguments, "status": "completed", **fields}


def response(*output: Json, status: str = "completed", **fields: object) -> Json:
    """A whole response, as the last event holds it."""
    made: Json = {
        "id": "resp_7f",
        "object": "response",
        "created_at": 1_780_000_000,
        "model": "gpt-6-astra",
        "status": status,
        "service_tier": "default",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": USAGE,
    }
    return {**made, **fields}


def event(kind: str, **fields: object) -> Json:
    """An event; a number is given to it when it is sent."""
    return {"type": f"response.{kind}", **fields}


def begun(item: Json, at: int = 0) -> Json:
    """The event with which an item begins: nothing of it is there yet, and its seal is half."""
    empty = {"content": [], "arguments": "", "input": "", "encrypted_content": "half", "summary": []}
    bare = {key: empty.get(key, value) for key, value in item.items()}
    return event("output_item.added", output_index=at, item={**bare, "status": "in_progress"})


def done(item: Json, at: int = 0) -> Json:
    """The event with an item that is whole."""
    return event("output_item.done", output_index=at, item=item)


def delta(kind: str, text: str, at: int = 0, **fields: object) -> Json:
    """More of something: `kind` is the middle of the event's name."""
    inside: Json = {"item_id": f"item_{at}", "output_index": at, "delta": text}
    if kind in ("output_text", "refusal", "reasoning_text"):
        inside["content_index"] = 0
    if kind == "output_text":
        inside["logprobs"] = []
    if kind == "reasoning_summary_text":
        inside["summary_index"] = 0
    return event(f"{kind}.delta", **{**inside, **fields})


def completed(*output: Json, **fields: Any) -> Json:
    """The event that ends an answer well."""
    return event("completed", response=response(*output, **fields))


def whole(*items: Json, **fields: Any) -> list[Json]:
    """A stream without deltas: each item begins and is done."""
    pairs = [one for at, item in enumerate(items) for one in (begun(item, at), done(item, at))]
    return [
        event("created", response=response(status="in_progress", usage=None)),
        *pairs,
        completed(*items, **fields),
    ]


def server_events(events: Iterable[object]) -> list[ServerEvent]:
    """Events as they come in a stream, numbered; a text goes as it is, without a name."""
    return [
        ServerEvent(one)
        if isinstance(one, str)
        else ServerEvent(json.dumps({"sequence_number": at, **one}), event=str(one.get("type", "")))
        for at, one in enumerate(events)
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

    @property
    def usages(self) -> list[Usage]:
        return [one for one in self.events if isinstance(one, Usage)]

    def arguments_told(self, call_id: str) -> str:
        deltas = [one for one in self.events if isinstance(one, ToolCallDelta)]
        return "".join(one.arguments for one in deltas if one.call_id == call_id)


def asked(*, keep: bool = False) -> ProviderCall:
    """A call that a reader is made for."""
    return ProviderCall(model="gpt-6-astra", prompt=Encoded([]), keep=keep)


def heard(*events: object, keep: bool = False) -> Heard:
    """Read a whole stream."""
    reader = OpenAI().reader(asked(keep=keep))
    told = [one for each in server_events(events) for one in reader.parse(each)]
    assert reader.end() is None
    return Heard(told)


def fault_in(*events: object) -> Fault:
    """Read a stream that tells an error or is none; give the fault of its last event."""
    reader = OpenAI().reader(asked())
    *before, last = server_events(events)
    for one in before:
        reader.parse(one)
    with pytest.raises(ProviderFaultError) as caught:
        reader.parse(last)
    return caught.value.fault
