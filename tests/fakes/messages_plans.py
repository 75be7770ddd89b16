"""From a reply to what happens on the wire: the events of a stream, or one JSON answer, and the message made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fakes.chat_plans import EVENT_STREAM, Plan, Step, filled, half_of, in_pieces, json_text, recut, timing
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
from fakes.messages_context import THOUGHTS, Cost
from fakes.messages_refusals import error_body
from fakes.messages_replies import Block, Cited, Declined, Delta, Event, Hop, Redacted, Search
from fakes.messages_seals import Prefix, Signer

_LAST = (StreamError, Half, Endless, Break)
_BREAKS = (Half, Endless, Break)
_UNNAMED_ERROR = "server_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of a request shapes the answer; `prefix` stands before it.

    `thinks` says that a call has a thought before it, `room` how many tokens the answer may have at most.
    """

    message_id: str
    request_id: str
    model: str
    stream: bool
    cost: Cost
    prefix: Prefix
    signer: Signer
    thinks: bool
    is_silent: bool
    is_omitted: bool
    room: int | None
    stop_sequence: str | None
    more: Json = field(hash=False)


def plan_of(reply: ChatReply, asked: Asked) -> tuple[Plan, Json]:
    """Lay out a reply; gives the plan and the message that it makes."""
    frames = Frames(asked, reply)
    steps: list[Step] = list(_stream_steps(reply, frames))
    if asked.stream if reply.as_json is None else not reply.as_json:
        cut = steps if reply.cut_at is None else recut(steps, reply.cut_at, reply.piece_ms)
        plan = Plan(
            status=reply.status,
            headers={**EVENT_STREAM, "request-id": asked.request_id, **reply.headers},
            before=timing(reply.before_head),
            steps=filled(cut),
            chunked=reply.chunked,
        )
    else:
        plan = _json_plan(reply, frames)
    return plan, frames.whole()


def spent(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Give the parts that are left behind the first PAUSE."""
    at = next((at for at, part in enumerate(parts) if isinstance(part, Hop)), len(parts))
    return tuple(parts[at + 1 :])


def _stream_steps(reply: ChatReply, frames: Frames) -> Iterator[Step]:
    for part in reply.parts:
        if isinstance(part, Hop):
            break
        yield from frames.of(part)
        if isinstance(part, _LAST):
            return
    yield from frames.opening()
    yield from frames.closing()
    if reply.finish is not None:
        yield frames.ending()
    if reply.done:
        yield frames.event("message_stop")


class Frames:
    """Writes the events of one stream and notes the blocks that they make."""

    def __init__(self, asked: Asked, reply: ChatReply) -> None:
        self.asked = asked
        self.made: list[Json] = []
        self._reply = reply
        self._prefix = asked.prefix
        self._index = -1
        self._open = ""
        self._calls = 0
        self._is_begun = False

    def of(self, part: Part) -> Iterator[Step]:
        """Give what a part is on the wire."""
        if isinstance(part, str):
            yield from self._text(part)
        elif isinstance(part, Thought):
            yield from self._thought(part.text)
        elif isinstance(part, Ask):
            yield from self._call(part)
        elif isinstance(part, Raw):
            yield part.data
        elif isinstance(part, Half):
            yield from self._begun("text", {"text": ""})
            yield half_of(self._delta({"type": "text_delta", "text": part.text}), part.inside)
            yield Break.CUT
        elif isinstance(part, StreamError):
            yield from self.opening()
            yield self.event("error", **self.error(part))
        elif isinstance(part, Special):
            yield from self._special(part)
        else:
            yield part

    def _special(self, part: Special) -> Iterator[Step]:
        if isinstance(part, Block):
            yield from self._whole(part.value)
        elif isinstance(part, Redacted):
            yield from self._redacted()
        elif isinstance(part, Search):
            yield from self._search(part)
        elif isinstance(part, Cited):
            yield from self._cited(part)
        elif isinstance(part, Delta):
            if not self._open:
                yield from self._begun("text", {"text": ""})
            yield self._delta(part.delta)
        elif isinstance(part, Event):
            yield from self.opening()
            yield self.event(part.kind, **part.fields)
        elif not isinstance(part, Declined):
            raise TypeError(f"{part!r} is no part of a message")

    def opening(self) -> Iterator[bytes]:
        """The start of the message, once, just before the first of what follows."""
        if not self._is_begun:
            self._is_begun = True
            head = {
                **self._head(),
                "content": [],
                "stop_reason": None,
                "stop_sequence": None,
                "stop_details": None,
            }
            yield self.event("message_start", message={**head, **self._usage(is_over=False)})

    def closing(self) -> Iterator[bytes]:
        """The end of the block that is open; a thought is signed then."""
        if not self._open:
            return
        block = self.made[-1]
        if self._open == "thinking":
            block["signature"] = self._signature(block["thinking"])
            yield self._delta({"type": "signature_delta", "signature": block["signature"]})
        self._prefix = self._prefix.then("assistant", block)
        self._open = ""
        yield self.event("content_block_stop", index=self._index)

    def ending(self) -> bytes:
        """Why the message ends, and what it cost."""
        return self.event("message_delta", delta=self._stop(), **self._usage(is_over=True))

    def event(self, kind: str, **fields: Json) -> bytes:
        """Write one event."""
        return f"event: {kind}\ndata: {json_text({'type': kind, **fields})}\n\n".encode()

    def error(self, part: StreamError) -> Json:
        """Write an error as it stands in a stream and in an answer."""
        kind = "api_error" if part.type == _UNNAMED_ERROR else part.type
        return {**error_body(part.message, type=kind, code=part.code), "request_id": self.asked.request_id}

    def whole(self) -> Json:
        """Write the message as an answer that is no stream has it."""
        return {**self._head(), "content": self.made, **self._stop(), **self._usage(is_over=True, is_whole=True)}

    def _head(self) -> Json:
        asked = self.asked
        return {"id": asked.message_id, "type": "message", "role": "assistant", "model": asked.model, **asked.more}

    def _stop(self) -> Json:
        reason = self._reason()
        named = self.asked.stop_sequence if reason == "stop_sequence" else None
        return {"stop_reason": reason, "stop_sequence": named, "stop_details": self._details()}

    def _reason(self) -> str | None:
        if self._reply.finish != "auto":
            return self._reply.finish
        if self._details() is not None:
            return "refusal"
        if self.asked.room is not None and self._spent(self.made) > self.asked.room:
            return "model_context_window_exceeded"
        if any(isinstance(part, Hop) for part in self._reply.parts):
            return "pause_turn"
        return "tool_use" if any(block["type"] == "tool_use" for block in self.made) else "end_turn"

    def _details(self) -> Json:
        for part in self._reply.parts:
            if isinstance(part, Declined):
                return {"type": "refusal", "category": part.category, "explanation": part.explanation}
        return None

    def _usage(self, *, is_over: bool, is_whole: bool = False) -> Json:
        given = self._reply.usage
        if given is None:
            return {}
        if given != "auto":
            return {"usage": dict(given)}
        cost = self.asked.cost
        read, written = cost.cached, cost.short + cost.long
        usage: Json = {
            "input_tokens": cost.tokens - read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "output_tokens": max(1, self._spent(self.made)) if is_over else 1,
        }
        if is_over:
            thoughts = [block for block in self.made if block["type"] in THOUGHTS]
            usage["output_tokens_details"] = {"thinking_tokens": self._spent(thoughts)}
        if is_whole or not is_over:
            split = {"ephemeral_5m_input_tokens": cost.short, "ephemeral_1h_input_tokens": cost.long}
            usage |= {"cache_creation": split, "service_tier": "standard"}
        return {"usage": usage}

    def _spent(self, blocks: Sequence[Json]) -> int:
        said = [{key: value for key, value in block.items() if key != "signature"} for block in blocks]
        return sum(-(-len(json_text(block)) // 4) for block in said)

    def _begun(self, kind: str, empty: Json) -> Iterator[bytes]:
        if self._open == kind and kind in ("text", "thinking"):
            return
        yield from self._started(kind, {"type": kind, **empty})

    def _started(self, kind: str, start: Json) -> Iterator[bytes]:
        yield from self.opening()
        yield from self.closing()
        self._index += 1
        self._open = kind
        self.made.append(dict(start))
        yield self.event("content_block_start", index=self._index, content_block=start)

    def _delta(self, delta: Json) -> bytes:
        return self.event("content_block_delta", index=self._index, delta=delta)

    def _text(self, text: str) -> Iterator[bytes]:
        yield from self._begun("text", {"text": ""})
        self.made[-1]["text"] += text
        yield self._delta({"type": "text_delta", "text": text})

    def _thought(self, text: str) -> Iterator[bytes]:
        if self.asked.is_silent:
            return
        yield from self._begun("thinking", {"thinking": "", "signature": ""})
        if text and not self.asked.is_omitted:
            self.made[-1]["thinking"] += text
            yield self._delta({"type": "thinking_delta", "thinking": text})

    def _call(self, part: Ask) -> Iterator[bytes]:
        if self.asked.thinks and not self.made:
            yield from self._thought("")
        yield from self._used(
            "tool_use", part.call_id or self._id("toolu"), part.name, part.arguments, part.fragments
        )

    def _search(self, part: Search) -> Iterator[bytes]:
        query = json.dumps({"query": part.query}, ensure_ascii=False)
        yield from self._used("server_tool_use", part.call_id or self._id("srvtoolu"), "web_search", query, 2)

    def _used(self, kind: str, call_id: str, name: str, arguments: str, fragments: int) -> Iterator[bytes]:
        yield from self._started(kind, {"type": kind, "id": call_id, "name": name, "input": {}})
        yield self._delta({"type": "input_json_delta", "partial_json": ""})
        for piece in in_pieces(arguments, fragments):
            yield self._delta({"type": "input_json_delta", "partial_json": piece})
        self.made[-1]["input"] = _object_in(arguments)

    def _cited(self, part: Cited) -> Iterator[bytes]:
        yield from self._started("cited text", {"type": "text", "text": "", "citations": []})
        for citation in part.citations:
            self.made[-1]["citations"].append(citation)
            yield self._delta({"type": "citations_delta", "citation": citation})
        self.made[-1]["text"] = part.text
        yield self._delta({"type": "text_delta", "text": part.text})
        yield from self.closing()

    def _whole(self, block: Json) -> Iterator[bytes]:
        yield from self._started("block", block)
        yield from self.closing()

    def _redacted(self) -> Iterator[bytes]:
        if self.asked.is_silent:
            return
        yield from self.opening()
        yield from self.closing()
        yield from self._whole({"type": "redacted_thinking", "data": self._signature("")})

    def _signature(self, text: str) -> str:
        """Sign a thought behind all blocks that are closed."""
        return self.asked.signer.sign(text, prefix=self._prefix, model=self.asked.model)

    def _id(self, kind: str) -> str:
        self._calls += 1
        return f"{kind}_{self.asked.message_id.removeprefix('msg_')}_{self._calls}"


def _json_plan(reply: ChatReply, frames: Frames) -> Plan:
    body = json_text(_whole_answer(reply, frames)).encode()
    end = next((part for part in reply.parts if isinstance(part, _BREAKS)), None)
    steps = timing([part for part in reply.parts if not isinstance(part, _BREAKS)])
    if end is None:
        steps.append(body)
    else:
        steps += [body[: len(body) // 2], Break.CUT if isinstance(end, Half) else end]
    return Plan(
        status=reply.status,
        headers={"content-type": "application/json", "request-id": frames.asked.request_id, **reply.headers},
        before=timing(reply.before_head),
        steps=steps,
        length=sum(len(part.data) for part in reply.parts if isinstance(part, Raw)) + len(body),
    )


def _whole_answer(reply: ChatReply, frames: Frames) -> Json:
    for part in reply.parts:
        if isinstance(part, StreamError):
            return frames.error(part)
    return frames.whole()


def _object_in(text: str) -> Json:
    """Read the arguments of a call; what is no object is kept as a text that nobody can send back."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {"": text}
    return found if isinstance(found, dict) else {"": text}
