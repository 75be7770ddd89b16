"""Reasoning that a wire binds to everything before it leaves when something before it has changed.

Where it is known on which prefix reasoning was made, that decides; else what the fits did to the conversation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from trimtab.fitting.account import Account
from trimtab.fitting.binding import Binding
from trimtab.fitting.carrying import Carried
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab_sdk.codec import Encoded
from trimtab_sdk.groups import with_tokens
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
    binding: Binding | None = None,
) -> Context:
    """Take the reasoning out of every message behind the first change, and name those messages.

    A message that held nothing else leaves, alone of its group, with the reason `wire-rule`. Behind a change
    that is carried from the fits before, reasoning that came later stays: it was made on the changed prefix. So
    does reasoning at or behind the place `since` gives for a message that left: it was made without that one.
    Reasoning whose prefix `binding` knows is for `strip_stale_reasoning` to judge.
    """
    changed = _first_change(context, account, carried, since)
    old = _first_carried(context, carried)
    reach = _reach_of_gone(context, account, carried, since)
    if changed is None and old is None and not reach:
        return context
    taken: dict[str, frozenset[int]] = {}
    for position, message in enumerate(context.messages):
        if (
            (changed is not None and position >= changed)
            or _is_behind(context, message, carried, old)
            or _is_reached(context.places.get(message.id), reach)
        ) and (places := _unjudged(message, binding)):
            taken[message.id] = places
    return _without(context, taken, account, counter)


def strip_stale_reasoning(
    context: Context,
    account: Account,
    counter: Counter,
    *,
    binding: Binding,
    encode: Callable[[Sequence[Message]], Encoded],
) -> tuple[Context, Encoded]:
    """Take out, and name, reasoning that stands behind another prefix than it was made on.

    Also gives the prompt as it is written then.
    """
    while True:
        encoded = encode(context.messages)
        taken = _places_of(binding.stale(encoded), context.messages)
        if not taken:
            return context, encoded
        context = _without(context, taken, account, counter)


def _places_of(stale: Mapping[str, frozenset[int]], messages: Sequence[Message]) -> dict[str, frozenset[int]]:
    """Give id → the indexes of the parts that are stale."""
    if not stale:
        return {}
    seen: Tally[str] = Tally()
    taken: dict[str, set[int]] = {}
    for message in messages:
        if message.role != "assistant":
            continue
        for at, part in enumerate(message.parts):
            if not isinstance(part, Reasoning) or part.opaque not in stale:
                continue
            if seen[part.opaque] in stale[part.opaque]:
                taken.setdefault(message.id, set()).add(at)
            seen[part.opaque] += 1
    return {name: frozenset(places) for name, places in taken.items()}


def _without(context: Context, taken: Mapping[str, frozenset[int]], account: Account, counter: Counter) -> Context:
    """Take parts out of messages, book it, and count the messages anew."""
    if not taken:
        return context
    messages: list[Message] = []
    costs = dict(context.costs)
    for message in context.messages:
        places = taken.get(message.id)
        if places is None:
            messages.append(message)
            continue
        rest = tuple(part for at, part in enumerate(message.parts) if at not in places)
        if rest:
            messages.append(replace(message, parts=rest))
            costs[message.id] = counter.message(messages[-1])
        else:
            account.leave((message.id,), "wire-rule")
            account.stripped.add(message.id)
    account.note("wire-rule", NOTE, ids=taken)
    if len(messages) < len(context.messages):
        return context.with_messages(messages, costs)
    tokens = [costs[message.id].tokens for message in messages]
    return context.with_messages(messages, costs, groups=with_tokens(context.groups, tokens))


def _unjudged(message: Message, binding: Binding | None) -> frozenset[int]:
    """Give the indexes of the reasoning whose prefix nobody knows."""
    return frozenset(
        at
        for at, part in enumerate(message.parts)
        if isinstance(part, Reasoning) and not (binding is not None and binding.knows(part))
    )


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
