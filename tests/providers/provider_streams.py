"""Streams of Chat Completions as servers send them, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from trimtab_plugins.providers.openai_compatible import OpenAICompatible
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
    Usage,
)

DONE = "[DONE]"
CALL = ProviderCall(model="m", prompt=Encoded([{"role": "user", "content": "hi"}]))


def delta(finish: str | None = None, **fields: object) -> dict[str, Any]:
    """A chunk with one choice; `finish` is its finish_reason."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {"id": "chatcmpl-7f", "object": "chat.completion.chunk", "model": "m-1", "choices": [choice]}


def fragment(arguments: object = None, **fields: object) -> dict[str, Any]:
    """A chunk with one piece of a tool call; `name` goes into its function, None leaves a key out."""
    name = fields.pop("name", None)
    inside = {"name": name, "arguments": arguments}
    function = {key: value for key, value in inside.items() if value is not None}
    return delta(tool_calls=[{**fields, "function": function}])


def usage(**figures: object) -> dict[str, Any]:
    """The extra chunk with the usage and no choice."""
    return {"id": "chatcmpl-7f", "object": "chat.completion.chunk", "choices": [], "usage": figures}


def server_events(chunks: Iterable[object]) -> list[ServerEvent]:
    """Chunks as the events of a stream; a text goes as it is."""
    return [ServerEvent(chunk if isinstance(chunk, str) else json.dumps(chunk)) for chunk in chunks]


@dataclass(frozen=True)
class Heard:
    """What a reader gave."""

    events: Sequence[ProviderEvent]

    @property
    def answer(self) -> Answer:
        answers = [event for event in self.events if isinstance(event, Answer)]
        assert len(answers) == 1
        assert self.events[-1] is answers[0]
        return answers[0]

    @property
    def item(self) -> dict[str, Any]:
        (item,) = self.answer.items
        assert isinstance(item, dict)
        return item

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ReasoningDelta))

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        done = [event for event in self.events if isinstance(event, ToolCallCompleted)]
        return [(event.call_id, event.name, event.arguments) for event in done]

    @property
    def usages(self) -> list[Usage]:
        return [event for event in self.events if isinstance(event, Usage)]

    def arguments_told(self, call_id: str) -> str:
        deltas = [event for event in self.events if isinstance(event, ToolCallDelta)]
        return "".join(event.arguments for event in deltas if event.call_id == call_id)


def heard(*chunks: object) -> Heard:
    """Read a whole stream; the end is asked only where no event was the answer."""
    reader = OpenAICompatible().reader(CALL)
    events = [event for one in server_events(chunks) for event in reader.parse(one)]
    if not any(isinstance(event, Answer) for event in events):
        answer = reader.end()
        assert answer is not None
        events.append(answer)
    return Heard(events)


def fault_in(*chunks: object) -> Fault:
    """Read a stream that tells an error or is none; give the fault of its last event."""
    reader = OpenAICompatible().reader(CALL)
    *before, last = server_events(chunks)
    for one in before:
        reader.parse(one)
    with pytest.raises(ProviderFaultError) as caught:
        reader.parse(last)
    return caught.value.fault
