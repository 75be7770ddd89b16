"""An answer in the shape of Chat Completions: whole, or in chunks."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from uuid import uuid4

from trimtab.http.sse import frame
from trimtab_sdk.provider import (
    Answer,
    Finish,
    ReasoningDelta,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    Usage,
)

Json: TypeAlias = dict[str, Any]
_FINISHES: Final[Mapping[Finish, str]] = {
    "stop": "stop",
    "length": "length",
    "tool-calls": "tool_calls",
    "content-filter": "content_filter",
    "refusal": "content_filter",
    "pause": "stop",
    "other": "stop",
}
_SAID: Final = frozenset({"role", "content", "refusal", "tool_calls", "reasoning_content", "reasoning"})
_OF_CALL: Final = frozenset({"id", "index", "type", "function"})


class Writer:
    """Writes one answer. It is given what comes, and gives the chunks of it or, in the end, the whole.

    `own` tells that the provider speaks Chat Completions itself: what else its message says is passed on.
    """

    def __init__(self, *, own: bool, with_usage: bool = False) -> None:
        self.model = ""
        self._id = f"chatcmpl-{uuid4().hex}"
        self._created = int(time.time())
        self._own = own
        self._with_usage = with_usage
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[Json] = []
        self._at: dict[str, int] = {}
        self._has_begun = False

    def take(self, events: Sequence[object]) -> bytes:
        """Take events that arrived together; give their chunks, pieces of one kind joined."""
        return b"".join(self._chunk(delta) for delta in self._deltas(events))

    def hear(self, events: Sequence[object]) -> None:
        """Take events that arrived together, for an answer that is given whole."""
        for _ in self._deltas(events):
            pass

    def end(self, answer: Answer) -> bytes:
        """Give the last chunks, without the account and `[DONE]`."""
        rest = self._rest(answer)
        told = b"".join(self._chunk(delta) for delta in (self._opening(), rest) if delta)
        last = told + self._chunk({}, finish=self._finish(answer))
        usage = usage_of(answer.usage)
        if not self._with_usage or usage is None:
            return last
        return last + frame(self._envelope("chat.completion.chunk") | {"choices": [], "usage": usage})

    def whole(self, answer: Answer) -> Json:
        """Give the whole answer."""
        text = "".join(self._text)
        refusal = self._own_item(answer).get("refusal") if answer.finish == "refusal" else None
        said = None if refusal or (self._calls and not text) else text
        message: Json = {"role": "assistant", "content": said, "refusal": refusal or None}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["tool_calls"] = self._calls
        _merge(message, self._rest(answer))
        choice = {"index": 0, "message": message, "finish_reason": self._finish(answer), "logprobs": None}
        told = self._envelope("chat.completion") | {"choices": [choice]}
        usage = usage_of(answer.usage)
        return told if usage is None else told | {"usage": usage}

    def _deltas(self, events: Sequence[object]) -> Iterator[Json]:
        open_key, pieces = "", list[str]()
        for event in events:
            key, text = _text_in(event)
            if key != open_key and pieces:
                yield self._opening() | {open_key: "".join(pieces)}
                pieces = []
            open_key = key
            if key:
                pieces.append(text)
                (self._text if key == "content" else self._reasoning).append(text)
            elif (call := self._call_delta(event)) is not None:
                yield self._opening() | {"tool_calls": [call]}
        if pieces:
            yield self._opening() | {open_key: "".join(pieces)}

    def _opening(self) -> Json:
        if self._has_begun:
            return {}
        self._has_begun = True
        return {"role": "assistant", "content": ""}

    def _call_delta(self, event: object) -> Json | None:
        """Give what is new of a call. Providers that tell of a call only when it is complete are heard too."""
        if isinstance(event, ToolCallStarted):
            return self._begin(event.call_id, event.name)
        if isinstance(event, ToolCallDelta) and event.call_id in self._at:
            return self._add(self._at[event.call_id], event.arguments)
        if not isinstance(event, ToolCallCompleted):
            return None
        begun = self._begin(event.call_id, event.name) if event.call_id not in self._at else None
        at = self._at[event.call_id]
        told = self._calls[at]["function"]["arguments"]
        missing = event.arguments[len(told) :] if event.arguments.startswith(told) else ""
        more = self._add(at, missing)
        if begun is None or more is None:
            return begun or more
        return begun | {"function": {"name": event.name, "arguments": missing}}

    def _begin(self, call_id: str, name: str) -> Json:
        self._at[call_id] = len(self._calls)
        self._calls.append({"id": call_id, "type": "function", "function": {"name": name, "arguments": ""}})
        return {
            "index": self._at[call_id],
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }

    def _add(self, at: int, arguments: str) -> Json | None:
        if not arguments:
            return None
        self._calls[at]["function"]["arguments"] += arguments
        return {"index": at, "function": {"arguments": arguments}}

    def _rest(self, answer: Answer) -> Json:
        """Give what a message of the provider's own says besides, which its server may want back."""
        item = self._own_item(answer)
        rest: Json = {key: value for key, value in item.items() if key not in _SAID and value is not None}
        calls = item.get("tool_calls")
        extras = [
            {"index": at} | {key: value for key, value in call.items() if key not in _OF_CALL}
            for at, call in enumerate(calls if isinstance(calls, list) else ())
            if isinstance(call, Mapping) and call.keys() - _OF_CALL and at < len(self._calls)
        ]
        return rest | ({"tool_calls": extras} if extras else {})

    def _own_item(self, answer: Answer) -> Mapping[str, Any]:
        item = answer.items[-1] if self._own and answer.items else None
        return item if isinstance(item, Mapping) else {}

    def _finish(self, answer: Answer) -> str:
        if self._calls and answer.finish != "length":
            return "tool_calls"
        return "stop" if self._own and answer.finish == "refusal" else _FINISHES[answer.finish]

    def _envelope(self, kind: str) -> Json:
        return {"id": self._id, "object": kind, "created": self._created, "model": self.model}

    def _chunk(self, delta: Json, *, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        told = self._envelope("chat.completion.chunk") | {"choices": [choice]}
        return frame(told | {"usage": None} if self._with_usage else told)


def _text_in(event: object) -> tuple[str, str]:
    if isinstance(event, TextDelta):
        return "content", event.text
    return ("reasoning_content", event.text) if isinstance(event, ReasoningDelta) else ("", "")


def _merge(message: Json, rest: Json) -> None:
    for extra in rest.pop("tool_calls", ()):
        message["tool_calls"][extra.pop("index")] |= extra
    message |= rest


def usage_of(usage: Usage | None) -> Json | None:
    """Give what the provider reported, as Chat Completions says it; None where it reported nothing."""
    if usage is None or (usage.input_tokens is None and usage.output_tokens is None):
        return None
    prompt, completion = usage.input_tokens or 0, usage.output_tokens or 0
    told: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if usage.cached_tokens is not None:
        told["prompt_tokens_details"] = {"cached_tokens": usage.cached_tokens}
    if usage.reasoning_tokens is not None:
        told["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning_tokens}
    return told
