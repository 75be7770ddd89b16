"""Reasoning that a wire binds to everything before it leaves when something before it has changed."""

from __future__ import annotations

from dataclasses import replace

from trimtab.fitting.account import Account
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab_sdk.messages import Message, Reasoning

NOTE = "reasoning left out: the wire binds it to what stood before it, and that has changed"


def strip_bound_reasoning(context: Context, account: Account, counter: Counter) -> Context:
    """Take the reasoning out of every message behind the first change, and name those messages.

    A message that held nothing else leaves, alone of its group, with the reason `wire-rule`.
    """
    changed = _first_change(context, account)
    if changed is None:
        return context
    messages: list[Message] = []
    costs = dict(context.costs)
    stripped: list[str] = []
    for position, message in enumerate(context.messages):
        if position < changed or not _has_reasoning(message):
            messages.append(message)
            continue
        stripped.append(message.id)
        rest = tuple(part for part in message.parts if not isinstance(part, Reasoning))
        if rest:
            messages.append(replace(message, parts=rest))
            costs[message.id] = counter.message(messages[-1])
        else:
            account.leave((message.id,), "wire-rule")
    if not stripped:
        return context
    account.note("wire-rule", NOTE, ids=stripped)
    return context.with_messages(messages, costs)


def _first_change(context: Context, account: Account) -> int | None:
    """The position behind which the prefix is not what it was: something left, was shortened or was inserted."""
    gone = min((context.places[name] for name in account.left), default=None)
    for position, message in enumerate(context.messages):
        place = context.places.get(message.id)
        if place is None or message.id in account.shortened:
            return position
        if gone is not None and place > gone:
            return position
    return None


def _has_reasoning(message: Message) -> bool:
    return any(isinstance(part, Reasoning) for part in message.parts)
