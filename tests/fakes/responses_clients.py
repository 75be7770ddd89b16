"""Ways to ask the fake Responses API: the official client's, and bodies that no client has an opinion of."""

from __future__ import annotations

import json
from collections.abc import Sequence

import httpx
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from fakes.chat_replies import Json
from fakes.responses_items import Item

LOOKUP: Json = {
    "type": "function",
    "name": "lookup",
    "description": "Look a number up.",
    "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    "strict": False,
}
_EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


def user(text: str) -> Item:
    """Give a user's message."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def output(call_id: str, text: str = "found") -> Item:
    """Give the output of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def body_of_items(*items: Item, **keys: Json) -> Json:
    """Give a body with items as its input."""
    return {"model": "m", "input": list(items), **keys}


def send(base_url: str, *items: Item, path: str = "/responses", **keys: Json) -> httpx.Response:
    """Send items."""
    return httpx.post(f"{base_url}{path}", json=body_of_items(*items, **keys), timeout=10, verify=False)


def answer(base_url: str, *items: Item, **keys: Json) -> Json:
    """Send items and give the response, which is asked for as JSON and has to come."""
    got = send(base_url, *items, **keys)
    assert got.status_code == 200, got.text
    return got.json()


def error(base_url: str, *items: Item, **keys: Json) -> Json:
    """Send items and give the error, with its status."""
    got = send(base_url, *items, **keys)
    assert got.is_error, got.text
    return {"status": got.status_code, **got.json()["error"]}


def events(base_url: str, *items: Item, **keys: Json) -> list[Json]:
    """Ask for a stream and give its events, as far as they come."""
    body = body_of_items(*items, stream=True, **keys)
    with httpx.stream("POST", f"{base_url}/responses", json=body, timeout=10, verify=False) as got:
        try:
            lines = list(got.iter_lines())
        except httpx.RemoteProtocolError:
            return []
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def check_events(told: Sequence[Json]) -> None:
    """See that events are of the official types and in order. Raises ValueError."""
    for event in told:
        _EVENTS.validate_python(event)
    if [event["sequence_number"] for event in told] != list(range(len(told))):
        raise ValueError("the sequence numbers do not count")


def types_of(told: Sequence[Json]) -> list[str]:
    """Give the types of events, without what they all begin with."""
    return [event["type"].removeprefix("response.") for event in told]
