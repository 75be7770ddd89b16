"""Reading of a stream of Google's Interactions API: steps until the interaction is completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trimtab_plugins.providers.interactions_faults import fault_within
from trimtab_plugins.providers.interactions_resuming import Resumption, write_resume
from trimtab_plugins.providers.interactions_steps import OpenSteps
from trimtab_plugins.providers.interactions_usage import usage_of
from trimtab_plugins.providers.stream_json import (
    JsonObject,
    bad_response,
    list_at,
    object_at,
    read_event,
    text_at,
    without_surrogates,
)
from trimtab_sdk import Answer, Fault, Finish, ProviderEvent, ProviderFaultError, ServerEvent, Usage, clean_word

_DONE = "[DONE]"
_PAUSED = "requires_continuation"
_CUT = frozenset({"incomplete", "budget_exceeded", _PAUSED})
_FAILED = frozenset({"failed", "cancelled"})
_WHOLE = frozenset({"completed", "requires_action"})
_FACTS = {"id": "responseId", "model": "model", "service_tier": "serviceTier"}
_LONGEST_FACT = 200


class InteractionsStreamReader:
    """Reads one answer. `kept` tells whether Google was asked to keep it, so that its id is a cursor."""

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self._steps = OpenSteps()
        self._id = self._status = self._token = ""
        self._usage: Usage | None = None
        self._facts: dict[str, object] = {}
        self._answered = False

    def parse(self, event: ServerEvent) -> Sequence[ProviderEvent]:
        """Give what an event means. Raises ProviderFaultError for an error, and for what cannot be read."""
        data = event.data.strip()
        if self._answered or not data:
            return []
        if data == _DONE:
            return list(self._finish()) if self._status in _WHOLE | _CUT | _FAILED else []
        told = read_event(data)
        kind = text_at(told, "event_type") or event.event
        if kind == "error" or (not kind and told.get("error") is not None):
            raise ProviderFaultError(fault_within(told.get("error")))
        if not kind:
            raise bad_response()
        return list(self._read(kind, told))

    def end(self) -> Answer | None:
        """Give None: only the server's own word makes an answer whole."""
        return None

    def _read(self, kind: str, told: JsonObject) -> Iterator[ProviderEvent]:
        if kind == "step.start":
            yield from self._steps.start(_index(told), object_at(told, "step"))
        elif kind == "step.delta":
            yield from self._steps.take(_index(told), object_at(told, "delta"))
        elif kind == "step.stop":
            yield from self._steps.stop(_index(told))
        elif kind == "interaction.created":
            self._note(object_at(told, "interaction"))
        elif kind == "interaction.status_update":
            self._note({**told, "id": told.get("interaction_id")})
        elif kind == "interaction.completed":
            yield from self._complete(object_at(told, "interaction"))

    def _complete(self, interaction: JsonObject) -> Iterator[ProviderEvent]:
        # What the last event says stands alone: without a token there is nothing to go on with.
        self._status = self._token = ""
        self._note(interaction)
        if not self._status:
            raise bad_response()
        if not self._steps:
            yield from self._steps.take_whole(list_at(interaction, "steps"))
        if self._status in _FAILED and interaction.get("error") is not None:
            raise ProviderFaultError(fault_within(interaction["error"]))
        yield from self._finish()

    def _note(self, told: JsonObject) -> None:
        self._id = without_surrogates(text_at(told, "id")) or self._id
        self._status = text_at(told, "status") or self._status
        self._token = text_at(told, "continuation_token") or self._token
        self._usage = usage_of(told.get("usage")) or self._usage
        for key, name in _FACTS.items():
            if fact := _shown(told.get(key)):
                self._facts[name] = fact

    def _finish(self) -> Iterator[ProviderEvent]:
        if self._status in _FAILED:
            raise ProviderFaultError(self._failure())
        yield from self._steps.finish(cut=self._status in _CUT)
        self._answered = True
        if self._usage is not None:
            yield self._usage
        yield self._answer()

    def _failure(self) -> Fault:
        error = self._steps.error
        return Fault(code="PROVIDER_FAILED", upstream_code=self._status) if error is None else fault_within(error)

    def _answer(self) -> Answer:
        finish = self._why()
        lasting = self._kept and (self._status in _WHOLE or finish == "pause")
        cursor = self._id if lasting else ""
        return Answer(
            items=self._steps.items(),
            finish=finish,
            usage=self._usage,
            cursor=cursor or None,
            state={**self._facts, "finishReason": clean_word(self._status)},
            resume=write_resume(Resumption(cursor, self._token)) if finish == "pause" else None,
            remarks=self._steps.remarks(),
        )

    def _why(self) -> Finish:
        if self._status in _CUT:
            return "pause" if self._status == _PAUSED and self._token else "length"
        if self._steps.calls:
            return "tool-calls"
        return "stop" if self._status == "completed" else "other"


def _index(told: Mapping[str, object]) -> int:
    index = told.get("index")
    if type(index) is not int:
        raise bad_response()
    return index


def _shown(value: object) -> str:
    """Give a fact as it may be stored and shown: printable, and not too long."""
    if not isinstance(value, str):
        return ""
    return "".join(letter for letter in value[:_LONGEST_FACT] if letter.isprintable())
