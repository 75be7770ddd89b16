"""Tool calls of a Chat Completions stream, put together from their fragments.

The wire says: a fragment names its call by `index`, the first one has the id and the name, and the arguments
are a text that goes on. Servers leave the index out, give all calls the same one, repeat the id or the name in
every fragment, send no id, or send the arguments as an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from trimtab_plugins.providers.stream_json import (
    JsonObject,
    ObjectEnd,
    Pieces,
    bad_response,
    list_at,
    merged,
    object_at,
    text_at,
    without_surrogates,
)
from trimtab_sdk import ProviderEvent, ToolCallCompleted, ToolCallDelta, ToolCallStarted

_KNOWN = frozenset({"index", "id", "type", "function", "custom"})
_KNOWN_INSIDE = frozenset({"name", "arguments"})
_MADE_UP = 16


@dataclass(slots=True)
class OpenCall:
    """A call as far as it has come."""

    call_id: str = ""
    name: str = ""
    arguments: Pieces = field(default_factory=Pieces)
    end: ObjectEnd = field(init=False)
    news: list[str] = field(default_factory=list)
    started: bool = False
    completed: bool = False
    more: JsonObject = field(default_factory=dict)
    more_inside: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.end = ObjectEnd(self.arguments)

    def add(self, arguments: str) -> None:
        """Let the arguments go on."""
        self.news.append(self.arguments.take(arguments))

    def repeats(self, arguments: str) -> bool:
        """Whether these are the whole arguments once more."""
        same_size = len(arguments) == self.arguments.size
        return same_size and self.end.reached() and arguments == self.arguments.text()

    def item(self) -> JsonObject:
        """Give the call as it stands in a message."""
        function = {"name": self.name, "arguments": self.arguments.text(), **self.more_inside}
        return {"id": self.call_id, "type": "function", "function": function, **self.more}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a call; `index` is None where the server gives none."""

    index: int | None
    call_id: str
    name: str
    arguments: str
    more: JsonObject
    more_inside: JsonObject


class OpenCalls:
    """The calls of one answer."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []
        self._by_index: dict[int, OpenCall] = {}
        self._by_id: dict[str, OpenCall] = {}

    def __bool__(self) -> bool:
        return bool(self._calls)

    @property
    def all_complete(self) -> bool:
        """Whether every call was told as complete."""
        return all(call.completed for call in self._calls)

    def items(self) -> list[object]:
        """Give the calls as they stand in a message."""
        return [call.item() for call in self._calls]

    def take(self, delta: JsonObject) -> Iterator[ProviderEvent]:
        """Take the fragments of a delta; a call of the retired `function_call` is one like any other."""
        for raw in list_at(delta, "tool_calls"):
            yield from self._add(_fragment(raw))
        if delta.get("function_call") is not None:
            yield from self._add(_fragment({"function": delta["function_call"]}))

    def complete(self, seed: str, *, cut: bool) -> Iterator[ProviderEvent]:
        """End the calls that are open; one without an id gets one that is made from `seed`.

        `cut` says that the answer did not end by itself: then only calls with whole arguments are complete.
        """
        for at, call in enumerate(self._calls):
            if not call.completed:
                yield from self._end(call, f"call_{seed}{at}", cut=cut)
        if cut:
            self._calls = [call for call in self._calls if call.name]

    def _add(self, fragment: Fragment) -> Iterator[ProviderEvent]:
        call = self._call_of(fragment)
        if call.completed:
            if fragment.arguments and not call.repeats(fragment.arguments):
                raise bad_response()
            return
        self._name(call, fragment)
        call.more = _joined(call.more, fragment.more)
        call.more_inside = _joined(call.more_inside, fragment.more_inside)
        if fragment.arguments and not call.repeats(fragment.arguments):
            call.add(fragment.arguments)
        yield from _news(call)

    def _name(self, call: OpenCall, fragment: Fragment) -> None:
        call.name = call.name or fragment.name
        if fragment.call_id and not call.call_id:
            call.call_id = fragment.call_id
            self._by_id[fragment.call_id] = call

    def _call_of(self, fragment: Fragment) -> OpenCall:
        call = self._known(fragment)
        if call is None or _begins_anew(call, fragment):
            call = OpenCall()
            self._calls.append(call)
        if fragment.index is not None:
            self._by_index[fragment.index] = call
        return call

    def _known(self, fragment: Fragment) -> OpenCall | None:
        if fragment.index is not None:
            return self._by_index.get(fragment.index)
        if fragment.call_id in self._by_id:
            return self._by_id[fragment.call_id]
        return None if fragment.name or not self._calls else self._calls[-1]

    def _end(self, call: OpenCall, made_up: str, *, cut: bool) -> Iterator[ProviderEvent]:
        if not call.name and not cut:
            raise bad_response()
        call.call_id = call.call_id or self._free(made_up)
        call.news.append(call.arguments.close())
        text = call.arguments.text()
        if not cut and not text.strip():
            # Some templates parse the arguments again and know no empty ones.
            call.add("{}")
            text += "{}"
        yield from _news(call)
        if call.name and (not cut or is_object(text)):
            call.completed = True
            yield ToolCallCompleted(call.call_id, call.name, text)

    def _free(self, wanted: str) -> str:
        taken = {call.call_id for call in self._calls}
        while wanted in taken:
            wanted += "_"
        return wanted


def seed_of(response_id: str) -> str:
    """Give what made-up ids begin with, so that those of two answers differ; empty without an id."""
    letters = "".join(letter for letter in response_id if letter.isascii() and letter.isalnum())
    return f"{letters[-_MADE_UP:]}_" if letters else ""


def is_object(text: str) -> bool:
    """Tell whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _begins_anew(call: OpenCall, fragment: Fragment) -> bool:
    if not fragment.name or not call.name:
        return False
    if fragment.call_id and call.call_id and fragment.call_id != call.call_id:
        return True
    repeated = bool(fragment.call_id) and fragment.index is not None
    return not repeated and bool(fragment.arguments.strip()) and call.end.reached()


def _news(call: OpenCall) -> Iterator[ProviderEvent]:
    """Tell what is new of a call, once it has a name and an id."""
    if not call.name or not call.call_id:
        return
    if not call.started:
        call.started = True
        yield ToolCallStarted(call.call_id, call.name)
    if told := "".join(call.news):
        yield ToolCallDelta(call.call_id, told)
    call.news.clear()


def _fragment(raw: object) -> Fragment:
    if not isinstance(raw, dict) or raw.get("type") not in (None, "", "function"):
        raise bad_response()
    function = object_at(raw, "function")
    index = raw.get("index")
    return Fragment(
        index if type(index) is int else None,
        _id_of(raw.get("id")),
        without_surrogates(text_at(function, "name")),
        _arguments(function.get("arguments")),
        {key: value for key, value in raw.items() if key not in _KNOWN},
        {key: value for key, value in function.items() if key not in _KNOWN_INSIDE},
    )


def _id_of(value: object) -> str:
    if type(value) is int:
        return str(value)
    if value is None or isinstance(value, str):
        return without_surrogates(value or "")
    raise bad_response()


def _arguments(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if value is None or isinstance(value, str):
        return value or ""
    raise bad_response()


def _joined(old: JsonObject, new: JsonObject) -> JsonObject:
    joined = merged(old, new) if new else old
    assert isinstance(joined, dict)
    return {key: value for key, value in joined.items() if value is not None}
