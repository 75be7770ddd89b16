"""Reasoning that a wire binds to everything before it leaves when something before it has changed."""

from __future__ import annotations

from dataclasses import replace

from trimtab.fitting.account import Account
from trimtab.fitting.carrying import Carried
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab_sdk.messages import Message, Reasoning

NOTE = "reasoning left out: the wire binds it to what stood before it, and that has changed"


def strip_bound_reasoning(
    context: Context, account: Account, counter: Counter, *, carried: Carried | None = None
) -> Context:
    """Take the reasoning out of every message behind the first change, and name those messages.

    A message that held nothing else leaves, alone of its group, with the reason `wire-rule`. Behind a change
    that is carried from the fits before, reasoning that came later stays: it was made on the changed prefix.
    """
    changed = _first_change(context, account, carried)
    old = _first_carried(context, carried)
    messages: list[Message] = []
    costs = dict(context.costs)
    stripped: list[str] = []
    for position, message in enumerate(context.messages):
        if not _has_reasoning(message) or not (
            (changed is not None and position >= changed) or _is_behind(context, message, carried, old)
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


def _first_change(context: Context, account: Account, carried: Carried | None) -> int | None:
    """The position behind which this fit changed the prefix: something left, was shortened or was inserted."""
    made = carried.made if carried is not None else frozenset()
    known = carried.known if carried is not None else frozenset()
    gone = min((context.places[name] for name in account.left if name not in known), default=None)
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
