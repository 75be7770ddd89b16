"""Reading of a Chat Completions stream: chunks until `[DONE]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab_plugins.providers.chat_calls import OpenCalls, seed_of
from trimtab_plugins.providers.chat_faults import fault_within
from trimtab_plugins.providers.chat_message import OpenMessage
from trimtab_plugins.providers.chat_usage import usage_with
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    bad_response,
    list_at,
    object_at,
    read_event,
    text_at,
)
from trimtab_sdk import Answer, Fault, Finish, ProviderEvent, ProviderFaultError, ServerEvent, Usage

_DONE = "[DONE]"
_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": "content-filter",
}
_FAILURES: Mapping[str, Fault] = {
    "error": Fault(code="PROVIDER_FAILED", upstream_code="error"),
    "insufficient_system_resource": Fault(
        code="PROVIDER_OVERLOADED", retryable=True, upstream_code="insufficient_system_resource"
    ),
}
_CUT: frozenset[Finish] = frozenset({"length", "content-filter"})
_FACTS = {
    "id": "responseId",
    "model": "model",
    "system_fingerprint": "systemFingerprint",
    "service_tier": "serviceTier",
}
_LONGEST_FACT = 200
_OF_A_CHUNK = frozenset({"choices", "usage", "object", "id"})


class ChatStreamReader:
    """Reads one answer. Of several choices it reads the first, as only one is ever asked for."""

    def __init__(self) -> None:
        self._message = OpenMessage()
        self._calls = OpenCalls()
        self._usage: Usage | None = None
        self._facts: dict[str, object] = {}
        self._reason = ""
        self._answered = False

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        """Give what an event means. Raises ProviderFaultError for an error, and for what is no chunk."""
        data = event.data.strip()
        if self._answered or not data:
            return []
        if data == _DONE:
            return list(self._finish())
        chunk = read_event(data)
        _refuse_errors(event, chunk)
        return list(self._read(chunk))

    def end(self) -> Answer | None:
        """Give the answer if the server said why it ended, though the last line of the stream is missing."""
        if self._answered or not self._reason:
            return None
        *_, answer = self._finish()
        return answer if isinstance(answer, Answer) else None

    def _read(self, chunk: JsonObject) -> Iterator[ProviderEvent]:
        self._note(chunk)
        for choice in list_at(chunk, "choices"):
            if not isinstance(choice, dict):
                raise bad_response()
            if choice.get("index") in (None, 0):
                yield from self._read_choice(choice)

    def _read_choice(self, choice: JsonObject) -> Iterator[ProviderEvent]:
        if choice.get("error") is not None:
            raise ProviderFaultError(fault_within(choice["error"]))
        self._usage = usage_with(self._usage, choice.get("usage"))
        delta = object_at(choice, "delta")
        yield from self._message.take(delta)
        yield from self._calls.take(delta)
        reason = text_at(choice, "finish_reason")
        if reason in _FAILURES:
            raise ProviderFaultError(_FAILURES[reason])
        if reason:
            self._reason = reason
            yield from self._complete()

    def _note(self, chunk: JsonObject) -> None:
        self._usage = usage_with(self._usage, chunk.get("usage"))
        for key, name in _FACTS.items():
            told = chunk.get(key)
            # Every chunk says the same.
            if told is not None and told != self._facts.get(name) and (fact := _shown(told)):
                self._facts[name] = fact

    def _complete(self) -> Iterator[ProviderEvent]:
        cut = not self._reason or _FINISHES.get(self._reason) in _CUT
        return self._calls.complete(seed_of(str(self._facts.get("responseId", ""))), cut=cut)

    def _finish(self) -> Iterator[ProviderEvent]:
        if not self._reason and not self._calls and not self._message.begun:
            raise ProviderFaultError(Fault(code="PROVIDER_STREAM_BROKEN", retryable=True))
        yield from self._message.close()
        yield from self._complete()
        self._answered = True
        if self._usage is not None:
            yield self._usage
        yield self._answer()

    def _answer(self) -> Answer:
        reason = {"finishReason": _shown(self._reason)} if self._reason else {}
        item = self._message.item(self._calls.items())
        return Answer(items=(item,), finish=self._why(), usage=self._usage, state={**self._facts, **reason})

    def _why(self) -> Finish:
        """Give why the answer ended; servers say `stop` beside calls too."""
        told: Finish = _FINISHES.get(self._reason, "other")
        if told in _CUT:
            return told
        if self._calls:
            return "tool-calls" if self._calls.all_complete else "other"
        if told == "stop" and self._message.refused:
            return "refusal"
        return "other" if told == "tool-calls" else told


def _refuse_errors(event: ServerEvent, chunk: JsonObject) -> None:
    if chunk.get("error") is not None:
        raise ProviderFaultError(fault_within(chunk["error"]))
    if event.event == "error" or chunk.get("object") == "error":
        raise ProviderFaultError(fault_within(chunk))
    if not chunk.keys() & _OF_A_CHUNK:
        raise bad_response()


def _shown(value: object) -> str:
    """Give a fact as it may be stored and shown: printable, and not too long."""
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in value[:_LONGEST_FACT] if letter.isprintable())
