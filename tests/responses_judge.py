"""What a Responses server refuses, written down apart from the codec."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from openai.types.responses import response_create_params as params
from pydantic import TypeAdapter

Json = dict[str, Any]
FILES = sorted((Path(__file__).parent / "codecs" / "responses_files").glob("*.json"))

_ANSWERED_BY = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
_RESULTS = set(_ANSWERED_BY.values())


def body_in(path: Path) -> Json:
    """Read a request body from a file, made anew."""
    body: Json = json.loads(path.read_text(encoding="utf-8"))
    return body


@cache
def _validator(streaming: bool) -> Draft202012Validator:
    """The types of the official SDK as a schema in which no object has keys that it does not name."""
    kind = params.ResponseCreateParamsStreaming if streaming else params.ResponseCreateParamsNonStreaming
    schema = TypeAdapter(kind).json_schema()
    _close(schema)
    return Draft202012Validator(schema)


def _close(schema: object) -> None:
    if isinstance(schema, dict):
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for inner in schema.values():
            _close(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _close(inner)


def type_faults(body: Json) -> list[str]:
    """Give what the official types say is wrong with a request body."""
    return [
        f"{error.json_path}: {error.message[:200]}"
        for error in _validator(body.get("stream") is True).iter_errors(body)
    ]


def order_faults(items: Sequence[Any]) -> list[str]:
    """Give what a server says of calls and results without each other, and of reasoning that leads nowhere."""
    return [*_pair_faults(items), *_reasoning_faults(items)]


def _pair_faults(items: Sequence[Any]) -> Iterator[str]:
    waiting: dict[tuple[str, str], int] = {}
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if kind in _ANSWERED_BY:
            key = (_ANSWERED_BY[kind], item["call_id"])
            waiting[key] = waiting.get(key, 0) + 1
        elif kind in _RESULTS:
            key = (kind, item.get("call_id") or item["id"])
            if not waiting.get(key):
                yield f"{at}: no call for {key[1]}"
            else:
                waiting[key] -= 1
    yield from (f"no output for {call_id}" for (_, call_id), count in waiting.items() if count)


def _reasoning_faults(items: Sequence[Any]) -> Iterator[str]:
    for at, item in enumerate(items):
        if item.get("type") != "reasoning":
            continue
        follower = items[at + 1] if at + 1 < len(items) else {"role": "nobody"}
        if follower.get("role", "assistant") != "assistant" or follower.get("type", "").endswith("_output"):
            yield f"{at}: {item['id']} without the item it led to"
