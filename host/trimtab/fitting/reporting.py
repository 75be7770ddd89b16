"""From the books of a fit to its report."""

from __future__ import annotations

from trimtab.fitting.job import Job
from trimtab.fitting.pipeline import Outcome
from trimtab.report import Diagnostic, Entry, Fit
from trimtab_sdk.counting import Aspect, Cost
from trimtab_sdk.messages import Image, Message, ToolResult


def make_fit(job: Job, outcome: Outcome, *, model: str, notes: tuple[Diagnostic, ...]) -> Fit:
    """Put the result together. `notes` are remarks from before the pipeline."""
    after = outcome.after
    encoded = job.codec.encode(after.messages, job.decoded.originals)
    kept, excluded, truncated = _entries(outcome)
    return Fit(
        messages=encoded.messages,
        request=encoded.request,
        model=model,
        strategy=job.strategy.plugin.origin.plugin,
        format=job.codec.name,
        tokenizer=job.counter.info(
            _aspects(outcome, job.overhead), images=any(_has_image(message) for message in after.messages)
        ),
        budget=job.budget,
        tokens_before=outcome.before.total,
        tokens_after=after.total,
        overhead=after.overhead,
        kept=kept,
        excluded=excluded,
        truncated=truncated,
        inserted=_inserted(outcome),
        diagnostics=(*notes, *job.counter.diagnostics(), *outcome.account.diagnostics),
    )


def _entries(outcome: Outcome) -> tuple[tuple[Entry, ...], tuple[Entry, ...], tuple[Entry, ...]]:
    """Give (kept, excluded, truncated): each message of the input in exactly one, in the order of the input."""
    before, after, account = outcome.before, outcome.after, outcome.account
    here = after.ids
    kept: list[Entry] = []
    excluded: list[Entry] = []
    truncated: list[Entry] = []
    for message in before.messages:
        name = message.id
        index = _index(before.places[name])
        if name not in here:
            excluded.append(_entry(message, index, before.costs[name], account.left[name]))
        elif name in account.shortened:
            original = before.costs[name].tokens
            truncated.append(_entry(message, index, after.costs[name], account.shortened[name], original=original))
        else:
            reason = after.protected.get(name) or ("relevant" if name in account.relevant else "recent")
            kept.append(_entry(message, index, after.costs[name], reason))
    return tuple(kept), tuple(excluded), tuple(truncated)


def _index(place: int) -> int | None:
    return place if place >= 0 else None


def _entry(message: Message, index: int | None, cost: Cost, reason: str, *, original: int | None = None) -> Entry:
    return Entry(
        id=message.id,
        index=index,
        role=message.role,
        tokens=cost.tokens,
        reason=reason,
        approximate=bool(cost.approximate),
        original_tokens=original,
    )


def _inserted(outcome: Outcome) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for message in outcome.after.messages:
        insert = outcome.account.inserted.get(message.id)
        if insert is not None:
            entries.append(
                Entry(
                    id=message.id,
                    index=None,
                    role=message.role,
                    tokens=outcome.after.costs[message.id].tokens,
                    reason="summary" if message.source == "summary" else "plugin",
                    plugin=insert.origin.plugin,
                )
            )
    return tuple(entries)


def _aspects(outcome: Outcome, overhead: Cost) -> frozenset[Aspect]:
    aspects = set(overhead.approximate)
    for message in outcome.after.messages:
        aspects |= outcome.after.costs[message.id].approximate
    return frozenset(aspects)


def _has_image(message: Message) -> bool:
    return any(
        isinstance(part, Image)
        or (
            isinstance(part, ToolResult)
            and not isinstance(part.content, str)
            and any(isinstance(inner, Image) for inner in part.content)
        )
        for part in message.parts
    )
