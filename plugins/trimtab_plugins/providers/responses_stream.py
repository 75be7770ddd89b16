"""Reading of a Responses stream: events until one says how the response ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from trimtab_plugins.providers.responses_faults import fault_of, fault_within
from trimtab_plugins.providers.responses_output import OpenOutput
from trimtab_plugins.providers.responses_usage import usage_of
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    bad_response,
    list_at,
    object_at,
    read_event,
    text_at,
)
from trimtab_sdk import (
    Answer,
    Fault,
    Finish,
    ProviderEvent,
    ProviderFaultError,
    ServerEvent,
    clean_word,
)

_DONE = "[DONE]"
_ERROR = "error"
_READERS: Mapping[str, Callable[[OpenOutput, JsonObject], Iterable[ProviderEvent]]] = {
    "response.output_item.added": OpenOutput.add,
    "response.output_item.done": OpenOutput.finish,
    "response.output_text.delta": OpenOutput.say,
    "response.refusal.delta": OpenOutput.say,
    "response.reasoning_summary_text.delta": OpenOutput.think,
    "response.reasoning_text.delta": OpenOutput.think,
    "response.function_call_arguments.delta": OpenOutput.ask,
    "response.custom_tool_call_input.delta": OpenOutput.ask,
}
_BEGUN = frozenset({"response.created", "response.queued", "response.in_progress"})
_ENDED = frozenset({"response.completed", "response.incomplete"})
_FAILED = frozenset({"response.failed", "response.cancelled"})
_REASONS: Mapping[str, Finish] = {"max_output_tokens": "length", "content_filter": "content-filter"}
_FACTS = {"id": "responseId", "model": "model", "service_tier": "serviceTier", "status": "status"}
_LONGEST_FACT = 200


class ResponsesStreamReader:
    """Reads one answer. `kept` says that the server was allowed to store it, so that its id is a cursor."""

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self._output = OpenOutput()
        self._facts: dict[str, object] = {}
        self._response_id = ""
        self._answered = False

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        """Give what an event means; kinds that are not known here mean nothing.

        Raises ProviderFaultError for an error, for a response that failed, and for what cannot be read.
        """
        data = event.data.strip()
        if self._answered or not data or data == _DONE:
            return []
        told = read_event(data)
        kind = _kind_of(event, told)
        if kind == _ERROR:
            raise ProviderFaultError(_fault_in(told))
        return list(self._read(kind, told))

    def end(self) -> Answer | None:
        """Give None: a response is whole when an event has said so, never before."""
        return None

    def _read(self, kind: str, told: JsonObject) -> Iterator[ProviderEvent]:
        reader = _READERS.get(kind)
        if reader is not None:
            yield from reader(self._output, told)
        elif kind in _BEGUN:
            self._note(object_at(told, "response"))
        elif kind in _FAILED:
            raise ProviderFaultError(fault_within(object_at(told, "response").get("error")))
        elif kind in _ENDED:
            yield from self._finish(kind, object_at(told, "response"))

    def _note(self, response: JsonObject) -> None:
        identity = response.get("id")
        if isinstance(identity, str) and identity and identity == _shown(identity):
            self._response_id = identity
        self._facts |= {name: fact for key, name in _FACTS.items() if (fact := _shown(response.get(key)))}

    def _finish(self, kind: str, response: JsonObject) -> Iterator[ProviderEvent]:
        self._note(response)
        yield from self._output.fill(list_at(response, "output"))
        yield from self._output.close()
        self._answered = True
        usage = usage_of(response.get("usage"))
        if usage is not None:
            yield usage
        reason = text_at(object_at(response, "incomplete_details"), "reason")
        why = {"incompleteReason": _shown(reason)} if reason else {}
        yield Answer(
            items=self._output.items(),
            finish=self._why(reason, complete=kind == "response.completed" and not reason),
            usage=usage,
            cursor=self._cursor(response),
            state={**self._facts, **why},
            remarks=tuple(_remarks(response)),
        )

    def _why(self, reason: str, *, complete: bool) -> Finish:
        if not complete:
            return _REASONS.get(reason, "other")
        if self._output.calls_told:
            return "tool-calls" if self._output.calls_complete else "other"
        return "refusal" if self._output.refused else "stop"

    def _cursor(self, response: JsonObject) -> str | None:
        """Give the id of a stored response; none when the server holds a call that nobody here can answer."""
        stored = self._kept and response.get("store") is not False and self._output.calls_kept
        return self._response_id or None if stored else None


def _kind_of(event: ServerEvent, told: JsonObject) -> str:
    kind = text_at(told, "type")
    if event.event == _ERROR or (not kind and told.get("error") is not None):
        return _ERROR
    if not kind and not event.event:
        raise bad_response()
    return kind or event.event


def _fault_in(told: JsonObject) -> Fault:
    """Give the fault of an event that is an error itself, or holds one, perhaps beside a status."""
    inner = told.get("error")
    error = told if inner is None else inner
    status = told.get("status")
    if type(status) is int and 400 <= status < 600:
        return fault_of(status, {"error": error})
    return fault_within(error)


def _remarks(response: JsonObject) -> Iterator[str]:
    changes = response.get("input_transformations")
    removed = Counter(_reason_of(change) for change in (changes if isinstance(changes, list) else ()))
    if not removed:
        return
    reasons = ", ".join(f"{reason}: {count}" for reason, count in sorted(removed.items()))
    yield f"The provider left out reasoning of earlier answers ({reasons})."


def _reason_of(change: object) -> str:
    return clean_word(change.get("reason") if isinstance(change, dict) else None) or "unknown"


def _shown(value: object) -> str:
    """Give a fact as it may be stored and shown: printable, and not too long."""
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in value[:_LONGEST_FACT] if letter.isprintable())
