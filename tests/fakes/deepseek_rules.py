"""What DeepSeek refuses beyond Chat Completions, and what its answers have besides: for use with ChatServer.

    with ChatServer(judge=DeepSeekJudge()) as server:
        server.say(*queued(), thought("Hm."), "Three.", usage=cached(hit=64, miss=8))
        ...  # ask server.base_url
        assert server.faults == []

Reasoning is judged by the generation of the model. Since V4 every answer of a turn that has called tools is sent
with its `reasoning_content`, an empty one too. At the time of R1 the answers of the turn that runs had it if they
called tools, and those of turns before must not have it. What comes before the calls of its turn is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from fakes.chat_judge import ChatJudge, Wrong
from fakes.chat_refusals import REFUSALS, Kind
from fakes.chat_replies import Json, Raw, comment, raw

_KEYS = ("reasoning_content", "thinking", "user_id")
_EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max", "ultra")
_LONGEST_USER = 512
_BAD = "invalid_request_error"
MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."
UNWANTED = "The `reasoning_content` of an earlier turn is not allowed in the input."

DEEPSEEK_REFUSALS = {
    **REFUSALS,
    "auth": Kind(401, "authentication_error", _BAD, "Authentication Fails (no such user)"),
    "balance": Kind(402, "unknown_error", _BAD, "Insufficient Balance"),
    "unprocessable": Kind(422, _BAD, _BAD, "Failed to deserialize the JSON body into the target type"),
    "rate-limit": Kind(429, "rate_limit_error", None, "Too many requests are in flight."),
    "overloaded": Kind(503, "service_unavailable_error", None, "The server is busy."),
    "context": Kind(
        400,
        _BAD,
        _BAD,
        "This model's maximum context length is 1048576 tokens. However, you requested 1048999 tokens.",
    ),
    "reasoning": Kind(400, _BAD, _BAD, MISSING),
}
"""The kinds of refusal by name; `fakes.chat_refusals.refusal` takes them as its `kinds`."""


class DeepSeekJudge(ChatJudge):
    """Judges bodies; `generation` says whose rule for reasoning holds."""

    def __init__(self, generation: Literal["r1", "v4"] = "v4") -> None:
        super().__init__(extra_keys=_KEYS)
        self._generation = generation

    def faults(self, body: Json) -> list[Wrong]:
        """Give what is wrong with a request body; the types of OpenAI's client say `ultra` is no effort."""
        known = body if not isinstance(body, dict) else {k: v for k, v in body.items() if k != "reasoning_effort"}
        found = super().faults(known)
        return found or [*_field_faults(body), *self._reasoning_faults(body)]

    def _reasoning_faults(self, body: Json) -> Iterator[Wrong]:
        if self._generation == "r1":
            yield from _r1_faults(body["messages"])
        elif (body.get("thinking") or {}).get("type") != "disabled":
            yield from _v4_faults(body["messages"])


def _field_faults(body: Json) -> Iterator[Wrong]:
    thinking, effort, user = body.get("thinking"), body.get("reasoning_effort"), body.get("user_id")
    if thinking is not None and thinking not in ({"type": "enabled"}, {"type": "disabled"}):
        yield Wrong(f"thinking: {thinking!r} is neither enabled nor disabled", "thinking", _BAD)
    if effort is not None and effort not in _EFFORTS:
        yield Wrong(f"reasoning_effort: {effort!r} is none of {', '.join(_EFFORTS)}", "reasoning_effort", _BAD)
    if user is not None and not (isinstance(user, str) and len(user.encode()) <= _LONGEST_USER):
        yield Wrong(f"user_id: more than {_LONGEST_USER} bytes", "user_id", _BAD)
    for at, message in enumerate(body["messages"]):
        if message["role"] == "developer":
            yield Wrong(f"messages[{at}].role: unknown variant `developer`", None, _BAD)
        if not isinstance(message.get("reasoning_content", ""), str):
            yield Wrong(f"messages[{at}].reasoning_content: no text", None, _BAD)


def _v4_faults(messages: Sequence[Json]) -> Iterator[Wrong]:
    called = False
    for message in messages:
        called = called and message["role"] != "user"
        if message["role"] == "assistant":
            called = called or bool(message.get("tool_calls"))
            if called and "reasoning_content" not in message:
                yield Wrong(MISSING, None, _BAD)


def _r1_faults(messages: Sequence[Json]) -> Iterator[Wrong]:
    last_user = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
    for at, message in enumerate(messages):
        has = "reasoning_content" in message
        if at < last_user and has:
            yield Wrong(UNWANTED, None, _BAD)
        if at > last_user and message.get("tool_calls") and not has:
            yield Wrong(MISSING, None, _BAD)


def queued(times: int = 2) -> list[Raw]:
    """Make what a stream says while its request waits."""
    return [comment("keep-alive")] * times


def blank_lines(times: int = 3) -> Raw:
    """Make what comes before a JSON answer while its request waits."""
    return raw(b"\n" * times)


def cached(*, hit: int, miss: int, answer: int = 9) -> Json:
    """Make a usage as DeepSeek tells it."""
    return {
        "prompt_tokens": hit + miss,
        "completion_tokens": answer,
        "total_tokens": hit + miss + answer,
        "prompt_cache_hit_tokens": hit,
        "prompt_cache_miss_tokens": miss,
        "prompt_tokens_details": {"cached_tokens": hit},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
