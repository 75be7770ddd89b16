"""From the books of a fit to its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab.fitting.job import Job
from trimtab.fitting.pipeline import Outcome
from trimtab.report import Diagnostic, Entries, Entry, Fit
from trimtab_sdk.codec import Encoded
from trimtab_sdk.counting import Aspect, Cost
from trimtab_sdk.messages import Image, Message, Text, ToolResult


@dataclass(frozen=True, slots=True)
class Whole:
    """The whole conversation a fit speaks of, when the fit itself looked at a part of it.

    `left` is id → reason of what the fits before left out; `total` is what the whole request would cost.
    """

    messages: tuple[Message, ...]
    costs: Mapping[str, Cost]
    places: Mapping[str, int]
    left: Mapping[str, str]
    total: int


def make_fit(
    job: Job,
    outcome: Outcome,
    *,
    whole: Whole | None = None,
    notes: tuple[Diagnostic, ...] = (),
    encoded: Encoded | None = None,
) -> Fit:
    """Put the result together.

    `notes` are remarks on this input, from before the pipeline; `encoded` is what goes out, where somebody wrote
    it already.
    """
    setup, before, after = job.setup, outcome.before, outcome.after
    if whole is None:
        whole = Whole(before.messages, before.costs, before.places, {}, before.total)
    view = _View(whole, outcome)
    if encoded is None:
        encoded = setup.codec.encode(after.messages, job.originals)
    return Fit(
        messages=encoded.messages,
        request=encoded.request,
        model=setup.model,
        strategy=setup.strategy.plugin.origin.plugin,
        format=setup.codec.name,
        tokenizer=setup.counter.info(
            _aspects(after.messages, after.costs, setup.overhead),
            images=any(_has_image(message) for message in after.messages),
        ),
        budget=setup.budget,
        tokens_before=whole.total,
        tokens_after=after.total,
        overhead=after.overhead,
        kept=Entries(view.kept),
        excluded=Entries(view.excluded),
        truncated=Entries(view.truncated),
        inserted=Entries(view.inserted),
        diagnostics=(*setup.notes, *notes, *setup.counter.diagnostics(), *outcome.account.diagnostics),
        calls=tuple(outcome.account.calls),
    )


class _View:
    """The entries of a report: each message of the whole in exactly one of three lists, in order."""

    def __init__(self, whole: Whole, outcome: Outcome) -> None:
        self._whole = whole
        self._after = outcome.after
        self._account = outcome.account
        self._here = outcome.after.ids

    def kept(self) -> list[Entry]:
        protected, relevant = self._after.protected, self._account.relevant
        entries: list[Entry] = []
        for message in self._whole.messages:
            name = message.id
            if name in self._here and name not in self._account.shortened:
                reason = protected.get(name) or ("relevant" if name in relevant else "recent")
                entries.append(self._entry(message, self._after.costs[name], reason))
        return entries

    def excluded(self) -> list[Entry]:
        left = {**self._whole.left, **self._account.left}
        return [
            self._entry(message, self._whole.costs[message.id], left[message.id])
            for message in self._whole.messages
            if message.id not in self._here
        ]

    def truncated(self) -> list[Entry]:
        shortened = self._account.shortened
        return [
            self._entry(
                message,
                self._after.costs[message.id],
                shortened[message.id],
                original=self._whole.costs[message.id].tokens,
            )
            for message in self._whole.messages
            if message.id in shortened and message.id in self._here
        ]

    def inserted(self) -> list[Entry]:
        return [
            Entry(
                id=message.id,
                index=None,
                role=message.role,
                tokens=self._after.costs[message.id].tokens,
                reason="summary" if message.source == "summary" else "plugin",
                plugin=self._account.inserted[message.id].origin.plugin,
            )
            for message in self._after.messages
            if message.id in self._account.inserted
        ]

    def _entry(self, message: Message, cost: Cost, reason: str, *, original: int | None = None) -> Entry:
        place = self._whole.places[message.id]
        return Entry(
            id=message.id,
            index=place if place >= 0 else None,
            role=message.role,
            tokens=cost.tokens,
            reason=reason,
            approximate=bool(cost.approximate),
            original_tokens=original,
        )


def _aspects(messages: Sequence[Message], costs: Mapping[str, Cost], overhead: Cost) -> frozenset[Aspect]:
    aspects = set(overhead.approximate)
    for message in messages:
        approximate = costs[message.id].approximate
        if approximate:
            aspects |= approximate
    return frozenset(aspects)


def _has_image(message: Message) -> bool:
    if len(message.parts) == 1 and type(message.parts[0]) is Text:
        return False
    return any(
        isinstance(part, Image)
        or (
            isinstance(part, ToolResult)
            and not isinstance(part.content, str)
            and any(isinstance(inner, Image) for inner in part.content)
        )
        for part in message.parts
    )
