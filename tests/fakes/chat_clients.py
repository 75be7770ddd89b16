"""The official clients, set up for the fake server."""

from __future__ import annotations

from typing import Any

import httpx
import openai
from openai.types.chat import ChatCompletionChunk

from fakes.chat_replies import Json

USER: Json = {"role": "user", "content": "Grüße, wie geht es?"}
TOOL: Json = {
    "type": "function",
    "function": {
        "name": "lookup",
        "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    },
}


def client_of(base_url: str, **options: Any) -> openai.OpenAI:
    """Give the official client; it never asks twice."""
    return openai.OpenAI(api_key="a-key", base_url=base_url, max_retries=0, **options)


def async_client_of(base_url: str) -> openai.AsyncOpenAI:
    """Give the official client for coroutines; it never asks twice."""
    return openai.AsyncOpenAI(api_key="a-key", base_url=base_url, max_retries=0)


def chunks_of(base_url: str, *messages: Json, **body: Any) -> list[ChatCompletionChunk]:
    """Ask once for a stream and give its chunks."""
    with client_of(base_url) as client:
        asked = list(messages) or [USER]
        return list(client.chat.completions.create(model="m", messages=asked, stream=True, **body))


def text_of_chunks(chunks: list[ChatCompletionChunk]) -> str:
    """Give the text of a stream."""
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def body_with(*messages: Json, **keys: Json) -> Json:
    """Give a body that asks for a stream."""
    return {"model": "m", "messages": list(messages) or [USER], "stream": True, **keys}


def post(base_url: str, body: Json) -> httpx.Response:
    """Send a body without any client's opinion of it."""
    return httpx.post(f"{base_url}/chat/completions", json=body, timeout=10)
