"""Turns over HTTP for tests: ask, read events as a client does, and look at what is left."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from fakes.chat_server import ChatServer
from http_helpers import Running, make_app, running
from trimtab import Config
from trimtab.config import Server

LAST = ("turn_completed", "turn_failed", "turn_cancelled", "turn_paused")


@dataclass(frozen=True)
class Event:
    """An event as a client reads it."""

    id: int
    kind: str
    data: Mapping[str, Any]


def parse(block: str) -> Event | None:
    """Read one block of a stream; None for a comment or a hint."""
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, _, value = line.partition(": ")
        if name:
            assert name not in fields, block
            fields[name] = value
    if "data" not in fields:
        assert set(fields) <= {"retry"}, block
        return None
    data = json.loads(fields["data"])
    assert data["kind"] == fields["event"]
    return Event(int(fields["id"]), fields["event"], data)


def events_in(text: str) -> list[Event]:
    """All events in the text of a stream, which must end with a whole one."""
    assert text.endswith("\n\n") or not text, text[-200:]
    found = (parse(block) for block in text.split("\n\n") if block)
    return [event for event in found if event is not None]


async def reading(response: httpx.Response) -> AsyncIterator[Event]:
    """The events of a response as they come."""
    held = ""
    async for piece in response.aiter_text():
        held += piece
        *blocks, held = held.split("\n\n")
        for block in blocks:
            event = parse(block)
            if event is not None:
                yield event
    assert held == ""


def check_stream(events: Sequence[Event]) -> None:
    """What holds for the events of a turn that were read to the end."""
    assert [event.id for event in events] == list(range(events[0].id, events[0].id + len(events)))
    assert [event.kind for event in events if event.kind in LAST] == [events[-1].kind]


def text_of(events: Sequence[Event]) -> str:
    return "".join(event.data["text"] for event in events if event.kind == "text_delta")


def config_of(fake: ChatServer, **endpoint: Any) -> Config:
    """A configuration with `local` at a server."""
    local = {"driver": "openai-compatible", "base_url": fake.base_url, "retries": 0, **endpoint}
    return Config(providers={"local": local})


@contextmanager
def serving(
    place: str, fake: ChatServer, *tools: Any, server: Server | None = None, **options: Any
) -> Iterator[Running]:
    """A real server whose chats ask a fake one."""
    options.setdefault("config", config_of(fake))
    with running(make_app(place, *tools, server=server, **options)) as ready:
        yield ready


@dataclass(frozen=True)
class Chat:
    """A chat at a server, as a client has it."""

    client: httpx.AsyncClient
    id: str

    @classmethod
    async def begin(cls, client: httpx.AsyncClient, **fields: Any) -> Chat:
        body = {"provider": "local", "model": "gpt-4o", **fields}
        made = await client.post("/api/v2/chats", json=body)
        assert made.status_code == 201, made.text
        return cls(client, made.json()["id"])

    async def say(self, said: Any, *, headers: Mapping[str, str] | None = None, **more: Any) -> list[Event]:
        """Say something and read the events to the end."""
        return await self.post(f"/api/v2/chats/{self.id}/turns", {"input": said, **more}, headers=headers)

    async def retry(self) -> list[Event]:
        return await self.post(f"/api/v2/chats/{self.id}/retry", {})

    async def post(self, path: str, body: Any, *, headers: Mapping[str, str] | None = None) -> list[Event]:
        response = await self.client.post(path, json=body, headers=headers)
        assert response.status_code == 200, response.text
        assert response.headers["content-type"].startswith("text/event-stream")
        events = events_in(response.text)
        check_stream(events)
        return events

    async def events(self, turn_id: str, after: int = 0, **headers: str) -> list[Event]:
        """Read the events of a turn from one on."""
        response = await self.client.get(f"/api/v2/turns/{turn_id}/events?after={after}", headers=headers)
        assert response.status_code == 200, response.text
        return events_in(response.text)

    async def turn(self, turn_id: str) -> dict[str, Any]:
        response = await self.client.get(f"/api/v2/turns/{turn_id}")
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    async def cancel(self, turn_id: str) -> dict[str, Any]:
        response = await self.client.post(f"/api/v2/turns/{turn_id}/cancel")
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    async def texts(self) -> list[str]:
        """The stored messages, each as `role: text`."""
        response = await self.client.get(f"/api/v2/chats/{self.id}/messages")
        assert response.status_code == 200, response.text
        return [f"{one['role']}: {one['text']}" for one in response.json()["messages"]]

    async def audit_status(self) -> str:
        response = await self.client.get(f"/api/v2/chats/{self.id}/context-audit")
        assert response.status_code == 200, response.text
        return str(response.json()["status"])
