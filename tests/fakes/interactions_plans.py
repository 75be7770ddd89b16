"""From a reply to what happens on the wire: the events of a stream, or one JSON answer, and the steps made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from fakes.chat_moments import Gate
from fakes.chat_plans import EVENT_STREAM, Plan, Step, filled, half_of, in_pieces, json_text, recut, timing
from fakes.chat_replies import (
    Ask,
    Break,
    ChatReply,
    Endless,
    Half,
    Json,
    Part,
    Pause,
    Raw,
    Special,
    StreamError,
    Thought,
)
from fakes.interactions_refusals import error_body
from fakes.interactions_replies import Delta, Hop, Status, Whole
from fakes.interactions_store import Interaction

_LAST = (StreamError, Half, Endless, Break)
_BREAKS = (Half, Endless, Break)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What of a request shapes the answer. `sign` makes the signature of a thought behind steps of this answer."""

    number: int
    interaction: Interaction
    stream: bool
    summaries: bool
    input_tokens: int
    cached_tokens: int
    sign: Callable[[Sequence[Json], Json], str]


def plan_of(reply: ChatReply, asked: Asked) -> Plan:
    """Lay out a reply; the interaction gets its steps, its usage and the status that it has in the end."""
    frames = Frames(asked)
    steps: list[Step] = list(_stream_steps(reply, frames))
    if asked.stream if reply.as_json is None else not reply.as_json:
        cut = steps if reply.cut_at is None else recut(steps, reply.cut_at, reply.piece_ms)
        return Plan(
            status=reply.status,
            headers={**EVENT_STREAM, **reply.headers},
            before=timing(reply.before_head),
            steps=filled(cut),
            chunked=reply.chunked,
        )
    return _json_plan(reply, frames)


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
            frames.settle(reply)
            return
    yield from frames.opening()
    yield from frames.closing()
    frames.settle(reply)
    if reply.finish is not None:
        yield frames.event("interaction.completed", interaction=frames.summary(is_over=True))
    if reply.done:
        yield b"event: done\ndata: [DONE]\n\n"


class Frames:
    """Writes the events of one stream and notes the steps that they make."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self.interaction = asked.interaction
        self._ids = count(1)
        self._calls = 0
        self._index = -1
        self._open = ""
        self._is_created = False

    @property
    def made(self) -> list[Json]:
        return self.interaction.steps

    def of(self, part: Part) -> Iterator[Step]:
        """Give what a part is on the wire."""
        if isinstance(part, str):
            yield from self._text(part)
        elif isinstance(part, Thought):
            yield from self._thought(part.text)
        elif isinstance(part, Ask):
            yield from self._call(part)
        elif isinstance(part, Whole):
            yield from self._whole(part)
        elif isinstance(part, Delta):
            if not self._open:
                yield from self._begun("model_output")
            yield self._delta(part.delta)
        elif isinstance(part, Raw):
            yield part.data
        elif isinstance(part, Half):
            yield from self._begun("model_output")
            yield half_of(self._delta({"type": "text", "text": part.text}), part.inside)
            yield Break.CUT
        else:
            yield from self._word(part)

    def _word(self, part: StreamError | Special | Gate | Pause | Endless | Break) -> Iterator[Step]:
        if isinstance(part, StreamError):
            yield from self.opening()
            error = {"code": part.code or "internal_error", "message": part.message}
            yield self.event("error", error=error)
        elif isinstance(part, Status):
            yield from self.opening()
            yield self.event("interaction.status_update", interaction_id=self.interaction.id, status=part.word)
        elif isinstance(part, Special):
            raise TypeError(f"{part!r} is no part of an interaction")
        else:
            yield part

    def opening(self) -> Iterator[bytes]:
        """The creation, once, just before the first of what follows."""
        if not self._is_created:
            self._is_created = True
            yield self.event("interaction.created", interaction=self.summary(is_over=False))

    def closing(self) -> Iterator[bytes]:
        """The end of the step that is open; a thought is signed then."""
        if not self._open:
            return
        if self._open == "thought":
            thought = self.made[-1]
            thought["signature"] = self._asked.sign(self.made[:-1], thought["summary"])
            yield self._delta({"type": "thought_signature", "signature": thought["signature"]})
        self._open = ""
        yield self.event("step.stop", index=self._index)

    def event(self, kind: str, **fields: Json) -> bytes:
        """Write one event; those of what is stored have ids."""
        known = {"event_id": f"{self._asked.number}-{next(self._ids)}"} if self.interaction.stored else {}
        return f"event: {kind}\ndata: {json_text({'event_type': kind, **fields, **known})}\n\n".encode()

    def summary(self, *, is_over: bool) -> Json:
        """Write the interaction as events hold it: without its steps."""
        one = self.interaction
        head = {"id": one.id, "object": "interaction", "model": one.model, "created": _moment(one.created)}
        if not is_over:
            return {**head, "status": "in_progress"}
        token = {"continuation_token": one.token} if one.token else {}
        usage = {} if one.usage is None else {"usage": one.usage}
        return {**head, "status": one.status, "updated": _moment(one.created), **usage, **token}

    def settle(self, reply: ChatReply) -> None:
        """Note how the interaction ends."""
        self.interaction.status = _status_of(reply, self.made)
        if self.interaction.status == "requires_continuation":
            self.interaction.token = f"ct_{self._asked.number}_{self.interaction.id}"
        self.interaction.usage = self._usage(reply)

    def _usage(self, reply: ChatReply) -> Json:
        if reply.usage != "auto":
            return None if reply.usage is None else dict(reply.usage)
        thoughts = sum(_size(step) for step in self.made if step["type"] == "thought")
        output = sum(_size(step) for step in self.made if step["type"] != "thought")
        asked = self._asked
        return {
            "total_input_tokens": asked.input_tokens,
            "total_cached_tokens": asked.cached_tokens,
            "total_output_tokens": output,
            "total_thought_tokens": thoughts,
            "total_tool_use_tokens": 0,
            "total_tokens": asked.input_tokens + output + thoughts,
            "input_tokens_by_modality": [{"modality": "text", "tokens": asked.input_tokens}],
        }

    def _begun(self, kind: str, **fields: Json) -> Iterator[bytes]:
        if self._open == kind and kind != "function_call":
            return
        yield from self._started({"type": kind, **fields})
        self._open = kind
        body: Json = {"model_output": {"content": []}, "thought": {"summary": []}}.get(kind, {})
        self.made.append({"type": kind, **fields, **body})

    def _started(self, start: Json) -> Iterator[bytes]:
        yield from self.opening()
        yield from self.closing()
        self._index += 1
        yield self.event("step.start", index=self._index, step=start)

    def _delta(self, delta: Json) -> bytes:
        return self.event("step.delta", index=self._index, delta=delta)

    def _text(self, text: str) -> Iterator[bytes]:
        yield from self._begun("model_output")
        _add_text(self.made[-1]["content"], text)
        yield self._delta({"type": "text", "text": text})

    def _thought(self, text: str) -> Iterator[bytes]:
        yield from self._begun("thought")
        if self._asked.summaries:
            _add_text(self.made[-1]["summary"], text)
            yield self._delta({"type": "thought_summary", "content": {"type": "text", "text": text}})

    def _call(self, part: Ask) -> Iterator[bytes]:
        if not any(step["type"] == "thought" for step in self.made):
            yield from self._begun("thought")
        self._calls += 1
        call_id = part.call_id or f"call_{self._asked.number}_{self._calls}_{self.interaction.id[-4:]}"
        yield from self._begun("function_call", id=call_id, name=part.name, arguments={})
        self.made[-1]["arguments"] = _object_in(part.arguments)
        for piece in in_pieces(part.arguments, part.fragments):
            yield self._delta({"type": "arguments_delta", "arguments": piece})

    def _whole(self, part: Whole) -> Iterator[bytes]:
        yield from self._started(part.start)
        self.made.append(part.made)
        for delta in part.deltas:
            yield self._delta(delta)
        yield self.event("step.stop", index=self._index)


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
        headers={"content-type": "application/json", **reply.headers},
        before=timing(reply.before_head),
        steps=steps,
        length=sum(len(part.data) for part in reply.parts if isinstance(part, Raw)) + len(body),
    )


def _whole_answer(reply: ChatReply, frames: Frames) -> Json:
    for part in reply.parts:
        if isinstance(part, StreamError):
            return error_body(part.message, code=part.code or "internal_error")
    return resource(frames.interaction)


def resource(interaction: Interaction, *, include_input: bool = False) -> Json:
    """Write an interaction as the API gives it outside of streams."""
    one = interaction
    rest = {"previous_interaction_id": one.previous, "usage": one.usage, "continuation_token": one.token}
    return {
        "id": one.id,
        "object": "interaction",
        "model": one.model,
        "status": one.status,
        "created": _moment(one.created),
        "updated": _moment(one.created),
        "steps": one.chain if include_input else one.steps,
        **{key: value for key, value in rest.items() if value is not None},
    }


def _status_of(reply: ChatReply, made: Sequence[Json]) -> str:
    if any(isinstance(part, StreamError) for part in reply.parts):
        return "failed"
    if reply.finish not in ("auto", None):
        return str(reply.finish)
    if any(isinstance(part, Hop) for part in reply.parts):
        return "requires_continuation"
    return "requires_action" if any(step["type"] == "function_call" for step in made) else "completed"


def _add_text(contents: list[Json], text: str) -> None:
    if contents:
        contents[-1]["text"] += text
    else:
        contents.append({"type": "text", "text": text})


def _object_in(text: str) -> Json:
    """Read arguments as the store holds them; what is no object is held as text that nobody can send back."""
    try:
        found = json.loads(text)
    except ValueError:
        return {"": text}
    return found if isinstance(found, dict) else {"": text}


def _size(step: Json) -> int:
    said = {key: value for key, value in step.items() if key != "signature"}
    return -(-len(json_text(said)) // 4)


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
