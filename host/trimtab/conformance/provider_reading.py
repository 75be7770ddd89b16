"""Rules for how a provider reads: recorded streams, whole and cut, garbage, and its own answers sent again."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace

from trimtab.conformance.driver_base import outcome_of, shown
from trimtab.conformance.provider_base import ProviderRules
from trimtab.conformance.provider_inputs import GARBAGE_EVENTS, MODEL, Recording, spoilt_streams
from trimtab.conformance.provider_rules import (
    Reading,
    calls_in,
    event_faults,
    raised_faults,
    read_on,
    reading_faults,
    said_in,
    sealed_in,
    sent_again_faults,
)
from trimtab_sdk.codec import Codec, Encoded
from trimtab_sdk.provider import Answer, Provider, ProviderCall, ServerEvent

_MOST_CUTS = 60


class StreamRules(ProviderRules):
    """What a host relies on when a provider reads an answer."""

    def test_reads_its_streams(self, provider: Provider, recordings: list[Recording]) -> None:
        """Give all text and every call as events, then one Answer as the last event, when the stream says its end.

        `parse` gets one event of the server at a time and returns a list. What is expected of a stream stands
        beside it in `streams`: `text`, `calls` as pairs of name and arguments, and `finish` if you like.
        """
        for recording in recordings:
            reading = self.read(provider, recording.events)
            self.judge(f"{recording.name}: {fault}" for fault in reading_faults(recording, reading))

    def test_an_answer_can_be_sent_again(
        self, provider: Provider, speech: Codec, recordings: list[Recording]
    ) -> None:
        """Make the `items` of an Answer what your codec reads as messages of the assistant and writes as they are.

        They are stored and go into every later request. What the codec has to mend or cannot read spoils the
        conversation for good.
        """
        for name, recording, answer in self.answers(provider, recordings):
            faults = sent_again_faults(speech, answer.items, recording.text, list(recording.calls))
            self.judge(f"{name}: {fault}" for fault in faults)

    def test_recall_keeps_what_was_answered(
        self, provider: Provider, speech: Codec, recordings: list[Recording]
    ) -> None:
        """Return from `recall` the items in their order with ids, texts, calls and seals as they were.

        Only what the server does not want back may leave, as old reasoning that it shows. Recalling twice gives
        the same as recalling once, and the items that were given stay as they are.
        """
        for name, _, answer in self.answers(provider, recordings):
            for running in (True, False):
                faults = _recall_faults(provider, speech, answer.items, running, self)
                self.judge(f"{name}, running is {running}: {fault}" for fault in faults)

    def test_readers_share_nothing(self, provider: Provider, recordings: list[Recording]) -> None:
        """Keep what was read in the reader, never in the driver or its class: many answers are read at once."""
        for recording in recordings:
            one, other = provider.reader(self.call()), provider.reader(self.call())
            alone = self.read(provider, recording.events)
            mixed = [(outcome_of(one.parse, event), outcome_of(other.parse, event)) for event in recording.events]
            told = [
                [event for pair in mixed for event in _listed(pair[side].value) if not isinstance(event, Answer)]
                for side in (0, 1)
            ]
            before = [event for event in alone.events if not isinstance(event, Answer)]
            if told[0] != before or told[1] != before:
                self.judge([f"{recording.name}: two readers in turn do not tell what one alone does"])

    def test_a_cut_stream_is_no_answer(
        self, provider: Provider, speech: Codec, recordings: list[Recording]
    ) -> None:
        """Return None from `end` unless the server has said that the answer is complete.

        Connections break in the middle. Half an answer that passes for a whole one is stored, and half a call
        is carried out.
        """
        for recording in recordings:
            for size in _cuts(recording):
                faults = self.cut_faults(provider, speech, recording, size)
                self.judge(f"{recording.name}, {size} events: {fault}" for fault in faults)

    def test_garbage_is_a_fault(self, provider: Provider, speech: Codec, recordings: list[Recording]) -> None:
        """Check types before you use what an event holds; raise ProviderFaultError for what cannot be read.

        A server may send anything. Any other error ends the turn as a mistake of yours, and an answer that your
        codec cannot read spoils the conversation.
        """
        for event in GARBAGE_EVENTS:
            reading = self.read(provider, [event])
            self.judge(f"the event {event.data!r:.40}: {fault}" for fault in _spoilt_faults(speech, reading))
        self.judge_examples(
            spoilt_streams(recordings), lambda events: _spoilt_faults(speech, self.read(provider, events))
        )

    def call(self) -> ProviderCall:
        """A call as readers are made for."""
        settings, options = dict(self.settings), dict(self.options)
        return ProviderCall(model=MODEL, prompt=Encoded([]), settings=settings, options=options)

    def read(self, provider: Provider, events: Sequence[ServerEvent], *, keep: bool = False) -> Reading:
        """Read a stream with a new reader. `keep` lets the server keep the answer."""
        return read_on(provider.reader(replace(self.call(), keep=keep)), events)

    def answers(self, provider: Provider, recordings: list[Recording]) -> Iterator[tuple[str, Recording, Answer]]:
        """Give the answers of the recorded streams, each with its name."""
        for recording in recordings:
            answer = self.read(provider, recording.events).answer
            if answer is None:
                self.not_judged("a stream gives no answer; mend test_reads_its_streams first")
            yield recording.name, recording, answer

    def cut_faults(self, provider: Provider, speech: Codec, recording: Recording, size: int) -> Iterator[str]:
        """Tell what is wrong with what a stream gives that breaks off after so many events."""
        reading = self.read(provider, recording.events[:size])
        yield from raised_faults(reading.error)
        answer = reading.answer
        if answer is not None:
            faults = sent_again_faults(speech, answer.items, recording.text, list(recording.calls))
            yield from (f"it passes for a whole answer, and {fault}" for fault in faults)


def _cuts(recording: Recording) -> range:
    size = len(recording.events)
    return range(0, size, max(1, size // _MOST_CUTS))


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _spoilt_faults(speech: Codec, reading: Reading) -> Iterator[str]:
    yield from raised_faults(reading.error)
    yield from event_faults(reading.events)
    if reading.answer is not None:
        got = outcome_of(speech.decode, list(reading.answer.items))
        if got.error is not None:
            yield f"the codec cannot read what came of it: {shown(got.error)}"


def _recall_faults(
    provider: Provider, speech: Codec, items: Sequence[object], running: bool, contract: ProviderRules
) -> Iterator[str]:
    before = copy.deepcopy(items)
    settings = contract.settings
    got = outcome_of(lambda: provider.recall(items, model=MODEL, running=running, settings=settings))
    if got.error is not None or not isinstance(got.value, list):
        yield (
            f"recall gave {got.value!r:.60}, not a list"
            if got.error is None
            else f"recall raised {shown(got.error)}"
        )
        return
    recalled = got.value
    if items != before:
        yield "the items were changed"
    if provider.recall(recalled, model=MODEL, running=running, settings=settings) != recalled:
        yield "recalling what was recalled gives something else"
    read = outcome_of(speech.decode, list(recalled))
    if read.error is not None:
        yield f"the codec cannot read what was recalled: {shown(read.error)}"
        return
    old, new = speech.decode(list(before)).messages, speech.decode(recalled).messages
    for what, of in (("texts", said_in), ("calls", calls_in), ("seals", sealed_in)):
        if of(old) != of(new):
            yield f"the {what} are {of(new)!r:.80}, not {of(old)!r:.80}"
