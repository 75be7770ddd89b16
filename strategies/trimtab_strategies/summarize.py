"""`summarize`: what leaves is told in short at the gap, in sentences of its own.

The summary is made here, without a model: it quotes who said what. It may cost 12 % of the budget, but 128 tokens
in a small and 4,096 in a large one, at most half of the room beside what must stay, and always less than what it
stands for; where that cannot be, messages leave as with `truncate`. An earlier summary goes into the new one, so a
request never holds two, unless one is pinned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trimtab_sdk import (
    AT_GAP,
    Departure,
    Edit,
    Group,
    Insert,
    Request,
    Services,
    Traits,
    choose_departures,
    hookimpl,
)
from trimtab_strategies import shortening, truncate
from trimtab_strategies.shortening import Cuts
from trimtab_strategies.summary import Means, Summary, summarize

SHARE = 0.12
LEAST = 128
MOST = 4096
SCHEMA = {
    "type": "object",
    "properties": {**shortening.SETTINGS, "share": {"type": "number", "minimum": 0.01, "maximum": SHARE}},
    "additionalProperties": False,
}
_SMALLEST = 24
_WELL_USED = 0.75
_TIME_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class _Plan:
    """What leaves beside a summary of some length: groups by age and earlier summaries; and what is shortened."""

    departures: Sequence[Departure]
    earlier: Sequence[Group]
    shorten: Cuts

    @property
    def groups(self) -> tuple[Group, ...]:
        return (*self.earlier, *(departure.group for departure in self.departures))

    @property
    def reasons(self) -> dict[str, str]:
        """Id → the reason of a message that no summary covers."""
        reasons: dict[str, str] = {name: "context-shift" for group in self.earlier for name in group.ids}
        for departure in self.departures:
            reasons.update(dict.fromkeys(departure.group.ids, departure.reason))
        return reasons

    def edit(self, summary: Summary) -> Edit:
        drop = self.reasons | dict.fromkeys(summary.covers, "summarized")
        return Edit(
            drop=drop,
            shorten={key: spans for key, spans in self.shorten.items() if key[0] not in drop},
            insert=[Insert(summary.text, AT_GAP, covers=summary.covers)],
        )


class _LateError(Exception):
    """The time for a summary is up."""


@hookimpl
def trimtab_traits() -> Traits:
    """Say which settings there are."""
    return Traits(settings_schema=SCHEMA)


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Drop by age down to the target, a summary included; without one as truncate does."""
    if request.total <= request.budget:
        return Edit()
    eased, cuts = shortening.shorten_results(request, services)
    eased = replace(eased, target=min(eased.target, eased.budget))
    if eased.total <= eased.target:
        return Edit(shorten=cuts)
    try:
        return _summarized(eased, services, cuts) or _plain(request, services)
    except _LateError:
        return replace(_plain(request, services), notes=["the time was too short for a summary"])


def _plain(request: Request, services: Services) -> Edit:
    """Answer as truncate does, but leave an earlier summary where it is unless it must leave too."""
    earlier = {name for group in _earlier_summaries(request) for name in group.ids}
    if earlier:
        edit = truncate.trimtab_shift(replace(request, protected=request.protected | earlier), services)
        dropped = sum(request.tokens[name] for name in edit.drop)
        if edit.shorten or request.total - dropped <= request.target:
            return edit
    return truncate.trimtab_shift(request, services)


def _summarized(request: Request, services: Services, cuts: Cuts) -> Edit | None:
    """Give the edit with a summary; None where there is no room for one or nothing to say."""
    most = _most_tokens(request)
    if most - request.cost_of_insert("") < _SMALLEST:
        return None
    means = Means(services.count, request.cost_of_insert, _stopwatch(services.deadline))
    plan = _plan(request, services, cuts, summary=most)
    summary = _summarize(request, plan, means, most=most)
    if summary is None:
        return None
    if summary.tokens < most * _WELL_USED:
        enough = summary.tokens + _SMALLEST
        shorter = _plan(request, services, cuts, summary=enough)
        if len(shorter.departures) < len(plan.departures):
            again = _summarize(request, shorter, means, most=enough)
            plan, summary = (shorter, again) if again else (plan, summary)
    return plan.edit(summary)


def _most_tokens(request: Request) -> int:
    """Give what the summary may cost: its share, but no more than half of the room beside what must stay."""
    share = request.settings.get("share", SHARE)
    most = int(request.budget * share) if isinstance(share, int | float) else 0
    must_stay = request.overhead + sum(request.tokens[name] for name in request.protected)
    return min(max(most, LEAST), MOST, (request.target - must_stay) // 2)


def _plan(request: Request, services: Services, cuts: Cuts, *, summary: int) -> _Plan:
    earlier = _earlier_summaries(request)
    merged = {name for group in earlier for name in group.ids}
    total = request.total + summary - sum(group.tokens for group in earlier)
    departures = choose_departures(
        request.messages,
        request.groups,
        total=total,
        budget=request.target,
        protected=request.protected | merged,
    )
    if not departures or request.settings.get("shorten_messages") is not True:
        return _Plan(departures, earlier, cuts)
    left = total - sum(departure.group.tokens for departure in departures)
    last = departures[-1].group
    spared = shortening.shorten_group(request, services, last, room=request.target - left, cuts=cuts)
    return _Plan(departures[:-1] if spared else departures, earlier, cuts | spared)


def _earlier_summaries(request: Request) -> tuple[Group, ...]:
    summaries = {message.id for message in request.messages if message.source == "summary"}
    return tuple(
        group
        for group in request.groups
        if summaries.issuperset(group.ids) and request.protected.isdisjoint(group.ids)
    )


def _summarize(request: Request, plan: _Plan, means: Means, *, most: int) -> Summary | None:
    """Give the summary of what leaves, when it costs less than the messages it covers."""
    leaving = set(plan.reasons)
    messages = [message for message in request.messages if message.id in leaving]
    most = min(most, sum(request.tokens[message.id] for message in messages) - 1)
    summary = summarize(messages, plan.groups, means, most=most)
    if summary is None or summary.tokens >= sum(request.tokens[name] for name in summary.covers):
        return None
    return summary


def _stopwatch(deadline: float) -> Callable[[], None]:
    """Give a function that raises when four fifths of the time are over."""
    start = time.monotonic()
    end = start + _TIME_SHARE * (deadline - start)

    def check() -> None:
        if time.monotonic() > end:
            raise _LateError

    return check
