"""From a reply to what happens on the wire: a head, and steps of bytes, gates, pauses and breaks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fakes.chat_moments import Gate
from fakes.chat_refusals import error_body
from fakes.chat_replies import (
    EVERY_BYTE,
    Ask,
    Break,
    ChatReply,
    Endless,
    Half,
    Json,
    Part,
    Pause,
    PlainReply,
    Raw,
    Reply,
    Special,
    StreamError,
    Thought,
)

Step: TypeAlias = bytes | Gate | Pause | Endless | Break
CREATED = 1_790_000_000
EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_LAST = (StreamError, Half, Endless, Break)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of a request shapes the answer. `usage` is what the prompt cost."""

    number: int
    model: str
    stream: bool
    include_usage: bool
    prompt_tokens: int
    cached_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An answer on the wire. Without `length` the body is chunked, or ends with the connection."""

    status: int
    headers: Mapping[str, str] = field(hash=False)
    steps: Sequence[Step]
    before: Sequence[Step] = ()
    length: int | None = None
    chunked: bool = True


def plan_of(reply: Reply, asked: Asked) -> Plan:
    """Lay out a reply for the request it answers."""
    if isinstance(reply, PlainReply):
        return Plan(status=reply.status, headers=reply.headers, steps=filled([reply.body]), length=len(reply.body))
    as_json = not asked.stream if reply.as_json is None else reply.as_json
    return _json_plan(reply, asked) if as_json else _stream_plan(reply, asked)


def _stream_plan(reply: ChatReply, asked: Asked) -> Plan:
    steps: list[Step] = list(_stream_steps(reply, asked))
    return Plan(
        status=reply.status,
        headers={**EVENT_STREAM, **reply.headers},
        before=timing(reply.before_head),
        steps=filled(steps if reply.cut_at is None else recut(steps, reply.cut_at, reply.piece_ms)),
        chunked=reply.chunked,
    )


def _stream_steps(reply: ChatReply, asked: Asked) -> Iterator[Step]:
    frames = _Frames(asked)
    for part in reply.parts:
        yield from frames.of(part)
        if isinstance(part, _LAST):
            return
    yield from frames.opening()
    usage = usage_of(reply, asked) if asked.include_usage else None
    on_finish = usage if reply.usage_on == "finish" else None
    if reply.finish is not None:
        yield frames.chunk({}, finish=finish_of(reply), usage=on_finish)
    if usage is not None and reply.usage_on == "last":
        yield frames.event({**frames.envelope, "choices": [], "usage": usage})
    if reply.done:
        yield b"data: [DONE]\n\n"


class _Frames:
    """Writes the events of one stream."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._calls = 0
        self._is_open = False
        self.envelope = _envelope(asked, "chat.completion.chunk")

    def of(self, part: Part) -> Iterator[Step]:
        if isinstance(part, str):
            yield from self._delta({"content": part})
        elif isinstance(part, Thought):
            yield from self._delta({part.key: part.text})
        elif isinstance(part, Ask):
            yield from self._call(part)
        elif isinstance(part, Raw):
            yield part.data
        elif isinstance(part, StreamError):
            yield self.event(error_body(part.message, type=part.type, code=part.code))
        elif isinstance(part, Half):
            yield from self.opening()
            yield half_of(self.chunk({"content": part.text}), part.inside)
            yield Break.CUT
        elif isinstance(part, Special):
            raise TypeError(f"{part!r} is no part of a chat completion")
        else:
            yield part

    def opening(self) -> Iterator[bytes]:
        """The role, once, just before the first delta."""
        if not self._is_open:
            self._is_open = True
            yield self.chunk({"role": "assistant", "content": ""})

    def chunk(self, delta: Json, *, finish: str | None = None, usage: Json = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        shown = {"usage": usage} if self._asked.include_usage else {}
        return self.event({**self.envelope, "choices": [choice], **shown})

    def event(self, value: Json) -> bytes:
        return f"data: {json_text(value)}\n\n".encode()

    def _delta(self, delta: Json) -> Iterator[bytes]:
        yield from self.opening()
        yield self.chunk(delta)

    def _call(self, part: Ask) -> Iterator[bytes]:
        index, self._calls = self._calls, self._calls + 1
        head = {"name": part.name, "arguments": ""}
        call = {"index": index, "id": _call_id(part, index, self._asked), "type": "function", "function": head}
        yield from self._delta({"tool_calls": [call]})
        for piece in in_pieces(part.arguments, part.fragments):
            yield from self._delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})


def half_of(frame: bytes, inside: Literal["frame", "character"]) -> bytes:
    """Give the beginning of an event, up to its middle or into its last character of several bytes."""
    if inside == "frame":
        return frame[: len(frame) // 2]
    return frame[: max(at for at, byte in enumerate(frame) if byte >= 0x80)]


def in_pieces(text: str, count: int) -> Iterator[str]:
    """Cut a text into about so many pieces."""
    size = max(1, -(-len(text) // max(1, count)))
    return (text[at : at + size] for at in range(0, len(text), size))


def recut(steps: Iterable[Step], cut_at: Sequence[int] | Literal["every byte"], piece_ms: float) -> Iterator[Step]:
    """Join bytes that stand together and cut them at the given places of the whole body."""
    passed, run = 0, b""
    for step in [*steps, None]:
        if isinstance(step, bytes):
            run += step
            continue
        yield from _pieces(run, passed, cut_at, piece_ms)
        passed, run = passed + len(run), b""
        if step is not None:
            yield step


def _pieces(run: bytes, passed: int, cut_at: Sequence[int] | Literal["every byte"], ms: float) -> Iterator[Step]:
    if cut_at == EVERY_BYTE:
        places = list(range(1, len(run)))
    else:
        places = sorted({int(at) - passed for at in cut_at if 0 < int(at) - passed < len(run)})
    for start, end in zip([0, *places], [*places, len(run)], strict=True):
        if ms and passed + start:
            yield Pause(ms)
        yield run[start:end]


def _json_plan(reply: ChatReply, asked: Asked) -> Plan:
    body = json_text(_completion(reply, asked)).encode()
    last = reply.parts[-1] if reply.parts else ""
    broken = isinstance(last, Break | Half)
    steps = [*timing(part for part in reply.parts if part is not last or not broken)]
    steps += [body[: len(body) // 2], last if isinstance(last, Break) else Break.CUT] if broken else [body]
    return Plan(
        status=reply.status,
        headers={"content-type": "application/json", **reply.headers},
        before=timing(reply.before_head),
        steps=filled(steps),
        length=sum(len(part.data) for part in reply.parts if isinstance(part, Raw)) + len(body),
    )


def _completion(reply: ChatReply, asked: Asked) -> Json:
    message = {"role": "assistant", "content": text_of(reply) or None, "refusal": None}
    for part in reply.parts:
        if isinstance(part, StreamError):
            return error_body(part.message, type=part.type, code=part.code)
        if isinstance(part, Thought):
            message[part.key] = (message.get(part.key) or "") + part.text
    calls: Json = [
        {
            "id": _call_id(call, at, asked),
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for at, call in enumerate(calls_of(reply))
    ]
    whole = {**message, "tool_calls": calls} if calls else {**message, "content": text_of(reply)}
    choice = {"index": 0, "message": whole, "logprobs": None, "finish_reason": finish_of(reply)}
    return {**_envelope(asked, "chat.completion"), "choices": [choice], "usage": usage_of(reply, asked)}


def timing(parts: Iterable[Part]) -> list[Step]:
    """Give the parts that are no content; bytes that are sent as they are stay."""
    steps: list[Step] = []
    for part in parts:
        if isinstance(part, Raw):
            steps.append(part.data)
        elif isinstance(part, Gate | Pause | Endless | Break):
            steps.append(part)
    return steps


def filled(steps: Iterable[Step]) -> list[Step]:
    """Leave out what holds no bytes."""
    return [step for step in steps if step != b""]


def calls_of(reply: ChatReply) -> list[Ask]:
    """Give the calls of a reply in order."""
    return [part for part in reply.parts if isinstance(part, Ask)]


def text_of(reply: ChatReply) -> str:
    """Give the whole text of a reply."""
    return "".join(part for part in reply.parts if isinstance(part, str))


def finish_of(reply: ChatReply) -> str | None:
    """Give why a reply ends, in the wire's words."""
    if reply.finish != "auto":
        return reply.finish
    return "tool_calls" if calls_of(reply) else "stop"


def usage_of(reply: ChatReply, asked: Asked) -> Json:
    """Give what an answer cost; the answer itself is counted roughly."""
    if reply.usage != "auto":
        return None if reply.usage is None else dict(reply.usage)
    thoughts = sum(len(part.text) for part in reply.parts if isinstance(part, Thought))
    asks = sum(len(call.name) + len(call.arguments) for call in calls_of(reply))
    answer = -(-(len(text_of(reply)) + thoughts + asks) // 4)
    return {
        "prompt_tokens": asked.prompt_tokens,
        "completion_tokens": answer,
        "total_tokens": asked.prompt_tokens + answer,
        "prompt_tokens_details": {"cached_tokens": asked.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": -(-thoughts // 4)},
    }


def _envelope(asked: Asked, kind: str) -> Json:
    return {
        "id": f"chatcmpl-{asked.number}",
        "object": kind,
        "created": CREATED,
        "model": asked.model,
        "system_fingerprint": "fp_fake",
    }


def _call_id(part: Ask, index: int, asked: Asked) -> str:
    return part.call_id or f"call_{asked.number}_{index + 1}"


def json_text(value: Json) -> str:
    """Write a JSON value as the wire has it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
