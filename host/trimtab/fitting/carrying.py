"""The accepted edit of a conversation, carried from one fit to the next so that the prefix stays the same."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from trimtab.fitting.account import Account, Cuts, Inserted
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab.fitting.cutting import cut_message
from trimtab.fitting.placing import find_edge
from trimtab_sdk.groups import Group, with_tokens
from trimtab_sdk.messages import Message, ToolCall, ToolResult, texts_of

CARRIED_REASONS = frozenset(
    {"context-shift", "running-turn", "low-relevance", "summarized", "final-budget", "wire-rule"}
)


@dataclass(frozen=True, slots=True)
class Carried:
    """What left, was cut and was inserted by the strategy in the fits before.

    - `drop`: id → reason.
    - `shorten`: id → path → spans to keep.
    - `inserts`: the strategy's texts, each with the id of the message it stood in front of (empty: at the end).
    - `until`: the number of messages there were when the edit last changed; what came later was said in answer
      to the edited conversation.
    - `known`: the ids that were not sent the last time, for whatever reason.
    """

    drop: Mapping[str, str] = field(default_factory=dict)
    shorten: Mapping[str, Cuts] = field(default_factory=dict)
    inserts: tuple[tuple[Inserted, str], ...] = ()
    until: int = 0
    known: frozenset[str] = frozenset()

    @property
    def made(self) -> frozenset[str]:
        """The ids of what is cut or inserted again at every fit."""
        return frozenset(self.shorten) | {insert.message.id for insert, _ in self.inserts}

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be done again."""
        return not (self.drop or self.shorten or self.inserts)

    def touches(self, name: str) -> bool:
        """Tell whether a message left, was cut, or stands in the summary."""
        return name in self.drop or name in self.shorten


NOTHING = Carried()


def stands_on(carried: Carried, messages: Sequence[Message], groups: Sequence[Group]) -> bool:
    """Tell whether an edit that comes from outside can be made on these messages, which `groups` link.

    It cannot when it speaks of a message or a part of one that is not there, and when a call leaves while its
    result stays.
    """
    known = {message.id: message for message in messages}
    if not known.keys() >= carried.drop.keys() or not known.keys() >= carried.shorten.keys():
        return False
    if not all(_has_spans(known[name], cuts) for name, cuts in carried.shorten.items()):
        return False
    return not any(_loses_call(group, known, carried.drop) for group in groups)


def _has_spans(message: Message, cuts: Cuts) -> bool:
    texts = dict(texts_of(message))
    return all(
        path in texts and all(0 <= start < stop <= len(texts[path]) for start, stop in spans)
        for path, spans in cuts.items()
    )


def _loses_call(group: Group, messages: Mapping[str, Message], gone: Container[str]) -> bool:
    if len(group.ids) == 1:
        return False
    held = [messages[name] for name in group.ids if name not in gone]
    if not held or len(held) == len(group.ids):
        return False
    lost = [messages[name] for name in group.ids if name in gone]
    return _holds(lost, ToolCall) and _holds(held, ToolResult)


def _holds(messages: Sequence[Message], kind: type[ToolCall | ToolResult]) -> bool:
    return any(isinstance(part, kind) for message in messages for part in message.parts)


def carry(before: Carried, after: Context, account: Account, *, size: int) -> Carried:
    """Give the edit to carry on, from the one carried before and the books of a fit of `size` messages."""
    drop = dict(before.drop)
    drop.update(
        {
            name: reason
            for name, reason in account.left.items()
            if reason in CARRIED_REASONS and name not in account.stripped
        }
    )
    shorten = {name: cuts for name, cuts in account.cuts.items() if name not in drop}
    inserts = tuple(_inserts(after, account))
    same = drop.keys() == before.drop.keys() and shorten == before.shorten
    same = same and {one.message.id for one, _ in inserts} == {one.message.id for one, _ in before.inserts}
    return Carried(
        drop, shorten, inserts, before.until if same else size, known=frozenset(drop) | account.left.keys()
    )


def reapply(carried: Carried, context: Context, account: Account, counter: Counter) -> Context:
    """Make the carried edit again on a context whose carried-out messages are not there any more."""
    if not carried.shorten and not carried.inserts:
        return context
    costs = dict(context.costs)
    messages: list[Message] = []
    for message in context.messages:
        cuts = carried.shorten.get(message.id)
        if cuts is not None and message.id not in context.protected:
            account.shorten(message, "context-shift", cuts)
            message = cut_message(message, cuts)
            costs[message.id] = counter.message(message)
        messages.append(message)
    tokens = [costs[message.id].tokens for message in messages]
    cut = context.with_messages(messages, costs, groups=with_tokens(context.groups, tokens))
    return _reinsert(carried, cut, account, counter) if carried.inserts else cut


def _reinsert(carried: Carried, context: Context, account: Account, counter: Counter) -> Context:
    at_edge: dict[int, list[Message]] = {}
    costs = dict(context.costs)
    for insert, following in carried.inserts:
        kind = "before" if following in context.places else "before_input"
        edge = find_edge(context, kind=kind, target=following, dropped=())
        at_edge.setdefault(edge, []).append(insert.message)
        costs[insert.message.id] = counter.message(insert.message)
        account.insert(insert, costs[insert.message.id].tokens)
    messages: list[Message] = []
    for position, message in enumerate(context.messages):
        messages += [*at_edge.get(position, ()), message]
    messages += at_edge.get(len(context.messages), [])
    return context.with_messages(messages, costs)


def _inserts(after: Context, account: Account) -> list[tuple[Inserted, str]]:
    if not account.inserted:
        return []
    found: list[tuple[Inserted, str]] = []
    waiting: list[Inserted] = []
    for message in after.messages:
        insert = account.inserted.get(message.id)
        if insert is None:
            found += [(one, message.id) for one in waiting]
            waiting = []
        elif insert.by_strategy:
            waiting.append(insert)
    return found + [(one, "") for one in waiting]
