"""What is wrong with what a provider gives: its answers, events and faults, as sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import get_args
from urllib.parse import urlsplit

from trimtab.conformance.driver_base import outcome_of, shown
from trimtab.conformance.provider_inputs import Recording
from trimtab_sdk.codec import Codec
from trimtab_sdk.messages import Message, Reasoning, Text, ToolCall
from trimtab_sdk.provider import (
    Answer,
    Fault,
    FaultCode,
    Finish,
    ProviderEvent,
    ProviderFaultError,
    ProviderRequest,
    ServerEvent,
    StreamReader,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    Usage,
    clean_word,
)

_CODES: tuple[str, ...] = get_args(FaultCode)
_FINISHES: tuple[str, ...] = get_args(Finish)
_EVENTS: tuple[type, ...] = get_args(ProviderEvent)
_OF_THE_HOST = frozenset(
    {
        *("authorization", "proxy-authorization", "host", "content-length", "content-type", "content-encoding"),
        *("cookie", "connection", "transfer-encoding", "te", "upgrade", "expect"),
    }
)


@dataclass(frozen=True)
class Reading:
    """What came of a stream: the events, and the error it ended in."""

    events: Sequence[object]
    error: BaseException | None = None

    @property
    def answer(self) -> Answer | None:
        """The answer, when the last event is one."""
        last = self.events[-1] if self.events else None
        return last if isinstance(last, Answer) else None

    @property
    def text(self) -> str:
        """The text that was told piece by piece."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls that were told as complete."""
        done = [event for event in self.events if isinstance(event, ToolCallCompleted)]
        return [(event.name, event.arguments) for event in done]


def read_on(reader: StreamReader, events: Iterable[ServerEvent]) -> Reading:
    """Feed a reader until an answer, an error or the end of the events, which it is told of."""
    told: list[object] = []
    for event in events:
        got = outcome_of(reader.parse, event)
        if got.error is not None or not isinstance(got.value, list | tuple):
            return Reading(told, got.error or TypeError(f"parse gave a {type(got.value).__name__}, not a list"))
        told.extend(got.value)
        if any(isinstance(one, Answer) for one in got.value):
            return Reading(told)
    got = outcome_of(reader.end)
    return Reading([*told, got.value] if got.value is not None else told, got.error)


def reading_faults(recording: Recording, reading: Reading) -> Iterator[str]:
    """Tell in what a reading differs from what the author expects of the recorded stream."""
    if reading.error is not None:
        yield f"reading it raised {shown_fault(reading.error)}"
        return
    yield from event_faults(reading.events)
    if reading.answer is None:
        yield "its last event is no Answer, though the stream is whole"
        return
    if reading.text != recording.text:
        yield f"the texts told are {reading.text!r:.80}, not {recording.text!r:.80}"
    if reading.calls != list(recording.calls):
        yield f"the calls told are {reading.calls!r:.120}, not {list(recording.calls)!r:.120}"
    yield from _finish_faults(recording, reading.answer)


def _finish_faults(recording: Recording, answer: Answer) -> Iterator[str]:
    expected = recording.finish or ("tool-calls" if recording.calls else None)
    if expected is not None and answer.finish != expected:
        yield f"its finish is {answer.finish!r}, not {expected!r}"


def event_faults(events: Sequence[object]) -> Iterator[str]:
    """Tell what is wrong with the events of a stream as such."""
    for event in events:
        if not isinstance(event, _EVENTS):
            yield f"an event is a {type(event).__name__}, which is none of trimtab_sdk.ProviderEvent"
    answers = [at for at, event in enumerate(events) if isinstance(event, Answer)]
    if answers and answers != [len(events) - 1]:
        yield f"there are {len(answers)} answers among {len(events)} events; one, as the last, may be"
    if sum(isinstance(event, Usage) for event in events) > 1:
        yield "usage is told more than once"
    for event in events:
        if isinstance(event, Answer):
            yield from _answer_faults(event)
    yield from _call_faults(events)


def _answer_faults(answer: Answer) -> Iterator[str]:
    if type(answer.items) is not tuple:
        yield f"the items of the answer are a {type(answer.items).__name__}, not a tuple"
    if answer.finish not in _FINISHES:
        yield f"the finish {answer.finish!r} is none of {', '.join(_FINISHES)}"
    yield from _json_faults("the items", answer.items)
    yield from _json_faults("the state", dict(answer.state))
    for name, text in (("cursor", answer.cursor), ("resume", answer.resume)):
        if text is not None and (type(text) is not str or not text):
            yield f"the {name} is {text!r:.60}, not a text or None"
    if type(answer.remarks) is not tuple or not all(_is_line(remark) for remark in answer.remarks):
        yield f"the remarks are {answer.remarks!r:.120}, not a tuple of printable sentences"
    if answer.usage is not None:
        yield from _usage_faults(answer.usage)


def _is_line(value: object) -> bool:
    return type(value) is str and value.strip() != "" and value.isprintable()


def _usage_faults(usage: Usage) -> Iterator[str]:
    for one in fields(Usage):
        value = getattr(usage, one.name)
        if value is not None and (type(value) is not int or value < 0):
            yield f"the usage's {one.name} is {value!r:.40}, not a whole number of tokens or None"


def _call_faults(events: Sequence[object]) -> Iterator[str]:
    pieces: dict[str, str] = {}
    for event in events:
        if isinstance(event, ToolCallDelta):
            pieces[event.call_id] = pieces.get(event.call_id, "") + event.arguments
        elif isinstance(event, ToolCallCompleted):
            told = pieces.get(event.call_id, "")
            if told and not told.endswith(event.arguments):
                yield f"the call of {event.name} was told as {told!r:.60}, and is {event.arguments!r:.60}"


def sent_again_faults(speech: Codec, items: Sequence[object], text: str, calls: object) -> Iterator[str]:
    """Tell in what the items of an answer, read and written by the codec, differ from what was answered."""
    got = outcome_of(speech.decode, list(items))
    if got.error is not None:
        yield f"the codec {speech.name} cannot read the items of the answer: {shown(got.error)}"
        return
    decoded = speech.decode(list(items))
    yield from said_faults(decoded.messages, text, calls)
    again = speech.encode(decoded.messages, decoded.originals).messages
    if json.dumps(again) != json.dumps(list(items)):
        yield "the codec writes the items of the answer otherwise than they are"


def said_faults(messages: Sequence[Message], text: str, calls: object) -> Iterator[str]:
    """Tell when messages are not the assistant's, or say and call something else."""
    for role in sorted({message.role for message in messages} - {"assistant"}):
        yield f"an item of the answer is read as a message of the role {role}"
    if (said := said_in(messages)) != text:
        yield f"the items say {said!r:.80}, not {text!r:.80}"
    if (called := [(name, arguments) for _, name, arguments in calls_in(messages)]) != _plain(calls):
        yield f"the items call {called!r:.120}, not {calls!r:.120}"


def _plain(calls: object) -> list[tuple[str, str]]:
    return [(str(name), compact(arguments)) for name, arguments in calls] if isinstance(calls, list) else []


def said_in(messages: Sequence[Message]) -> str:
    """Give all text of some messages."""
    return "".join(part.text for message in messages for part in message.parts if isinstance(part, Text))


def calls_in(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    """Give the calls of some messages: id, name and arguments."""
    parts = [part for message in messages for part in message.parts]
    return [(part.call_id, part.name, compact(part.arguments)) for part in parts if isinstance(part, ToolCall)]


def sealed_in(messages: Sequence[Message]) -> list[str]:
    """Give the sealed values of some messages."""
    parts = [part for message in messages for part in message.parts if isinstance(part, Reasoning)]
    return [part.opaque for part in parts if part.opaque]


def compact(arguments: str) -> str:
    """Give arguments without the blanks that a wire may not keep."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except ValueError:
        return arguments


def raised_faults(error: BaseException | None) -> Iterator[str]:
    """Tell when an error is another one than a reader may raise."""
    if error is None:
        return
    if not isinstance(error, ProviderFaultError):
        yield f"it raised {shown(error)}"
        return
    yield from fault_faults(error.fault)


def fault_faults(fault: object) -> Iterator[str]:
    """Tell what is wrong with a fault."""
    if type(fault) is not Fault:
        yield f"it gave a {type(fault).__name__}, not a trimtab_sdk.Fault"
        return
    if fault.code not in _CODES:
        yield f"the code {fault.code!r:.60} is none of trimtab_sdk.FaultCode"
    for name, flag in (("retryable", fault.retryable), ("stale_reasoning", fault.stale_reasoning)):
        if type(flag) is not bool:
            yield f"{name} is {flag!r:.40}, not True or False"
    if fault.retry_after is not None and not _is_time(fault.retry_after):
        yield f"retry_after is {fault.retry_after!r:.40}, not a number of seconds or None"
    if (fault.cursor is not None) != (fault.code == "PROVIDER_CURSOR_LOST"):
        yield f"cursor is {fault.cursor!r} with the code {fault.code}"
    for name, word in (("upstream_code", fault.upstream_code), ("param", fault.param)):
        if clean_word(word) != word:
            yield f"{name} is {word!r:.60}, which trimtab_sdk.clean_word would not let through"
    for name, count in (("allowed", fault.allowed), ("needed", fault.needed)):
        if count is not None and (type(count) is not int or count < 0):
            yield f"{name} is {count!r:.40}, not a number of tokens or None"


def _is_time(value: object) -> bool:
    return (type(value) is int or type(value) is float) and 0 <= value < math.inf


def request_faults(request: object, credential_header: str) -> Iterator[str]:
    """Tell why a host could not send a request."""
    if type(request) is not ProviderRequest:
        yield f"it is a {type(request).__name__}, not a trimtab_sdk.ProviderRequest"
        return
    if not _is_relative(request.path):
        yield f"the path {request.path!r:.80} is not relative to an endpoint's base URL"
    if not isinstance(request.body, Mapping):
        yield f"the body is a {type(request.body).__name__}, not an object"
    else:
        yield from _json_faults("the body", dict(request.body))
    for name, value in request.headers.items():
        if type(name) is not str or type(value) is not str or not f"{name}{value}".isprintable():
            yield f"the header {name!r:.60} is no line of text"
        elif name.lower() in _OF_THE_HOST or name.lower() == credential_header.lower():
            yield f"the header {name} is the host's"


def _is_relative(path: object) -> bool:
    if type(path) is not str or not path or not path.isascii() or not path.isprintable():
        return False
    parts = urlsplit(path)
    steps = parts.path.split("/")
    return not (parts.scheme or parts.netloc or parts.fragment or "\\" in path) and not {"", ".", ".."} & {*steps}


def _json_faults(what: str, value: object) -> Iterator[str]:
    got = outcome_of(lambda: json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    if got.error is not None:
        yield f"{what} cannot be written as JSON: {shown(got.error)}"


def address_faults(base_url: str) -> Iterator[str]:
    """Tell why an address is none to be asked at."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        yield f"base_url is {base_url!r:.80}, which is no http or https address"
    if any(mark in base_url for mark in "@?#\\ ") or base_url.endswith("/"):
        yield f"base_url is {base_url!r:.80}; leave out user, query, fragment and the slash at the end"


def header_faults(header: str, prefix: str) -> Iterator[str]:
    """Tell why a key cannot go into a header."""
    if not header or not header.isascii() or not header.replace("-", "").replace("_", "").isalnum():
        yield f"credential.header is {header!r:.60}, which is no name of a header"
    elif header.lower() in _OF_THE_HOST - {"authorization"}:
        yield f"credential.header is {header}, which is the host's"
    if not prefix.isascii() or (prefix and not prefix.isprintable()):
        yield f"credential.prefix is {prefix!r:.60}, which no header can hold"


def shown_fault(error: BaseException) -> str:
    """Give an error on one line; of a ProviderFaultError its fault."""
    return repr(error.fault) if isinstance(error, ProviderFaultError) else shown(error)
