"""Playing a case over HTTP: a real server on a port, a store in a file, a provider's server on loopback."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import httpx

from case_files import Case, Json
from case_formats import PROVIDERS
from case_turns_clock import Clock
from case_turns_fakes import FAKES, Fake, Sent
from case_turns_play import new_place, settings_of
from http_helpers import make_app, running
from http_turns import Event, check_stream, events_in, reading, text_of
from trimtab import Config
from trimtab.config import Server

GoneRule: TypeAlias = Literal["continue", "cancel"]
LEAVES = "disconnects after the second chunk"
_TRIES = 2
"""How often an endpoint is asked again: so that a case shows what is not repeated all the same."""


@dataclass(frozen=True)
class Asked:
    """One turn as a client had it.

    - `events` are those it read; a client that `left` read no more. `stream` is the text of the whole stream.
    - `met` is the turn as another connection saw it when the client had left, `turn` as it was in the end.
    - `messages` and `audit` are the chat's after it, `sent` its requests, `seconds` how long the end of the stream
      took to come after its last text.
    """

    name: str
    events: tuple[Event, ...]
    turn: Mapping[str, Json]
    messages: Sequence[Mapping[str, Json]]
    audit: Mapping[str, Json]
    sent: Sequence[Sent]
    seconds: float
    stream: str = ""
    left: bool = False
    met: Mapping[str, Json] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """How it ended."""
        return f"turn_{self.turn['state']}" if self.left else self.events[-1].kind


@dataclass(frozen=True)
class Refused:
    """A request that was sent as it is, and what became of it."""

    name: str
    status: int
    body: Mapping[str, Json]

    @property
    def code(self) -> str:
        own = self.body.get("error", {}).get("trimtab", {})
        return str(own.get("code") or self.body.get("code"))


@dataclass(frozen=True)
class HttpStory:
    """What came of a case over HTTP.

    `raw` are requests of another making, `chats` how many chats the owner has before and after those. `chat` and
    `preview` are as they are in the end.
    """

    label: str
    case: Case
    expect: Mapping[str, Json]
    asked: Sequence[Asked]
    faults: Sequence[str]
    left: int
    raw: Sequence[Refused] = ()
    chats: tuple[int, int] = (0, 0)
    chat: Mapping[str, Json] = field(default_factory=dict)
    preview: Mapping[str, Json] = field(default_factory=dict)

    @property
    def last(self) -> Asked:
        return self.asked[-1]

    def turn(self, name: str) -> Asked:
        return next(one for one in self.asked if one.name == name)


def play_http(case: Case, folder: Path) -> list[HttpStory]:
    """Play a case in every way it can go over HTTP, each on a store of its own in the folder."""
    return [_play(case, folder, *way) for way in _ways(case)]


def _ways(case: Case) -> Iterator[tuple[str, GoneRule, bool]]:
    """What a server does when a client is gone, and whether the provider ends just then."""
    steps = case.data.get("request", {}).get("steps", ())
    if any("client" in step for step in steps):
        yield "goes on", "continue", False
        yield "ends just then", "continue", True
        yield "is cancelled", "cancel", False
    else:
        yield "", "continue", False


def _play(case: Case, folder: Path, label: str, rule: GoneRule, ends_then: bool) -> HttpStory:
    provider = PROVIDERS[case.provider]
    with FAKES[provider.server](Clock()) as fake:
        endpoint = {
            "driver": provider.driver,
            "base_url": fake.base_url,
            "retries": _TRIES,
            "settings": dict(provider.settings),
        }
        server = Server(client_gone=rule)
        config = Config(providers={case.provider: endpoint})
        with running(make_app(str(new_place(folder)), config=config, server=server)) as served:
            player = _Player(case, fake, rule=rule, ends_then=ends_then)
            story = asyncio.run(player.play(served.url))
        name = f"{case.file} [{label}]" if label else case.file
        return replace(story, label=name, faults=tuple(fake.faults), left=fake.left)


class _Player:
    def __init__(self, case: Case, fake: Fake, *, rule: GoneRule, ends_then: bool) -> None:
        self._case = case
        self._fake = fake
        self._rule = rule
        self._ends_then = ends_then
        self._asked: list[Asked] = []
        self._chat_id = ""
        self._client: httpx.AsyncClient

    async def play(self, url: str) -> HttpStory:
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            self._client = client
            story = HttpStory("", self._case, _fields(self._case), self._asked, (), 0)
            if "raw_json" in self._case.data:
                return await self._play_raw(story)
            if "request" in self._case.data:
                await self._play_steps()
                return story
            return await self._play_messages(story)

    async def _play_steps(self) -> None:
        request = self._case.data["request"]
        await self._begin(system=request["chat"]["system"])
        for step in request["steps"]:
            self._fake.script([] if "client" in step else step["provider_replies"])
            if "client" in step:
                await self._leave(step)
            elif step["do"] == "turn":
                await self._turn(str(1 + len(self._asked)), "turns", {"input": step["user"]})
            else:
                assert step["do"] == "retry_last_turn", step
                await self._turn("retry", "retry", {})

    async def _play_messages(self, story: HttpStory) -> HttpStory:
        """Begin with all messages but the last, say that one, and look at what comes next."""
        *told, last = self._case.messages
        await self._begin(messages=told, format=self._case.format)
        self._fake.script([{"text": "Noted."}])
        await self._turn("1", "turns", {"input": last["content"]})
        preview = await self._client.post(
            "/api/v2/context-preview", json={"chatId": self._chat_id, "input": "And?"}
        )
        assert preview.status_code == 200, preview.text
        return replace(story, chat=await self._get(f"chats/{self._chat_id}"), preview=preview.json())

    async def _play_raw(self, story: HttpStory) -> HttpStory:
        """Send the raw text to every door that takes messages, whole and in parts; then say something sound."""
        await self._begin(system="Be brief.")
        before = len((await self._get("chats"))["chats"])
        raw = [await self._send_raw(*one) for one in _raw_requests(self._case, self._chat_id)]
        after = len((await self._get("chats"))["chats"])
        self._fake.script([{"text": "Still here."}])
        await self._turn("1", "turns", {"input": "Go on."})
        return replace(story, raw=raw, chats=(before, after))

    async def _send_raw(self, name: str, path: str, text: str) -> Refused:
        headers = {"Content-Type": "application/json"}
        response = await self._client.post(path, content=text.encode("ascii"), headers=headers)
        return Refused(name, response.status_code, response.json())

    async def _begin(self, **fields: Json) -> None:
        settings = settings_of(self._case)
        context = settings["context_settings"]
        body = {
            "provider": self._case.provider,
            "model": settings["model"],
            "contextStrategy": settings["context_strategy"],
            "contextSettings": {"contextLimit": context["context_limit"], "reserve": context["reserve"]},
            **fields,
        }
        made = await self._client.post("/api/v2/chats", json=body)
        assert made.status_code == 201, made.text
        self._chat_id = made.json()["id"]

    async def _turn(self, name: str, door: str, body: Json) -> None:
        asked, since = len(self._fake.sent), time.monotonic()
        text, path = "", f"/api/v2/chats/{self._chat_id}/{door}"
        async with self._client.stream("POST", path, json=body) as response:
            assert response.status_code == 200
            async for piece in response.aiter_text():
                text += piece
                since = time.monotonic() if "event: text_delta" in piece else since
        await self._note(name, events_in(text), asked, since, stream=text)

    async def _leave(self, step: Mapping[str, Json]) -> None:
        """Say something and hang up after the second chunk of the answer; the rest of it comes behind that."""
        assert step["client"] == LEAVES, step
        [told] = step["provider_replies"]
        gate = self._fake.middle_gate()
        chunks = [*told["stream"][:2], gate, *told["stream"][2:]]
        self._fake.script([{key: value for key, value in told.items() if key != "delay_ms"} | {"stream": chunks}])
        asked, since = len(self._fake.sent), time.monotonic()
        seen: list[Event] = []
        path = f"/api/v2/chats/{self._chat_id}/turns"
        async with self._client.stream("POST", path, json={"input": step["user"]}) as response:
            async for event in reading(response):
                seen.append(event)
                if text_of(seen) == "".join(told["stream"][:2]):
                    break
            if self._ends_then:
                gate.open()
        met = await self._get(f"turns/{seen[0].data['turnId']}")
        while self._rule == "cancel" and met["state"] == "running":
            met = await self._get(f"turns/{seen[0].data['turnId']}")
        gate.open()
        await self._note(str(1 + len(self._asked)), seen, asked, since, met=met)

    async def _note(
        self,
        name: str,
        events: Sequence[Event],
        asked: int,
        since: float,
        *,
        stream: str = "",
        met: Mapping[str, Json] | None = None,
    ) -> None:
        seconds = time.monotonic() - since
        turn_id = events[0].data["turnId"]
        rest = events_in((await self._client.get(f"/api/v2/turns/{turn_id}/events")).text)
        check_stream(rest)
        assert rest[: len(events)] == list(events)
        self._asked.append(
            Asked(
                name=name,
                events=tuple(events),
                turn=await self._get(f"turns/{turn_id}"),
                messages=(await self._get(f"chats/{self._chat_id}/messages"))["messages"],
                audit=await self._get(f"chats/{self._chat_id}/context-audit"),
                sent=tuple(self._fake.sent[asked:]),
                seconds=seconds,
                stream=stream,
                left=met is not None,
                met=met or {},
            )
        )

    async def _get(self, path: str) -> Any:
        response = await self._client.get(f"/api/v2/{path}")
        assert response.status_code == 200, response.text
        return response.json()


def _fields(case: Case) -> Mapping[str, Json]:
    return {key: value for key, value in case.expect.items() if key != "facts"}


def _raw_requests(case: Case, chat_id: str) -> Iterator[tuple[str, str, str]]:
    """Give name, path and text of each request: the whole of it, and each of its three faults alone."""
    raw = case.data["raw_json"]
    whole = json.loads(raw)["messages"]
    sound = [{"role": "user", "content": "Go on."}]
    texts = {
        "whole": raw,
        "half in a text": json.dumps({"messages": [whole[0]]}),
        "NUL in a result": json.dumps({"messages": [*sound, _with_arguments(whole[1], "{}"), whole[2], *sound]}),
        "half in arguments": json.dumps({"messages": [*sound, whole[1], {**whole[2], "content": "ab"}, *sound]}),
    }
    for name, text in texts.items():
        rest = text[1:]
        yield f"{name}, as a chat", "/api/v2/chats", f'{{"provider":"{case.provider}","model":"gpt-4o",{rest}'
        yield f"{name}, by the gateway", "/v1/chat/completions", f'{{"model":"gpt-4o",{rest}'
        yield (
            f"{name}, to be seen",
            "/api/v2/context-preview",
            f'{{"provider":"{case.provider}","model":"gpt-4o",{rest}',
        )
    turns = f"/api/v2/chats/{chat_id}/turns"
    yield "half in an input", turns, json.dumps({"input": whole[0]["content"]})
    yield "half in a message of an input", turns, json.dumps({"input": [whole[0]]})
    yield "NUL in an input", turns, json.dumps({"input": whole[2]["content"]})


def _with_arguments(message: Json, arguments: str) -> Json:
    call = message["tool_calls"][0]
    return {**message, "tool_calls": [{**call, "function": {**call["function"], "arguments": arguments}}]}
