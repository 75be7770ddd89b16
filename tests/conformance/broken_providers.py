"""Providers that break one rule of their contract each, and the streams they are tried on."""

from __future__ import annotations

import itertools
import json
import random
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from trimtab_plugins.providers.openai_compatible import OpenAICompatible
from trimtab_sdk import (
    Answer,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderFaultError,
    ProviderRequest,
    ServerEvent,
    StreamReader,
    TextDelta,
    ToolCallCompleted,
    ToolSpec,
)


def stream(*deltas: Mapping[str, object], finish: str = "stop", **expected: object) -> dict[str, object]:
    """An answer of a Chat Completions server, with what is expected of it."""
    choices = [{"index": 0, "delta": dict(delta), "finish_reason": None} for delta in deltas]
    last = {"index": 0, "delta": {}, "finish_reason": finish}
    chunks = [{"id": "chatcmpl-1", "model": "m", "choices": [choice]} for choice in (*choices, last)]
    usage = {"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 12}}
    return {"events": [*map(json.dumps, (*chunks, usage)), "[DONE]"], **expected}


def fragment(index: int, arguments: str, **fields: object) -> dict[str, object]:
    """A delta with a piece of a tool call."""
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return {"tool_calls": [{"index": index, **fields, "function": {**name, "arguments": arguments}}]}


STREAMS: tuple[Mapping[str, object], ...] = (
    stream({"role": "assistant", "content": "Half "}, {"content": "past six."}, text="Half past six."),
    stream(
        {"role": "assistant", "content": "I look.", "reasoning_content": "When was it?"},
        fragment(0, '{"at"', id="call_a", name="look"),
        fragment(1, "{}", id="call_b", name="find"),
        fragment(0, ": 6}"),
        finish="tool_calls",
        text="I look.",
        calls=[("look", '{"at": 6}'), ("find", "{}")],
    ),
    stream(
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "c2VhbGVk"}]},
        {"content": "Six.", "extra_content": {"seal": "c2VhbGVk"}},
        text="Six.",
        finish="length",
    ),
    stream({"refusal": "I cannot."}, text="I cannot."),
)


OPEN: Mapping[str, object] = {"type": "object"}


class Talker(OpenAICompatible):
    """A provider that keeps every rule."""

    name = "talker"
    mode: Any = "stateless-loop"


class Reader:
    """Reads as that of a talker does; what is broken in it overrides a method."""

    def __init__(self, reader: StreamReader) -> None:
        self.inner = reader

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        return self.inner.parse(event)

    def end(self) -> Answer | None:
        return self.inner.end()


class CarriesOnSomehow(Talker):
    mode = "by-magic"


class SpeaksUnheardOf(Talker):
    codec = "unheard-of"


class ChangesItsName(Talker):
    def __init__(self) -> None:
        self.name = f"talker-{random.randrange(10**9)}"


class AsksTheServer(Talker):
    @property
    def mode(self) -> Literal["responses"]:  # type: ignore[override]
        try:
            socket.getaddrinfo("localhost", 9)
        except RuntimeError:
            return "responses"
        return "responses"


class AsksForModels(Talker):
    def request(self, call: ProviderCall) -> ProviderRequest:
        socket.create_connection(("127.0.0.1", 9))
        return super().request(call)


class KeepsInALoop(Talker):
    retention: Any = 3600.0


class KeepsForNoTime(Talker):
    retention: Any = -1


class Keeper(Talker):
    """A provider that keeps every rule, and whose server keeps conversations."""

    mode = "responses"

    def request(self, call: ProviderCall) -> ProviderRequest:
        request = super().request(call)
        cursor = {} if call.cursor is None else {"previous_response_id": call.cursor}
        return replace(request, body={**request.body, **cursor, "store": call.keep})


class ForgetsTheCursor(Keeper):
    def request(self, call: ProviderCall) -> ProviderRequest:
        return super().request(replace(call, cursor=None))


class ForgetsTheSystemText(Keeper):
    def request(self, call: ProviderCall) -> ProviderRequest:
        request = super().request(call)
        messages = call.prompt.messages[1 if call.cursor else 0 :]
        return replace(request, body={**request.body, "messages": messages})


class KeepsUnasked(Keeper):
    def request(self, call: ProviderCall) -> ProviderRequest:
        return super().request(replace(call, keep=True))


class GivesACursorAnyway(Keeper):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Keeping(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                told = super().parse(event)
                return [replace(one, cursor="resp_1") if isinstance(one, Answer) else one for one in told]

        return Keeping(super().reader(call))


class CountsNothing(Keeper):
    def count_request(self, call: ProviderCall) -> ProviderRequest:
        return replace(self.request(call), path="count")

    def read_count(self, body: object) -> int:
        return 0


class CountsWithoutTheCursor(Keeper):
    def count_request(self, call: ProviderCall) -> ProviderRequest:
        return replace(self.request(replace(call, cursor=None)), path="count")

    def read_count(self, body: object) -> int:
        raise ProviderFaultError(Fault(code="PROVIDER_BAD_RESPONSE"))


class RemarksOnNothing(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Remarking(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                told = super().parse(event)
                return [replace(one, remarks=("",)) if isinstance(one, Answer) else one for one in told]

        return Remarking(super().reader(call))


class WithoutACodec(Talker):
    codec = ""


class WithoutASchema(Talker):
    options_schema: Any = "none"


class HasAUserInItsAddress(Talker):
    base_url = "https://me@example.org/v1"


class NamesAKeyByItsValue(Talker):
    key_variable = "sk-1234"


class TakesAnySetting(Talker):
    settings_schema: Mapping[str, object] | None = OPEN


class SortsTools(Talker):
    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        return super().write_tools(sorted(tools, key=lambda tool: tool.name), settings)


class LeavesTheAddress(Talker):
    def request(self, call: ProviderCall) -> ProviderRequest:
        return replace(super().request(call), path="../v2/chat/completions")


class SetsTheKey(Talker):
    def request(self, call: ProviderCall) -> ProviderRequest:
        return replace(super().request(call), headers={"Authorization": "Bearer sk-1"})


class NumbersItsRequests(Talker):
    turns = itertools.count()

    def request(self, call: ProviderCall) -> ProviderRequest:
        request = super().request(call)
        return replace(request, body={**request.body, "seed": next(self.turns)})


class ChangesTheCall(Talker):
    def request(self, call: ProviderCall) -> ProviderRequest:
        request = super().request(call)
        call.prompt.messages.pop()
        return request


class ForgetsTheLimit(Talker):
    def request(self, call: ProviderCall) -> ProviderRequest:
        return super().request(replace(call, max_output_tokens=None))


class SendsTheLastMessage(Talker):
    def request(self, call: ProviderCall) -> ProviderRequest:
        request = super().request(call)
        return replace(request, body={**request.body, "messages": call.prompt.messages[-1:]})


class TellsNoCalls(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Silent(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                return [one for one in super().parse(event) if not isinstance(one, ToolCallCompleted)]

        return Silent(super().reader(call))


class AnswersTwice(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Twofold(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                told = super().parse(event)
                return [*told, *(one for one in told if isinstance(one, Answer))]

        return Twofold(super().reader(call))


def _with_items(answer: Answer | None, **fields: object) -> Answer | None:
    if answer is None:
        return None
    items = tuple({**item, **fields} for item in answer.items if isinstance(item, dict))
    return replace(answer, items=items)


class WritesNoCallsAsAList(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Listing(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                return [_listed(one) for one in super().parse(event)]

        return Listing(super().reader(call))


def _listed(event: ProviderEvent) -> ProviderEvent:
    if not isinstance(event, Answer) or any("tool_calls" in item for item in event.items):  # type: ignore[operator]
        return event
    return _with_items(event, tool_calls=[]) or event


class RecallsTextAlone(Talker):
    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        return [{"role": "assistant", "content": _object(item)["content"] or "…"} for item in items]


class CutsSealsOfOldAnswers(Talker):
    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        kept = super().recall(items, model=model, running=running, settings=settings)
        if running:
            return kept
        return [{key: one for key, one in _object(item).items() if key != "reasoning_details"} for item in kept]


def _object(item: object) -> dict[str, object]:
    assert isinstance(item, dict)
    return item


class ReadsWithOneReader(Talker):
    def __init__(self) -> None:
        self.last: tuple[StreamReader, bool] | None = None
        self.shared: StreamReader | None = None

    def reader(self, call: ProviderCall) -> StreamReader:
        driver = self

        class Shared(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                driver.shared = driver.shared or self.inner
                told = driver.shared.parse(event)
                if any(isinstance(one, Answer) for one in told):
                    driver.shared = None
                return told

        self.shared = None
        return Shared(super().reader(call))


class TakesHalfForWhole(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Hasty(Reader):
            said = ""

            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                told = super().parse(event)
                self.said += "".join(one.text for one in told if isinstance(one, TextDelta))
                return told

            def end(self) -> Answer | None:
                return Answer(items=({"role": "assistant", "content": self.said},), finish="stop")

        return Hasty(super().reader(call))


class ReadsEventsUnchecked(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Trusting(Reader):
            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                try:
                    return super().parse(event)
                except ProviderFaultError as error:
                    raise KeyError("choices") from error

        return Trusting(super().reader(call))


class KeepsWhatItCannotReadAgain(Talker):
    def reader(self, call: ProviderCall) -> StreamReader:
        class Lax(Reader):
            odd: object = None

            def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
                try:
                    return [self.spoilt(one) for one in super().parse(event)]
                except ProviderFaultError:
                    self.odd = 7
                    return []

            def spoilt(self, event: ProviderEvent) -> ProviderEvent:
                if self.odd is None or not isinstance(event, Answer):
                    return event
                return _with_items(event, reasoning_content=self.odd) or event

        return Lax(super().reader(call))


class KnowsOneShapeOfErrors(Talker):
    def classify(self, status: int, body: Any) -> Fault:
        return Fault(code="PROVIDER_FAILED", upstream_code=body["error"]["code"] if body else "")


class NamesAFaultOfItsOwn(Talker):
    def classify(self, status: int, body: object) -> Fault:
        return Fault(code="PROVIDER_CURSOR_LOST")


class WaitsForever(Talker):
    def classify(self, status: int, body: object) -> Fault:
        return replace(super().classify(status, body), retry_after=float("inf"))


class QuotesTheServer(Talker):
    def classify(self, status: int, body: object) -> Fault:
        return replace(super().classify(status, body), param=body if isinstance(body, str) else "")


class SaysNothingByItself(Talker):
    offline = True

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        return [TextDelta("hello")]


class SaysMoreThanItAnswers(Talker):
    offline = True

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        yield TextDelta("hello there")
        yield Answer(items=({"role": "assistant", "content": "hello"},), finish="stop")
