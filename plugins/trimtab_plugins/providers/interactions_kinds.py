"""One step of an answer of the Interactions API as far as it has come: of any kind, and the three that speak."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import NoReturn

from trimtab_plugins.providers.interactions_contents import OpenContents
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    Pieces,
    bad_response,
    cleaned,
    list_at,
    object_at,
    read_event,
    text_at,
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

# Parts of other steps; no content of an answer is named so.
_OF_STEPS = ("_call", "_result", "_delta")


class OpenStep:
    """A step of any kind.

    Its deltas are as a rule whole objects: what they say stands in the step under the same keys.
    """

    def __init__(self, raw: JsonObject) -> None:
        self._fields: JsonObject = {key: cleaned(value) for key, value in raw.items() if value is not None}
        self._kind = text_at(raw, "type")
        self._arguments = Pieces()
        self.left_out: set[str] = set()
        self.is_broken = False

    @property
    def error(self) -> object:
        """What it tells of an error."""
        return self._fields.get("error")

    def begin(self) -> Iterator[ProviderEvent]:
        """Give the events of what came with its start."""
        yield from ()

    def take(self, delta: JsonObject) -> Iterator[ProviderEvent]:
        """Take a delta; give the events of it."""
        kind = text_at(delta, "type")
        if kind == "thought_signature":
            self._sign(text_at(delta, "signature"))
        elif kind == "arguments_delta":
            yield from self._take_arguments(text_at(delta, "arguments"))
        else:
            yield from self._take_other(kind, delta)

    def close(self) -> Iterator[ProviderEvent]:
        """End it, once or several times; give what was held back."""
        self._arguments.close()
        if self._arguments:
            self._set_arguments(self._arguments.text())
        yield from ()

    def item(self) -> JsonObject | None:
        """Give the step as it goes into a request, None when there is nothing in it, or only half a call."""
        return None if self.is_broken else self._fields

    def _take_arguments(self, piece: str) -> Iterator[ProviderEvent]:
        self._arguments.take(piece)
        yield from ()

    def _take_other(self, kind: str, delta: JsonObject) -> Iterator[ProviderEvent]:
        if kind == self._kind:
            self._fields |= _said(delta)
        else:
            self.left_out.add(kind)
        yield from ()

    def _sign(self, signature: str) -> None:
        old = text_at(self._fields, "signature")
        if signature and signature != old:
            self._fields["signature"] = old + signature

    def _set_arguments(self, text: str) -> None:
        arguments = _object_of(text)
        self.is_broken = arguments is None
        if arguments is not None:
            self._fields["arguments"] = arguments


class OpenCall(OpenStep):
    """A call of a function. Its arguments come as pieces of a text, and stand in the step as an object."""

    def __init__(self, raw: JsonObject) -> None:
        super().__init__(raw)
        self._call_id, self._name = text_at(self._fields, "id"), text_at(self._fields, "name")
        self._is_told = False
        if not self._call_id or not self._name:
            raise bad_response()

    def begin(self) -> Iterator[ProviderEvent]:
        """Tell that it begins."""
        yield ToolCallStarted(self._call_id, self._name)

    def close(self) -> Iterator[ProviderEvent]:
        """Tell the call, when its arguments are an object; else it is broken."""
        if self._is_told:
            return
        yield from self._told(self._arguments.close())
        if not self._arguments:
            yield from self._take_arguments(_as_text(object_at(self._fields, "arguments")))
        self._set_arguments(self._arguments.text())
        if not self.is_broken:
            self._is_told = True
            yield ToolCallCompleted(self._call_id, self._name, self._arguments.text())

    def _take_arguments(self, piece: str) -> Iterator[ProviderEvent]:
        if self._is_told:
            raise bad_response()
        yield from self._told(self._arguments.take(piece))

    def _told(self, piece: str) -> Iterator[ProviderEvent]:
        if piece:
            yield ToolCallDelta(self._call_id, piece)


class OpenOutput(OpenStep):
    """What the model says, in text and pictures."""

    def __init__(self, raw: JsonObject) -> None:
        super().__init__(raw)
        self._contents = OpenContents(list_at(raw, "content"))

    def begin(self) -> Iterator[ProviderEvent]:
        """Tell the text that came with the start."""
        if told := self._contents.texts():
            yield TextDelta(told)

    def close(self) -> Iterator[ProviderEvent]:
        """Tell what was held back of the text."""
        if told := self._contents.close():
            yield TextDelta(told)

    def item(self) -> JsonObject | None:
        """Give the step, None when nothing is said."""
        contents = self._contents.items()
        return {**self._fields, "content": contents} if contents or self.error is not None else None

    def _take_other(self, kind: str, delta: JsonObject) -> Iterator[ProviderEvent]:
        if kind == "text":
            if told := self._contents.take_text(text_at(delta, "text")):
                yield TextDelta(told)
        elif kind == "text_annotation_delta":
            self._contents.annotate(list_at(delta, "annotations"))
        elif kind and not kind.endswith(_OF_STEPS):
            yield from self.close()
            self._contents.add({"type": kind, **_said(delta)})
        else:
            self.left_out.add(kind)


class OpenThought(OpenStep):
    """A thought: what may be shown of it, and the signature by which Google knows it again."""

    def __init__(self, raw: JsonObject) -> None:
        super().__init__(raw)
        self._summary = OpenContents(list_at(raw, "summary"))
        text_at(self._fields, "signature")

    def begin(self) -> Iterator[ProviderEvent]:
        """Tell the summary that came with the start."""
        if told := self._summary.texts():
            yield ReasoningDelta(told)

    def close(self) -> Iterator[ProviderEvent]:
        """Tell what was held back of the summary."""
        if told := self._summary.close():
            yield ReasoningDelta(told)

    def item(self) -> JsonObject | None:
        """Give the step, None when it has neither a summary nor a signature."""
        summary = self._summary.items()
        fields = {**self._fields, "summary": summary} if summary else self._fields
        return fields if summary or self._fields.get("signature") else None

    def _take_other(self, kind: str, delta: JsonObject) -> Iterator[ProviderEvent]:
        content = object_at(delta, "content")
        if kind != "thought_summary":
            self.left_out.add(kind)
        elif content.get("type") == "text":
            if told := self._summary.take_text(text_at(content, "text")):
                yield ReasoningDelta(told)
        elif content:
            yield from self.close()
            self._summary.add(_said(content) | {"type": text_at(content, "type")})


def _said(delta: JsonObject) -> JsonObject:
    return {key: cleaned(value) for key, value in delta.items() if key != "type" and value is not None}


def _as_text(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _object_of(text: str) -> JsonObject | None:
    """Give the object that arguments are, None when they are none that can be stored and sent again."""
    try:
        json.loads(text, parse_constant=_refuse, parse_float=_finite)
        return {key: cleaned(value) for key, value in read_event(text).items()}
    except (ValueError, RecursionError, ProviderFaultError):
        return None


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)
