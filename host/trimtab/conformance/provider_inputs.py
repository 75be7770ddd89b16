"""What a provider is tried on: calls, recorded streams, and what no server should send."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import strategies as st

from trimtab.conformance.codec_inputs import JSON_VALUES, Wire, broken_inputs
from trimtab.conformance.corpus import chat_named
from trimtab_sdk.codec import Codec
from trimtab_sdk.errors import InvalidRequestError
from trimtab_sdk.provider import ProviderCall, ServerEvent, ToolSpec

MODEL = "some-model"
OUTPUT_LIMIT = 4321
_TALKS = ("one message", "a short talk", "no system text", "tool calls", "parallel calls")
TOOLS = (
    ToolSpec(
        "look_up",
        "Look up where a thing lies.",
        {"type": "object", "properties": {"shelf": {"type": "integer"}, "side": {"enum": ["left", "right"]}}},
    ),
    ToolSpec("zulu", "Comes last in the alphabet."),
    ToolSpec("alpha", "Comes first in the alphabet."),
)
GARBAGE_EVENTS: tuple[ServerEvent, ...] = tuple(
    ServerEvent(data, event=name)
    for name in ("", "error", "unheard_of")
    for data in (
        *("", " ", "no json", "{", "[]", "null", "7", '"text"', "{}", '{"error": null}', '{"error": 7}'),
        *('{"choices": 7}', '{"type": 7}', "[" * 50_000, '{"a": NaN}', '{"a": "\\ud800"}', "9" * 6_000),
    )
)
SECRET = "hunter2-4711"
SECRET_BODIES: tuple[object, ...] = (
    SECRET,
    [SECRET],
    {"detail": SECRET},
    {"message": SECRET},
    {"error": SECRET},
    {"error": {"message": SECRET, "type": "invalid_request_error", "code": None}},
    {"type": "error", "error": {"type": "api_error", "message": SECRET}},
)
_FIELDS = st.sampled_from(["message", "type", "code", "param", "status", "details", "detail"])
ERROR_BODIES: st.SearchStrategy[object] = st.one_of(
    JSON_VALUES,
    st.fixed_dictionaries({"error": st.one_of(JSON_VALUES, st.dictionaries(_FIELDS, JSON_VALUES, max_size=5))}),
    st.dictionaries(_FIELDS, JSON_VALUES, max_size=4),
    st.lists(st.fixed_dictionaries({"error": JSON_VALUES}), max_size=2),
)


@dataclass(frozen=True)
class Recording:
    """A stream of the provider's server, and what an answer of it says."""

    name: str
    events: Sequence[ServerEvent] = field(repr=False)
    text: str = ""
    calls: Sequence[tuple[str, str]] = ()
    finish: str | None = None


def recordings_of(streams: Sequence[Mapping[str, object]]) -> list[Recording]:
    """Read the streams that an author gives. Raises InvalidRequestError with the path of what is wrong."""
    return [_recording(stream, f"streams[{at}]") for at, stream in enumerate(streams)]


def _recording(stream: Mapping[str, object], path: str) -> Recording:
    events, text, finish = stream.get("events"), stream.get("text", ""), stream.get("finish")
    if not isinstance(events, list | tuple) or not events:
        raise InvalidRequestError(f"{path}.events must be a list of what the server sent", path=f"{path}.events")
    if not isinstance(text, str) or not (finish is None or isinstance(finish, str)):
        raise InvalidRequestError(f"{path}: text and finish must be texts", path=path)
    return Recording(path, [_event(one, path) for one in events], text, list(_calls(stream, path)), finish)


def _event(raw: object, path: str) -> ServerEvent:
    if isinstance(raw, ServerEvent):
        return raw
    if isinstance(raw, str):
        return ServerEvent(raw)
    if isinstance(raw, Mapping) and isinstance(raw.get("data"), str):
        return ServerEvent(raw["data"], str(raw.get("event", "")), str(raw.get("id", "")))
    raise InvalidRequestError(f"{path}.events: an event is its data, or an object with data and event", path=path)


def _calls(stream: Mapping[str, object], path: str) -> Iterator[tuple[str, str]]:
    calls = stream.get("calls", ())
    for call in calls if isinstance(calls, list | tuple) else (None,):
        if not isinstance(call, list | tuple) or len(call) != 2 or not all(isinstance(one, str) for one in call):
            raise InvalidRequestError(f"{path}.calls must be pairs of a name and arguments as text", path=path)
        yield call[0], call[1]


def prompts_of(codec: Codec) -> Iterator[tuple[str, ProviderCall]]:
    """Give calls with conversations of the corpus as the codec writes them, each with its name."""
    for name in _TALKS:
        adapted = codec.adapt(chat_named(name).messages, None, protected=())
        if not adapted.refused:
            yield name, ProviderCall(model=MODEL, prompt=codec.encode(adapted.messages))


def copied(call: ProviderCall) -> object:
    """Give a copy of all that a call holds, to be compared with it later."""
    parts = (call.prompt, call.tools, call.response_format, call.settings, call.options)
    return copy.deepcopy(parts)


def is_as(call: ProviderCall, before: object) -> bool:
    """Tell whether a call is what it was."""
    return (call.prompt, call.tools, call.response_format, call.settings, call.options) == before


@st.composite
def spoilt_streams(draw: st.DrawFn, recordings: Sequence[Recording]) -> list[ServerEvent]:
    """Recorded streams in which one value of one event is another, gone or wrapped."""
    recording = draw(st.sampled_from(recordings))
    at = draw(st.sampled_from(range(len(recording.events))))
    event = recording.events[at]
    return [*recording.events[:at], draw(_spoilt(event)), *recording.events[at + 1 :]]


def _spoilt(event: ServerEvent) -> st.SearchStrategy[ServerEvent]:
    try:
        value = json.loads(event.data)
    except ValueError:
        value = event.data
    other = broken_inputs([Wire("event", {"": value})]).map(lambda broken: _inner(broken.data))
    return other.map(lambda data: ServerEvent(json.dumps(data), event.event, event.id))


def _inner(data: object) -> object:
    return data.get("") if isinstance(data, dict) and data.keys() == {""} else data


def strings_in(value: object) -> Iterator[str]:
    """Give every text inside a JSON value, but for keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_in(inner)


def numbers_in(value: object) -> Iterator[int]:
    """Give every whole number inside a JSON value."""
    if type(value) is int:
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from numbers_in(inner)
