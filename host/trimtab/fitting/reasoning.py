"""Reasoning that a wire binds to everything before it leaves when something before it has changed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from trimtab.fitting.account import Account
from trimtab.fitting.carrying import Carried
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab_sdk.messages import Message, Reasoning

_NEVER: Mapping[str, int] = {}
NOTE = "reasoning left out: the wire binds it to what stood before it, and that has changed"


def strip_bound_reasoning(
    context: Context,
    account: Account,
    counter: Counter,
    *,
    carried: Carried | None = None,
    since: Mapping[str, int] = _NEVER,
) -> Context:
    """Take the reasoning out of every message behind the first change, and name those messages.

    A message that held nothing else leaves, alone of its group, with the reason `wire-rule`. Behind a change
    that is carried from the fits before, reasoning that came later stays: it was made on the changed prefix. So
    does reasoning at or behind the place `since` gives for a message that left: it was made without that one.
    """
    changed = _first_change(context, account, carried, since)
    old = _first_carried(context, carried)
    reach = _reach_of_gone(context, account, carried, since)
    messages: list[Message] = []
    costs = dict(context.costs)
    stripped: list[str] = []
    for position, message in enumerate(context.messages):
        if not _has_reasoning(message) or not (
            (changed is not None and position >= changed)
            or _is_behind(context, message, carried, old)
            or _is_reached(context.places.get(message.id), reach)
        ):
            messages.append(message)
            continue
        stripped.append(message.id)
        rest = tuple(part for part in message.parts if not isinstance(part, Reasoning))
        if rest:
            messages.append(replace(message, parts=rest))
            costs[message.id] = counter.message(messages[-1])
        else:
            account.leave((message.id,), "wire-rule")
            account.stripped.add(message.id)
    if not stripped:
        return context
    account.note("wire-rule", NOTE, ids=stripped)
    return context.with_messages(messages, costs)


def _reach_of_gone(
    context: Context, account: Account, carried: Carried | None, since: Mapping[str, int]
) -> list[tuple[int, int]]:
    """Give, for messages that left long ago, their places and the places their leaving reaches to, in order.

    Each reach is the furthest so far, so that the last one in front of a place tells whether it is reached.
    """
    known = carried.known if carried is not None else frozenset()
    gone = sorted((context.places[name], since[name]) for name in account.left.keys() & since.keys() - known)
    furthest = accumulate((reach for _, reach in gone), max)
    return [(place, reach) for (place, _), reach in zip(gone, furthest, strict=True)]


def _is_reached(place: int | None, reach: Sequence[tuple[int, int]]) -> bool:
    if place is None or not reach:
        return False
    at = bisect_left(reach, (place, -1))
    return at > 0 and place < reach[at - 1][1]


def _first_change(
    context: Context, account: Account, carried: Carried | None, since: Mapping[str, int]
) -> int | None:
    """The position behind which this fit changed the prefix: something left, was shortened or was inserted.

    What says nothing on this wire, as reasoning that led to no answer, was never sent on it: it leaves without
    a change.
    """
    made = carried.made if carried is not None else frozenset()
    known = carried.known if carried is not None else frozenset()
    left = account.left.keys() - known - account.silent - since.keys()
    gone = min((context.places[name] for name in left), default=None)
    for position, message in enumerate(context.messages):
        place = context.places.get(message.id)
        if (place is None or message.id in account.shortened) and message.id not in made:
            return position
        if gone is not None and place is not None and place > gone:
            return position
    return None


def _first_carried(context: Context, carried: Carried | None) -> int | None:
    """The place of the first message that was left out or cut before."""
    if carried is None:
        return None
    names = (*carried.known, *carried.shorten)
    return min((context.places[name] for name in names if name in context.places), default=None)


def _is_behind(context: Context, message: Message, carried: Carried | None, old: int | None) -> bool:
    place = context.places.get(message.id)
    if carried is None or old is None or place is None:
        return False
    return old <= place < carried.until


def _has_reasoning(message: Message) -> bool:
    return any(isinstance(part, Reasoning) for part in message.parts)
