"""The output of one response: its items as the server finished them, and what is told of them on the way.

An item is what `response.output_item.done` holds, for in `.added` its sealed reasoning may be incomplete. Deltas
name an item by its place in the output; the id and the name of a call stand in `.added` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from trimtab_plugins.codecs.openai_responses import OpenAIResponses
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    Pieces,
    bad_response,
    cleaned,
    list_at,
    object_at,
    text_at,
    without_surrogates,
)
from trimtab_sdk import (
    InvalidRequestError,
    Message,
    ProviderEvent,
    Reasoning,
    ReasoningDelta,
    Text,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)

_Place: TypeAlias = int | str

_INPUTS = {"function_call": "arguments", "custom_tool_call": "input"}
_BREAK = "\n\n"
_CODEC = OpenAIResponses()


@dataclass(slots=True)
class _OpenItem:
    """An item as far as it has come."""

    text: Pieces = field(default_factory=Pieces)
    thought: Pieces = field(default_factory=Pieces)
    thought_part: tuple[str, object] | None = None
    arguments: Pieces = field(default_factory=Pieces)
    call_id: str = ""
    name: str = ""
    item: JsonObject | None = None
    message: Message | None = None
    complete: bool = False

    @property
    def is_call(self) -> bool:
        return bool(self.call_id)


class OpenOutput:
    """The items of one answer."""

    def __init__(self) -> None:
        self._open: dict[_Place, _OpenItem] = {}

    @property
    def calls_told(self) -> bool:
        """Whether a call was told, complete or not."""
        return any(one.is_call for one in self._open.values())

    @property
    def calls_complete(self) -> bool:
        """Whether every call that was told is complete."""
        return all(one.complete for one in self._open.values() if one.is_call)

    @property
    def calls_kept(self) -> bool:
        """Whether every call that was told is among the items."""
        return all(one.item is not None for one in self._open.values() if one.is_call)

    @property
    def refused(self) -> bool:
        """Whether the model says nothing but that it will not answer."""
        kinds = [kind for one in self._open.values() for kind in _kinds_of_content(one.item)]
        return {*kinds} == {"refusal"}

    def items(self) -> tuple[object, ...]:
        """Give the items in the order of the output; a text whose item never came is an item of its own."""
        found = [one for _, one in sorted(self._open.items(), key=_by_place)]
        items = [one.item if one.item is not None else _of_text(one.text.text()) for one in found]
        return tuple(item for item in items if item is not None)

    def add(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take an item that begins; only a call tells anything by that."""
        item = object_at(event, "item")
        if text_at(item, "type") in _INPUTS and text_at(item, "call_id") and text_at(item, "name"):
            yield from self._start(self._at(event), item)

    def say(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take more of a text, or of a refusal."""
        one = self._at(event)
        if one.item is None and (text := one.text.take(text_at(event, "delta"))):
            yield TextDelta(text)

    def think(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take more of the thinking that is shown; parts of it are told apart by an empty line."""
        one = self._at(event)
        part = (text_at(event, "type"), event.get("summary_index", event.get("content_index")))
        gap = _BREAK if one.thought_part not in (None, part) else ""
        one.thought_part = part
        if one.item is None and (text := one.thought.take(gap + text_at(event, "delta"))):
            yield ReasoningDelta(text)

    def ask(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take more of a call's arguments; they wait for the whole item where nobody said whose they are."""
        one = self._at(event)
        if not one.is_call or one.item is not None:
            return
        if text := one.arguments.take(text_at(event, "delta")):
            yield ToolCallDelta(one.call_id, text)

    def finish(self, event: JsonObject) -> Iterator[ProviderEvent]:
        """Take an item that is whole, and tell what was not told of it."""
        one = self._at(event)
        if one.item is None:
            yield from self._keep(one, object_at(event, "item"))

    def fill(self, output: list[object]) -> Iterator[ProviderEvent]:
        """Take from the output of the whole response the items that never came by themselves."""
        known = {text_at(one.item, "id") for one in self._open.values() if one.item is not None} - {""}
        for at, item in enumerate(output):
            if not isinstance(item, dict):
                raise bad_response()
            one = self._open.setdefault(at, _OpenItem())
            if one.item is None and text_at(item, "id") not in known:
                yield from self._keep(one, item)

    def close(self) -> Iterator[ProviderEvent]:
        """Tell the halves of characters that nothing completed, where no item came."""
        for one in self._open.values():
            yield from _rest_of(one)

    def _at(self, event: JsonObject) -> _OpenItem:
        place = event.get("output_index")
        return self._open.setdefault(place if type(place) is int else text_at(event, "item_id"), _OpenItem())

    def _keep(self, one: _OpenItem, raw: JsonObject) -> Iterator[ProviderEvent]:
        item = cleaned(raw)
        assert isinstance(item, dict)
        one.message = _read(item)
        yield from _rest_of(one)
        if text_at(item, "type") in _INPUTS:
            yield from self._end_call(one, item)
        else:
            yield from _untold(one)
        one.item = item

    def _start(self, one: _OpenItem, item: JsonObject) -> Iterator[ProviderEvent]:
        call_id, name = (without_surrogates(text_at(item, key)) for key in ("call_id", "name"))
        if one.is_call and (one.call_id, one.name) == (call_id, name):
            return
        taken = one.is_call or any(other.call_id == call_id for other in self._open.values())
        if taken or not call_id or not name:
            raise bad_response()
        one.call_id, one.name = call_id, name
        yield ToolCallStarted(call_id, name)

    def _end_call(self, one: _OpenItem, item: JsonObject) -> Iterator[ProviderEvent]:
        yield from self._start(one, item)
        arguments, told = text_at(item, _INPUTS[text_at(item, "type")]), one.arguments.text()
        if not arguments.startswith(told):
            raise bad_response()
        if rest := arguments[len(told) :]:
            yield ToolCallDelta(one.call_id, rest)
        if item.get("status") != "incomplete":
            one.complete = True
            yield ToolCallCompleted(one.call_id, one.name, arguments)


def _read(item: JsonObject) -> Message:
    """Read an item as it will be read when it is sent again; what cannot be would spoil the conversation."""
    try:
        messages = _CODEC.decode([item]).messages
    except InvalidRequestError as error:
        raise bad_response() from error
    if text_at(item, "type") in ("message", "") and messages[0].role != "assistant":
        raise bad_response()
    text_at(item, "id")
    return messages[0]


def _rest_of(one: _OpenItem) -> Iterator[ProviderEvent]:
    if text := one.text.close():
        yield TextDelta(text)
    if thought := one.thought.close():
        yield ReasoningDelta(thought)
    if one.is_call and (arguments := one.arguments.close()):
        yield ToolCallDelta(one.call_id, arguments)


def _untold(one: _OpenItem) -> Iterator[ProviderEvent]:
    """Tell what a whole item says and no delta has told; servers may leave deltas out."""
    parts = one.message.parts if one.message is not None else ()
    said = "".join(part.text for part in parts if isinstance(part, Text))
    told = one.text.text()
    if said.startswith(told) and said != told:
        yield TextDelta(said[len(told) :])
    thought = "".join(part.text for part in parts if isinstance(part, Reasoning))
    if thought and not one.thought:
        yield ReasoningDelta(thought)


def _kinds_of_content(item: JsonObject | None) -> list[str]:
    if item is None or item.get("type") != "message" or not isinstance(item.get("content"), list):
        return []
    return [text_at(part, "type") for part in list_at(item, "content") if isinstance(part, dict)]


def _of_text(text: str) -> JsonObject | None:
    return {"type": "message", "role": "assistant", "content": text} if text else None


def _by_place(entry: tuple[_Place, _OpenItem]) -> tuple[bool, int]:
    place, _ = entry
    return isinstance(place, str), place if isinstance(place, int) else 0
