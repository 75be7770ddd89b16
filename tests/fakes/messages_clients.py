"""The official client of the Messages API, set up for the fake server, and bare HTTP beside it."""

from __future__ import annotations

import json
import ssl

import anthropic
import httpx

from fakes.chat_replies import Json

MODEL = "claude-opus-5-5"
TOOL: Json = {
    "name": "lookup",
    "input_schema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
}
_TRUST = ssl.create_default_context()  # reading it again for each request takes longer than the request
HEADERS = {"anthropic-version": "2023-06-01", "x-api-key": "a-key"}


def client_of(base_url: str) -> anthropic.Anthropic:
    """Give the official client; it never asks twice."""
    return anthropic.Anthropic(api_key="a-key", base_url=base_url, max_retries=0, timeout=10)


def user(*blocks: Json) -> Json:
    """Give a message of the user."""
    return {"role": "user", "content": blocks[0] if len(blocks) == 1 and isinstance(blocks[0], str) else [*blocks]}


def assistant(*blocks: Json) -> Json:
    """Give a message of the assistant."""
    return {**user(*blocks), "role": "assistant"}


def result_of(call: Json, content: Json = "found") -> Json:
    """Give the result of a call."""
    return {"type": "tool_result", "tool_use_id": call["id"], "content": content}


def call_in(answer: Json) -> Json:
    """Give the first call of an answer."""
    return next(block for block in answer["content"] if block["type"] == "tool_use")


def sent_back(answer: Json) -> Json:
    """Give an answer as a message of the next request."""
    return {"role": "assistant", "content": answer["content"]}


def body_with(*messages: Json, **keys: Json) -> Json:
    """Give a body that asks for one JSON answer."""
    given = [*messages] or [user("Grüße, wie geht es?")]
    return {"model": MODEL, "max_tokens": 100, "messages": given, **keys}


def post(base_url: str, body: Json, *, path: str = "/v1/messages", **headers: str) -> httpx.Response:
    """Send a body without any client's opinion of it; `anthropic_beta` is a header of that name."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(f"{base_url}{path}", json=body, headers={**HEADERS, **named}, timeout=10, verify=_TRUST)


def ask_once(base_url: str, *messages: Json, **keys: Json) -> Json:
    """Ask by bare HTTP and give the message; raises httpx.HTTPStatusError when it is refused."""
    return post(base_url, body_with(*messages, **keys)).raise_for_status().json()


def error_of(base_url: str, body: Json, **headers: str) -> tuple[int, str, str]:
    """Ask by bare HTTP and give status, type and message of the refusal."""
    answer = post(base_url, body, **headers)
    error = answer.json()["error"]
    return answer.status_code, error["type"], error["message"]


def events_of(base_url: str, *messages: Json, **keys: Json) -> list[Json]:
    """Ask for a stream and give its events; raises httpx.HTTPError for a stream that breaks off."""
    answer = post(base_url, body_with(*messages, stream=True, **keys)).raise_for_status()
    return [
        json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line.startswith("data: ")
    ]
