"""Rules for the faults a provider names, and for one that answers by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import strategies as st

from trimtab.conformance.base import NOT_CLAIMED
from trimtab.conformance.driver_base import outcome_of, shown
from trimtab.conformance.provider_base import ProviderRules
from trimtab.conformance.provider_inputs import ERROR_BODIES, SECRET, SECRET_BODIES
from trimtab.conformance.provider_rules import Reading, event_faults, fault_faults, sent_again_faults
from trimtab_sdk.codec import Codec
from trimtab_sdk.provider import Provider, ProviderCall

_STATUSES = range(400, 600)


class AnsweringRules(ProviderRules):
    """What a host relies on when a server refuses, and when there is none."""

    def test_any_error_has_a_fault(self, provider: Provider) -> None:
        """Return a Fault from `classify` for every status from 400 on and every body, whatever its shape.

        A proxy in between sends pages, texts and lists. Where nothing is known of a body, go by the status. Words
        of the server go through `trimtab_sdk.clean_word`.
        """
        for status in _STATUSES:
            self.judge(_classified_faults(provider, status, None))
        errors = st.tuples(st.sampled_from([*_STATUSES]), ERROR_BODIES)
        self.judge_examples(errors, lambda error: _classified_faults(provider, *error))

    def test_a_fault_holds_no_sentence(self, provider: Provider) -> None:
        """Take codes and names of fields into a Fault, never the message: servers repeat keys and texts in it.

        Faults are logged and shown. The host has a sentence of its own for each code.
        """
        for body in SECRET_BODIES:
            for status in (400, 401, 404, 429, 500):
                got = outcome_of(provider.classify, status, body)
                if SECRET in repr(got.value):
                    self.judge([f"the message of {body!r} is in {got.value!r:.160}"])

    def test_answers_by_itself(
        self, provider: Provider, speech: Codec, calls: list[tuple[str, ProviderCall]]
    ) -> None:
        """Give events from `respond` that end in one Answer, and the same ones for the same call.

        That is for a provider whose `offline` is True; it is asked nothing else.
        """
        if not provider.offline:
            pytest.skip(f"{NOT_CLAIMED}: answering by itself (offline)")
        for name, call in calls:
            self.judge(f"{name}: {fault}" for fault in _response_faults(provider, speech, call))


def _classified_faults(provider: Provider, status: int, body: object) -> Iterator[str]:
    got = outcome_of(provider.classify, status, body)
    faults = [f"it raised {shown(got.error)}"] if got.error is not None else fault_faults(got.value)
    return (f"status {status} with {body!r:.60}: {fault}" for fault in faults)


def _response_faults(provider: Provider, speech: Codec, call: ProviderCall) -> Iterator[str]:
    got = outcome_of(lambda: list(provider.respond(call)))
    if got.error is not None or not isinstance(got.value, list):
        yield f"respond raised {shown(got.error)}" if got.error is not None else "respond gave no events"
        return
    reading = Reading(got.value)
    yield from event_faults(reading.events)
    if reading.answer is None:
        yield "its last event is no Answer"
        return
    yield from sent_again_faults(speech, reading.answer.items, reading.text, reading.calls)
    if list(provider.respond(call)) != reading.events:
        yield "a second answer to the same call is another"
