"""Streams of the Interactions API as Google sends them, each event judged by Google's own models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from google.genai._gaos.types.interactions.interactionsseevent import InteractionSSEEvent
from pydantic import BaseModel, TypeAdapter

from providers.provider_streams import Heard
from trimtab_plugins.providers.gemini import Gemini
from trimtab_sdk import Answer, Encoded, Fault, ProviderCall, ProviderFaultError, ServerEvent

Json = dict[str, Any]
DONE = "[DONE]"
INTERACTION = "v1_ChdYb2tPYQ"
CALL = ProviderCall(
    model="m", prompt=Encoded([{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}])
)


def created(**fields: object) -> Json:
    """The first event."""
    told = {"id": INTERACTION, "status": "in_progress", "object": "interaction", "model": "gemini-3.8-flash"}
    return {"event_type": "interaction.created", "interaction": {**told, **fields}}


def status_update(status: str, **fields: object) -> Json:
    """An event in between that tells the status."""
    told = {"event_type": "interaction.status_update", "interaction_id": INTERACTION, "status": status}
    return {**told, **fields}


def completed(status: str = "completed", **fields: object) -> Json:
    """The last event; None leaves a field out."""
    told = {"id": INTERACTION, "status": status, **fields}
    told = {key: value for key, value in told.items() if value is not None}
    return {"event_type": "interaction.completed", "interaction": told}


def start(index: int, kind: str, **fields: object) -> Json:
    """The start of a step."""
    return {"event_type": "step.start", "index": index, "step": {"type": kind, **fields}}


def delta(index: int, kind: str, **fields: object) -> Json:
    """More of a step."""
    return {"event_type": "step.delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: int) -> Json:
    """The end of a step."""
    return {"event_type": "step.stop", "index": index}


def said(*texts: str, index: int = 0) -> list[Json]:
    """A whole step of text."""
    return [start(index, "model_output"), *(delta(index, "text", text=text) for text in texts), stop(index)]


def thought(signature: str, *texts: str, index: int = 0) -> list[Json]:
    """A whole thought."""
    summaries = (delta(index, "thought_summary", content={"type": "text", "text": text}) for text in texts)
    signed = delta(index, "thought_signature", signature=signature)
    return [start(index, "thought"), *summaries, signed, stop(index)]


def called(index: int, call_id: str, name: str, *fragments: str) -> list[Json]:
    """A whole call of a function."""
    pieces = (delta(index, "arguments_delta", arguments=piece) for piece in fragments)
    return [start(index, "function_call", id=call_id, name=name, arguments={}), *pieces, stop(index)]


def server_events(events: Iterable[object]) -> list[ServerEvent]:
    """Events as they come over the line; a text goes as it is."""
    return [
        ServerEvent(event, "done" if event == DONE else "")
        if isinstance(event, str)
        else ServerEvent(json.dumps(event), str(event["event_type"]) if isinstance(event, dict) else "")
        for event in events
    ]


def heard(*events: object, keep: bool = False, official: bool = True) -> Heard:
    """Read a whole stream. `official` has the events judged first."""
    if official:
        assert [fault for event in events for fault in event_faults(event)] == []
    return Heard([one for event in parsed(*events, keep=keep) for one in event])


def parsed(*events: object, keep: bool = False) -> list[list[Any]]:
    """What each event means."""
    reader = Gemini().reader(ProviderCall(model="m", prompt=CALL.prompt, keep=keep))
    told = [list(reader.parse(event)) for event in server_events(events)]
    if not any(isinstance(one, Answer) for events_told in told for one in events_told):
        assert reader.end() is None
    return told


def fault_in(*events: object) -> Fault:
    """Read a stream that tells an error or cannot be read."""
    with pytest.raises(ProviderFaultError) as caught:
        parsed(*events)
    return caught.value.fault


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(InteractionSSEEvent)


def event_faults(event: object) -> list[str]:
    """Tell what of an event Google's models do not know; raise pydantic's error for what they refuse."""
    if event == DONE:
        return []
    return [f"the models do not know {value!r}" for value in _unknown(_adapter().validate_python(event))]


def _unknown(value: object) -> list[object]:
    if isinstance(value, BaseModel):
        own = [value] if type(value).__name__.startswith("Unknown") else []
        return [*own, *(one for inner in vars(value).values() for one in _unknown(inner))]
    return [one for item in value for one in _unknown(item)] if isinstance(value, list) else []
