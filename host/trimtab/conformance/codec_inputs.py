"""What a codec is tried on: inputs of its own format, messages of any other, and input that is broken."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from hypothesis import strategies as st

from trimtab.config import Config
from trimtab.conformance.corpus import FORMAT, Chat, corpus
from trimtab.conformance.generated import chats
from trimtab.conversion import written_by
from trimtab.loading.discovery import built_in
from trimtab.loading.registry import CODECS, DEFAULT_REGISTRY
from trimtab_sdk.codec import Codec, Decoded, Encoded, Recognition
from trimtab_sdk.messages import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Message,
    Notice,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

MOST_MESSAGES = 100
GARBAGE: tuple[object, ...] = (None, True, 7, 1.5, "text", [], {}, [1], [None], [[]], ["text"], [{}], {"a": 1})
_FIELDS = (
    *("role", "content", "type", "text", "id", "messages", "input", "contents", "parts", "name", "tool_calls"),
    *("conversations", "from", "value", "mapping", "system", "arguments", "function", "tools", "uuid"),
)
_WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_KEYS = st.one_of(st.sampled_from(_FIELDS), _WORDS)
_LEAVES = st.one_of(
    st.sampled_from([None, True, False, 0, -1, 7, 1.5, 10**30, "", " ", "user", "assistant", "tool", "text"]),
    _WORDS,
)
JSON_VALUES: st.SearchStrategy[object] = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=4)),
    max_leaves=12,
)
JSON_INPUTS: st.SearchStrategy[object] = st.one_of(
    JSON_VALUES,
    st.lists(st.dictionaries(_KEYS, JSON_VALUES, max_size=4), max_size=4),
    st.dictionaries(_KEYS, st.lists(JSON_VALUES, max_size=3), max_size=3),
)


@dataclass(frozen=True)
class Wire:
    """An input in a codec's format; `fresh()` gives a copy that may be spoilt."""

    name: str
    data: object = field(repr=False)

    def fresh(self) -> object:
        """Give the input anew."""
        return copy.deepcopy(self.data)


def installed_codec(name: str) -> Codec:
    """Give an installed codec. Raises UnknownFormatError."""
    return DEFAULT_REGISTRY.codec(name, Config())


def wires_of(codec: Codec, samples: Sequence[object]) -> Iterator[Wire]:
    """Give the author's samples, and the corpus as the codec writes it, unless it only reads."""
    yield from (Wire(f"sample {at}", sample) for at, sample in enumerate(samples))
    if written_by(codec) == codec.name:
        yield from corpus_in(codec)


def corpus_in(codec: Codec) -> Iterator[Wire]:
    """Give the conversations of the corpus as a codec writes them, without those it refuses."""
    for chat in short_chats():
        adapted = codec.adapt(chat.messages, None, protected=())
        if adapted.messages and not adapted.refused:
            yield Wire(f"the corpus' {chat.name!r}", sent(codec.encode(adapted.messages)))


@cache
def foreign_wires() -> tuple[tuple[str, Wire], ...]:
    """Give inputs of all formats that ship, those their own codec is sure about, each with its format."""
    codecs = [installed_codec(row.name) for row in built_in(CODECS)]
    writing = [codec for codec in codecs if written_by(codec) == codec.name]
    return tuple(
        (codec.name, wire)
        for codec in writing
        for wire in corpus_in(codec)
        if codec.recognize(wire.data) is Recognition.SURE
    )


def short_chats() -> Iterator[Chat]:
    """Give the conversations of the corpus but for the empty and the very long one."""
    return (chat for chat in corpus() if 0 < len(chat.messages) <= MOST_MESSAGES)


def sent(encoded: Encoded) -> object:
    """Give the body where there is one, else the list of messages."""
    return encoded.messages if encoded.request is None else encoded.request


def written_again(codec: Codec, decoded: Decoded) -> object:
    """Give what a codec writes of a conversation that nobody changed, in the shape it was read in."""
    return sent(codec.encode(decoded.messages, decoded.originals))


def neutral() -> Codec:
    """Give the codec of the neutral format."""
    return installed_codec(FORMAT)


@dataclass(frozen=True)
class BrokenInput:
    """An input of the format in which one value is another, gone or wrapped.

    `inside` says that the value stands in a message or a field, so that there is a path to it.
    """

    data: object
    inside: bool


@st.composite
def broken_inputs(draw: st.DrawFn, wires: Sequence[Wire]) -> BrokenInput:
    """Inputs of the format with one wrong value."""
    wire = draw(st.sampled_from(wires))
    place = draw(st.sampled_from(list(_places(wire.data, ()))))
    return BrokenInput(_changed(wire.data, place, draw), len(place) > 1)


def _places(value: object, path: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*path, key))


def _changed(value: object, path: tuple[object, ...], draw: st.DrawFn) -> object:
    if not path:
        return draw(st.one_of(JSON_VALUES, st.just([value]), st.just({"text": value})))
    key, rest = path[0], path[1:]
    if not rest and draw(st.integers(0, 3)) == 0:
        return _without(value, key)
    if isinstance(value, dict):
        return {**value, key: _changed(value[key], rest, draw)}
    assert isinstance(value, list)
    assert isinstance(key, int)
    return [*value[:key], _changed(value[key], rest, draw), *value[key + 1 :]]


def _without(value: object, key: object) -> object:
    if isinstance(value, dict):
        return {one: inner for one, inner in value.items() if one != key}
    assert isinstance(value, list)
    return [inner for at, inner in enumerate(value) if at != key]


_CONTENT: st.SearchStrategy[Part] = st.sampled_from(
    [
        Text(""),
        Text("hello there"),
        Text("はい、そうです。 👍🏽"),
        Image(url="https://example.org/a.png"),
        Image(data="AAAA", media_type="image/png"),
        File(file_id="file_1"),
        File(name="a.pdf", data="AAAA", media_type="application/pdf"),
        File(name="a.txt", text="plain words", media_type="text/plain"),
        Audio(audio_id="sound_1"),
        Audio(data="AAAA", format="mp3"),
        Unknown({"type": "hologram", "text": "unheard of"}),
    ]
)
_ASIDE: st.SearchStrategy[Part] = st.sampled_from(
    [
        Notice("seen", {"by": "guest"}),
        ApprovalRequest("ok_1", "a"),
        ApprovalResponse("ok_1", True),
        Compaction("elsewhere", "c2VhbGVk"),
    ]
)
_IDS = st.sampled_from(["a", "b", "c"])
_CALL = st.builds(
    ToolCall, _IDS, st.sampled_from(["look", "find"]), st.sampled_from(["{}", "{broken", '{"at": [1, 2]}', ""])
)
_THOUGHT = st.sampled_from([Reasoning("hm"), Reasoning("", "c2lnbmVk"), Reasoning("hm", "c2lnbmVk"), Reasoning()])
_RESULT = st.builds(
    ToolResult,
    _IDS,
    st.one_of(st.sampled_from(["found", ""]), st.lists(_CONTENT, max_size=2).map(tuple)),
    st.booleans(),
)
_PARTS: dict[Role, st.SearchStrategy[Part]] = {
    "user": st.one_of(_CONTENT, _CONTENT, _ASIDE),
    "assistant": st.one_of(_CONTENT, _CALL, _CALL, _THOUGHT, _ASIDE),
    "tool": st.one_of(_RESULT, _RESULT, _ASIDE),
    "system": _CONTENT,
}


@st.composite
def talks(draw: st.DrawFn) -> tuple[Message, ...]:
    """Messages of any format, with parts of every kind, in any order."""
    if draw(st.booleans()):
        return draw(chats()).messages
    return tuple(draw(_message(f"m{at}")) for at in range(draw(st.integers(0, 10))))


@st.composite
def _message(draw: st.DrawFn, name: str) -> Message:
    role: Role = draw(st.sampled_from(["user", "user", "assistant", "assistant", "tool", "tool", "system"]))
    return Message(name, role, tuple(draw(st.lists(_PARTS[role], max_size=3))))
