"""The smallest driver, and targets and calls for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.config import Endpoint
from trimtab.turns.targets import Target
from trimtab_sdk import (
    Answer,
    ContinuationMode,
    Credential,
    Encoded,
    Fault,
    ProviderCall,
    ProviderEvent,
    ProviderFaultError,
    ProviderRequest,
    ServerEvent,
    StreamReader,
    TextDelta,
    ToolSpec,
)

HELLO = '{"text": "hello"}'
DONE = '{"done": true}'
BUSY = '{"error": "busy"}'


@dataclass
class PocketReader:
    """Reads `{"text": …}`, `{"done": true}` and `{"error": …}`; an answer that has text is complete at its end."""

    texts: list[str] = field(default_factory=list)

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        said = json.loads(event.data)
        if "error" in said:
            raise ProviderFaultError(
                Fault(code="PROVIDER_OVERLOADED", retryable=True, upstream_code=said["error"])
            )
        if "done" in said:
            return [self.answer()]
        self.texts.append(said["text"])
        return [TextDelta(said["text"])]

    def end(self) -> Answer | None:
        return self.answer() if "complete" in self.texts else None

    def answer(self) -> Answer:
        return Answer(items=({"text": "".join(self.texts)},), finish="stop")


class PocketDriver:
    """Speaks to nobody but the tests; every part of it can be replaced in a subclass."""

    name = "pocket"
    codec = "chat-completions"
    mode: ContinuationMode = "stateless-loop"
    base_url = ""
    key_variable = ""
    credential = Credential()
    retention = None
    offline = False
    settings_schema: Mapping[str, object] | None = None
    options_schema: Mapping[str, object] | None = None

    def write_tools(self, tools: Sequence[ToolSpec], settings: Mapping[str, object]) -> list[object]:
        return [{"name": tool.name} for tool in tools]

    def recall(
        self, items: Sequence[object], *, model: str, running: bool, settings: Mapping[str, object]
    ) -> list[object]:
        return list(items)

    def request(self, call: ProviderCall) -> ProviderRequest:
        return ProviderRequest("/chat", {"model": call.model, "stream": True})

    def reader(self, call: ProviderCall) -> StreamReader:
        return PocketReader()

    def classify(self, status: int, body: object) -> Fault:
        code = body["error"]["code"] if isinstance(body, dict) and "error" in body else ""
        passing = status in (429, 500, 502, 503)
        return Fault(code="PROVIDER_FAILED", retryable=passing, upstream_code=code)

    def respond(self, call: ProviderCall) -> Iterable[ProviderEvent]:
        yield TextDelta("by myself")
        yield Answer(items=(), finish="stop")


def call() -> ProviderCall:
    """Give a call with nothing in it."""
    return ProviderCall(model="m-1", prompt=Encoded(messages=[]))


def target(
    url: str,
    *,
    driver: PocketDriver | None = None,
    key: str = "",
    limits: Mapping[str, object] | None = None,
) -> Target:
    """Give a target at this address. `limits` are fields of its endpoint, by default without retries."""
    endpoint = Endpoint.model_validate({"base_url": url, "retries": 0} | dict(limits or {}))
    return Target("here", driver or PocketDriver(), endpoint, url, "POCKET_KEY" if key else "", key)
