"""The blocks of one answer: built up from deltas, told on the way, and kept as they are sent again.

What a call asks for is told as complete when its arguments are a JSON object. Other arguments wait for the end of
the answer: when that was cut off, so were they.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from trimtab_plugins.codecs.anthropic_messages_input import read_input
from trimtab_plugins.codecs.reading import is_blank, json_text
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    Pieces,
    bad_response,
    cleaned,
    merged,
    object_at,
    read_event,
    text_at,
    without_surrogates,
)
from trimtab_sdk import (
    ProviderEvent,
    ProviderFaultError,
    ReasoningDelta,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)

_CALL = "tool_use"
_KEY_OF_TEXT = {"text": "text", "thinking": "thinking"}
_FIXED = frozenset({"type", "id", "name"})


@dataclass(slots=True)
class _OpenBlock:
    """A block as far as it has come. `text` is what it says or thinks, `arguments` what a call of it asks for."""

    kind: str
    block: JsonObject
    text: Pieces = field(default_factory=Pieces)
    arguments: Pieces = field(default_factory=Pieces)
    ended: bool = False
    told: bool = False

    @property
    def is_call(self) -> bool:
        return self.kind == _CALL

    @property
    def has_input(self) -> bool:
        return self.kind.endswith("tool_use")

    @property
    def call_id(self) -> str:
        return text_at(self.block, "id")


class OpenBlocks:
    """The blocks of one answer, by their places in it."""

    def __init__(self) -> None:
        self._open: dict[int, _OpenBlock] = {}

    @property
    def has_calls(self) -> bool:
        """Whether a call was told as complete."""
        return any(one.told for one in self._open.values())

    @property
    def calls_complete(self) -> bool:
        """Whether every call that began was told as complete."""
        return all(one.told for one in self._open.values() if one.is_call)

    def start(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take a block that begins."""
        at, raw = _place(event), cleaned(object_at(event, "content_block"))
        assert isinstance(raw, dict)
        kind = text_at(raw, "type")
        if at in self._open or not kind:
            raise bad_response()
        if kind == _CALL:
            yield self._started(raw)
        one = self._open[at] = _OpenBlock(kind, raw)
        if key := _KEY_OF_TEXT.get(kind):
            yield from _take_text(one, text_at(raw, key))

    def go_on(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take more of a block; a delta of a kind that is not known here is joined to it key by key."""
        one, delta = self._running(event), object_at(event, "delta")
        take = _DELTAS.get(text_at(delta, "type"))
        if take is not None:
            yield from take(one, delta)
            return
        more = {key: value for key, value in delta.items() if key not in _FIXED}
        joined = merged(one.block, more)
        assert isinstance(joined, dict)
        one.block = joined

    def stop(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take the end of a block."""
        one = self._running(event)
        one.ended = True
        yield from _rest_of(one)
        if one.is_call and _object_in(one) is not None:
            yield from _completed(one)

    def close(self, *, cut: bool) -> Iterator[ProviderEvent]:
        """Take the end of the answer; `cut` tells that the model had more to say."""
        for one in self._in_order():
            yield from _rest_of(one)
        waiting = [one for one in self._in_order() if one.is_call and one.ended and not one.told]
        for one in waiting:
            if not (cut and one is self._last()):
                yield from _completed(one)

    def content(self, *, refused: bool) -> list[object]:
        """Give the blocks as they are sent again.

        Empty texts, which the server refuses, are left out, as are calls that are not complete, and all calls of
        an answer that was refused.
        """
        kept = (one for one in self._in_order() if _is_kept(one) and not (refused and one.is_call))
        return [_wire_of(one) for one in kept]

    def _in_order(self) -> list[_OpenBlock]:
        return [one for _, one in sorted(self._open.items())]

    def _last(self) -> _OpenBlock | None:
        return self._open[max(self._open)] if self._open else None

    def _running(self, event: JsonObject) -> _OpenBlock:
        one = self._open.get(_place(event))
        if one is None or one.ended:
            raise bad_response()
        return one

    def _started(self, block: JsonObject) -> ToolCallStarted:
        call_id, name = text_at(block, "id"), text_at(block, "name")
        taken = any(one.is_call and one.call_id == call_id for one in self._open.values())
        if taken or not call_id or not name:
            raise bad_response()
        return ToolCallStarted(call_id, name)


def _place(event: JsonObject) -> int:
    at = event.get("index")
    if type(at) is not int:
        raise bad_response()
    return at


def _say(one: _OpenBlock, delta: JsonObject) -> Iterator[ProviderEvent]:
    yield from _take_text(_of_kind(one, "text"), text_at(delta, "text"))


def _think(one: _OpenBlock, delta: JsonObject) -> Iterator[ProviderEvent]:
    yield from _take_text(_of_kind(one, "thinking"), text_at(delta, "thinking"))


def _sign(one: _OpenBlock, delta: JsonObject) -> tuple[ProviderEvent, ...]:
    _of_kind(one, "thinking").block["signature"] = without_surrogates(text_at(delta, "signature"))
    return ()


def _cite(one: _OpenBlock, delta: JsonObject) -> tuple[ProviderEvent, ...]:
    before = _of_kind(one, "text").block.get("citations")
    citation = cleaned(object_at(delta, "citation"))
    one.block["citations"] = [*(before if isinstance(before, list) else ()), citation]
    return ()


def _ask(one: _OpenBlock, delta: JsonObject) -> Iterator[ProviderEvent]:
    if not one.has_input:
        raise bad_response()
    if (text := one.arguments.take(text_at(delta, "partial_json"))) and one.is_call:
        yield ToolCallDelta(one.call_id, text)


_DELTAS: Mapping[str, Callable[[_OpenBlock, JsonObject], Iterable[ProviderEvent]]] = {
    "text_delta": _say,
    "thinking_delta": _think,
    "signature_delta": _sign,
    "citations_delta": _cite,
    "input_json_delta": _ask,
}


def _of_kind(one: _OpenBlock, kind: str) -> _OpenBlock:
    if one.kind != kind:
        raise bad_response()
    return one


def _take_text(one: _OpenBlock, piece: str) -> Iterator[ProviderEvent]:
    yield from _told(one, one.text.take(piece))


def _told(one: _OpenBlock, text: str) -> Iterator[ProviderEvent]:
    if text:
        yield TextDelta(text) if one.kind == "text" else ReasoningDelta(text)


def _rest_of(one: _OpenBlock) -> Iterator[ProviderEvent]:
    yield from _told(one, one.text.close())
    if (rest := one.arguments.close()) and one.is_call:
        yield ToolCallDelta(one.call_id, rest)


def _completed(one: _OpenBlock) -> Iterator[ProviderEvent]:
    """Tell a call. Its arguments are the text that came, or else what stood in the block when it began."""
    one.told = True
    arguments = one.arguments.text()
    if not arguments:
        arguments = json_text(_begun_input(one))
        yield ToolCallDelta(one.call_id, arguments)
    yield ToolCallCompleted(one.call_id, text_at(one.block, "name"), arguments)


def _begun_input(one: _OpenBlock) -> JsonObject:
    return object_at(one.block, "input")


def _object_in(one: _OpenBlock) -> JsonObject | None:
    """Give the object that a call came with, None when there is none so far."""
    text = one.arguments.text()
    return _parsed(text) if not is_blank(text) else _begun_input(one) or None


def _parsed(text: str) -> JsonObject | None:
    if read_input(text) is None:
        return None
    try:
        value = cleaned(read_event(text))
    except ProviderFaultError:
        return None
    return value if isinstance(value, dict) else None


def _is_kept(one: _OpenBlock) -> bool:
    if one.is_call:
        return one.told
    if one.has_input:
        return one.ended
    return one.kind != "text" or bool(one.text) or bool(one.block.get("citations"))


def _wire_of(one: _OpenBlock) -> JsonObject:
    if key := _KEY_OF_TEXT.get(one.kind):
        return {**one.block, key: one.text.text()}
    if one.has_input:
        return {**one.block, "input": _input_of(one)}
    return one.block


def _input_of(one: _OpenBlock) -> JsonObject:
    """Give the input, which is an object on this wire whatever the model wrote."""
    text = one.arguments.text()
    if is_blank(text):
        return _begun_input(one)
    value = _parsed(text)
    return {"arguments": text} if value is None else value
