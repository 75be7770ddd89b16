"""The gateway in front of the strict fakes: a real server, the official client, and what was asked upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from fakes.chat_server import ChatServer
from http_helpers import Running, make_app, running
from trimtab.config import Config, Server
from trimtab.config_server import Gateway
from turns.six_helpers import KINDS
from turns.six_helpers import Server as Fake

HELLO: list[Any] = [{"role": "user", "content": "How many kettles?"}]
STOCK: Any = {
    "type": "function",
    "function": {
        "name": "stock",
        "description": "How many are left.",
        "parameters": {"type": "object", "properties": {"article": {"type": "string"}}},
    },
}


@dataclass
class Gate:
    """A running gateway before one fake server."""

    running: Running
    fake: Any
    model: str
    more: Mapping[str, Any] = field(default_factory=dict)

    def client(self, **options: Any) -> Any:
        """The official client; it never asks twice."""
        options = {"max_retries": 0, "timeout": 20, "api_key": "any", **options}
        return openai.OpenAI(base_url=f"{self.running.url}/v1", **options)

    def async_client(self, **options: Any) -> Any:
        options = {"max_retries": 0, "timeout": 20, "api_key": "any", **options}
        return openai.AsyncOpenAI(base_url=f"{self.running.url}/v1", **options)

    @property
    def asked(self) -> dict[str, Any]:
        """The body of the last request upstream."""
        body: dict[str, Any] = json.loads(self.fake.requests[-1].raw)
        return body


def config_for(name: str, fake: Fake, *, retries: int = 0, **server: Any) -> Config:
    """A configuration whose gateway asks one fake."""
    kind = KINDS[name]
    endpoint = {
        "driver": name,
        "base_url": fake.base_url,
        "key_variable": "TOKEN",
        "retries": retries,
        "settings": dict(kind.settings),
        **server.pop("endpoint", {}),
    }
    models = server.pop("models", {})
    gateway: dict[str, Any] = {"provider": name, "models": {"fast": {"provider": name, "model": kind.model}}}
    gateway |= server.pop("gateway", {})
    fields: dict[str, Any] = {
        "providers": {name: endpoint},
        "server": Server(gateway=Gateway(**gateway), **server),
    }
    return Config(**fields, models=models)


@contextmanager
def gateway_to(
    place: str, name: str = "openai-compatible", *tools: Any, fake: Any = None, **options: Any
) -> Iterator[Gate]:
    """Run the gateway before the fake of a provider; in the end no request upstream was wrong."""
    host = {key: options.pop(key) for key in ("registry", "tool_limits") if key in options}
    with ExitStack() as stack:
        server = stack.enter_context(fake if fake is not None else KINDS[name].make())
        config = options.pop("config", None) or config_for(name, server, **options)
        app = make_app(place, *tools, config=config, environ={"TOKEN": "a-token"}, **host)
        yield Gate(stack.enter_context(running(app)), server, KINDS[name].model)
        assert server.faults == []


def chat_fake(**options: Any) -> ChatServer:
    """A fake of Chat Completions that takes reasoning back."""
    return ChatServer(extra_keys={"reasoning_content"}, **options)


def text_of(chunks: Sequence[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def long_talk(pairs: int, words: int = 40) -> list[Any]:
    """A talk of so many pairs of messages, with a system text and a last question."""
    said = [
        {"role": role, "content": f"{at} " + "kettle " * words}
        for at in range(pairs)
        for role in ("user", "assistant")
    ]
    return [{"role": "system", "content": "Be brief."}, *said, {"role": "user", "content": "And now?"}]
