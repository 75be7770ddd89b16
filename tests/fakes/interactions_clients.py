"""The official client of the Interactions API, set up for the fake server."""

from __future__ import annotations

from typing import Any

import httpx
from google import genai

from fakes.chat_replies import Json

MODEL = "gemini-3.8-flash"
TOOL: Json = {
    "type": "function",
    "name": "lookup",
    "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
}


def client_of(base_url: str, *, api_version: str = "v1") -> genai.Client:
    """Give the official client; it never asks twice."""
    options: Any = {"base_url": base_url, "api_version": api_version, "retry_options": {"attempts": 1}}
    return genai.Client(api_key="a-key", http_options=options)


def said(text: str) -> Json:
    """Give a step of the user."""
    return {"type": "user_input", "content": [{"type": "text", "text": text}]}


def result_of(call: Json, result: Json = "found") -> Json:
    """Give the result of a call."""
    return {"type": "function_result", "call_id": call["id"], "name": call["name"], "result": result}


def call_in(steps: Json) -> Json:
    """Give the first call among steps."""
    return next(step for step in steps if step["type"] == "function_call")


def body_with(given: Json = "Grüße, wie geht es?", **keys: Json) -> Json:
    """Give a body that asks for one JSON answer."""
    return {"model": MODEL, "input": given, **keys}


def post(base_url: str, body: Json, *, version: str = "v1", **headers: str) -> httpx.Response:
    """Send a body without any client's opinion of it."""
    return httpx.post(f"{base_url}/{version}/interactions", json=body, headers=headers, timeout=10)


def ask_once(base_url: str, given: Json = "Grüße, wie geht es?", **keys: Json) -> Json:
    """Ask by bare HTTP and give the interaction; raises httpx.HTTPStatusError when it is refused."""
    return post(base_url, body_with(given, **keys)).raise_for_status().json()


def error_of(base_url: str, body: Json, **headers: str) -> tuple[int, str, str]:
    """Ask by bare HTTP and give status, code and message of the refusal."""
    answer = post(base_url, body, **headers)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]
