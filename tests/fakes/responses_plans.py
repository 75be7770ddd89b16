"""From a reply to what happens on the wire: the events of a response, or the response as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fakes.chat_plans import CREATED, EVENT_STREAM, Plan, Step, filled, json_text, recut, timing
from fakes.chat_replies import (
    Ask,
    Break,
    ChatReply,
    Endless,
    Half,
    Json,
    Part,
    Raw,
    Special,
    StreamError,
    Thought,
)
from fakes.responses_context import Context
from fakes.responses_frames import REFUSAL, SUMMARY, TEXT, THOUGHT, Output
from fakes.responses_items import Piece
from fakes.responses_parts import Commentary, Compacted, Declined, Event, Failure, Item, NestedError
from fakes.responses_seals import Seals

_LAST = (StreamError, NestedError, Failure, Half, Endless, Break)
_INCOMPLETE = {
    "length": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "content_filter": "content_filter",
}
_ECHOED: Mapping[str, Json] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_p": 1.0,
    "truncation": "disabled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an answer is laid out for.

    `compacts`: the answer begins with a compaction. `final_output`: the last event has the items too.
    """

    number: int
    body: Json
    response_id: str
    mark: str
    context: Context
    seals: Seals
    tokens: int
    cached: int
    encrypts: bool
    compacts: bool
    final_output: bool = True
    made_at: float = CREATED


@dataclass(frozen=True, slots=True, kw_only=True)
class Laid:
    """An answer laid out. `has_ended`: it comes to its end and is not failed, so that a cursor may name it."""

    plan: Plan
    response: Json
    outputs: list[Piece] = field(hash=False)
    has_ended: bool


def lay_out(reply: ChatReply, question: Question) -> Laid:
    """Lay out a reply for the request it answers."""
    writing = _Writing(reply, question)
    steps: list[Step] = list(writing.steps())
    is_stream = question.body.get("stream") is True if reply.as_json is None else not reply.as_json
    plan = _stream_plan(reply, question, steps) if is_stream else _json_plan(reply, question, writing.response)
    has_ended = writing.response["status"] in ("completed", "incomplete") and not _breaks(reply)
    return Laid(plan=plan, response=writing.response, outputs=writing.output.pieces, has_ended=has_ended)


class _Writing:
    """Writes one answer; `response` is what it comes to."""

    def __init__(self, reply: ChatReply, question: Question) -> None:
        self._reply = reply
        self._question = question
        options = question.body.get("stream_options") or {}
        self.output = Output(
            mark=question.mark,
            model=str(question.body.get("model")),
            items=question.context.items,
            prefix=question.context.prefix,
            seals=question.seals,
            encrypts=question.encrypts,
            obfuscates=options.get("include_obfuscation") is not False,
        )
        self.response = _skeleton(question)
        self._phase = "commentary" if any(isinstance(part, Ask) for part in reply.parts) else "final_answer"

    def steps(self) -> Iterator[Step]:
        yield self._told("created")
        yield self._told("in_progress")
        if self._question.compacts:
            yield from self.output.compaction()
        for part in self._reply.parts:
            yield from self._of(part)
            if isinstance(part, _LAST):
                return
        yield from self._end()

    def _of(self, part: Part) -> Iterator[Step]:
        if isinstance(part, str):
            yield from self.output.text(part, TEXT, self._phase)
        elif isinstance(part, Thought):
            yield from self.output.thought(part.text, THOUGHT if part.key == THOUGHT.type else SUMMARY)
        elif isinstance(part, Ask):
            yield from self.output.call(part)
        elif isinstance(part, Raw):
            yield part.data
        elif isinstance(part, Half):
            yield from self.output.half(part.text, part.inside, self._phase)
            yield Break.CUT
        elif isinstance(part, StreamError):
            yield self._error(part.message, part.code)
        elif isinstance(part, Special):
            yield from self._special(part)
        else:
            yield part

    def _special(self, part: Special) -> Iterator[Step]:
        if isinstance(part, Commentary):
            yield from self.output.close()
            yield from self.output.text(part.text, TEXT, "commentary")
            yield from self.output.close()
        elif isinstance(part, Declined):
            yield from self.output.text(part.text, REFUSAL, self._phase)
        elif isinstance(part, Item):
            yield from self.output.any_item(dict(part.value))
        elif isinstance(part, Compacted):
            yield from self.output.compaction()
        elif isinstance(part, Event):
            yield self.output.event(part.type, **part.fields)
        elif isinstance(part, NestedError):
            yield self._nested_error(part)
        elif isinstance(part, Failure):
            yield self._failed(part.message, part.code)
        else:
            raise TypeError(f"{part!r} is no part of a response")

    def _end(self) -> Iterator[Step]:
        finish = self._reply.finish
        reason = _INCOMPLETE.get(finish or "")
        status = "completed" if reason is None else "incomplete"
        yield from self.output.close("completed" if reason is None else "incomplete")
        if finish is None or not self._reply.done:
            return
        details = None if reason is None else {"reason": reason}
        self._settle(status, incomplete_details=details, completed_at=self._question.made_at)
        left = () if self._question.final_output else ("output",)
        told = {key: value for key, value in self.response.items() if key not in left}
        yield self.output.event(f"response.{status}", response=told)

    def _failed(self, message: str, code: str) -> bytes:
        self._settle("failed", error={"code": code, "message": message})
        return self._told("failed")

    def _error(self, message: str, code: str | None) -> bytes:
        self.response["error"] = {"code": code or "server_error", "message": message}
        return self.output.event("error", code=code, message=message, param=None)

    def _nested_error(self, part: NestedError) -> bytes:
        self.response["error"] = {"code": part.code or "server_error", "message": part.message}
        error = {"type": "server_error", "code": part.code, "message": part.message, "param": None}
        return self.output.event("error", error=error)

    def _settle(self, status: str, **keys: Json) -> None:
        usage = _usage(self._reply, self._question)
        self.response |= {"status": status, "output": self.output.items, "usage": usage, **keys}

    def _told(self, what: str) -> bytes:
        return self.output.event(f"response.{what}", response=self.response)


def _breaks(reply: ChatReply) -> bool:
    return any(isinstance(part, Break) for part in reply.before_head)


def _stream_plan(reply: ChatReply, question: Question, steps: list[Step]) -> Plan:
    return Plan(
        status=reply.status,
        headers={**EVENT_STREAM, "x-request-id": f"req_{question.number}", **reply.headers},
        before=timing(reply.before_head),
        steps=filled(steps if reply.cut_at is None else recut(steps, reply.cut_at, reply.piece_ms)),
        chunked=reply.chunked,
    )


def _json_plan(reply: ChatReply, question: Question, response: Json) -> Plan:
    body = json_text(_settled(response)).encode()
    last = reply.parts[-1] if reply.parts else ""
    is_broken = isinstance(last, Break | Half)
    steps = timing(part for part in reply.parts if part is not last or not is_broken)
    steps += [body[: len(body) // 2], last if isinstance(last, Break) else Break.CUT] if is_broken else [body]
    return Plan(
        status=reply.status,
        headers={"content-type": "application/json", "x-request-id": f"req_{question.number}", **reply.headers},
        before=timing(reply.before_head),
        steps=filled(steps),
        length=sum(len(part.data) for part in reply.parts if isinstance(part, Raw)) + len(body),
    )


def _settled(response: Json) -> Json:
    """As JSON a response that ended by an error event is a failed one."""
    is_open = response["status"] == "in_progress" and response["error"] is not None
    return {**response, "status": "failed"} if is_open else response


def _skeleton(question: Question) -> Json:
    body = question.body
    tools = [{"strict": True, **tool} if tool["type"] == "function" else tool for tool in body.get("tools") or ()]
    echoed = {key: value if body.get(key) is None else body[key] for key, value in _ECHOED.items()}
    return {
        "id": question.response_id,
        "object": "response",
        "created_at": question.made_at,
        "status": "in_progress",
        "background": False,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "input_transformations": list(question.context.dropped),
        "model": str(body.get("model")),
        "output": [],
        "tools": tools,
        "usage": None,
        **echoed,
    }


def _usage(reply: ChatReply, question: Question) -> Json:
    if reply.usage != "auto":
        return None if reply.usage is None else dict(reply.usage)
    thoughts = sum(len(part.text) for part in reply.parts if isinstance(part, Thought))
    said = sum(len(_said(part)) for part in reply.parts)
    reasoning = -(-thoughts // 4)
    answer = reasoning + -(-said // 4)
    return usage_of(question.tokens, question.cached, answer, reasoning)


def usage_of(tokens: int, cached: int, answer: int = 0, reasoning: int = 0) -> Json:
    """Write what an answer cost; `cached` is part of `tokens`, `reasoning` part of `answer`."""
    return {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": answer,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": tokens + answer,
    }


def _said(part: Part) -> str:
    if isinstance(part, Commentary | Declined):
        return part.text
    if isinstance(part, Ask):
        return part.name + part.arguments
    return part if isinstance(part, str) else ""
