"""From a conversation and a share of its room to the request that a host makes of it, and to what the guard says.

Everything is counted with `approximate-v1`, which needs no vocabulary: the same figures on every machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary

from trimtab.config import Config
from trimtab.conformance.corpus import FORMAT, Chat
from trimtab.fitting.account import Account
from trimtab.fitting.approximate import ApproximateV1
from trimtab.fitting.calling import Room, make_request
from trimtab.fitting.context import Context, first_context
from trimtab.fitting.counting import Counter, Driver
from trimtab.fitting.guard import Applied, Caller, guard_answer
from trimtab.loading.plugins import SHIFT
from trimtab.loading.registry import DEFAULT_REGISTRY
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import Origin, PluginError
from trimtab_sdk.groups import link_groups
from trimtab_sdk.protection import protection_reasons
from trimtab_sdk.request import Request

SUBJECT = "subject"
"""The name under which the kit registers and calls a plugin."""
SHARES = (0.75, 0.35, 0.0)
LOW_WATER = 0.75
_MANY = 500
_contexts: WeakKeyDictionary[Chat, Context] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Case:
    """A conversation with the room it has, in tokens: `budget`, and the `target` that a strategy cuts down to."""

    chat: Chat
    budget: int
    target: int

    def __repr__(self) -> str:
        return (
            f"conversation {self.chat!r}, {self.context.total} tokens, budget {self.budget}, target {self.target}"
        )

    @property
    def context(self) -> Context:
        """The conversation as the host counts and protects it."""
        return context_of(self.chat)

    @property
    def is_over(self) -> bool:
        """Whether the conversation costs more than its budget."""
        return self.context.total > self.budget

    @property
    def can_be_met(self) -> bool:
        """Whether what must stay is within the target."""
        return must_stay(self.context) <= self.target

    def request(self, *, hook: str, settings: Mapping[str, object]) -> Request:
        """Give what a host hands to the hook."""
        return make_request(
            self.context,
            room=Room(self.budget, self.target),
            counter=kit_counter(),
            plugin=SUBJECT,
            summary=hook == SHIFT,
            settings=settings,
        )

    def guarded(self, edit: Edit, *, hook: str, may_redact: bool = False) -> tuple[Applied | None, Account]:
        """Give what the host's guard makes of an edit, None when it refuses it, and the books."""
        account = Account()
        caller = Caller(Origin(SUBJECT), hook, may_redact=may_redact)
        try:
            applied = guard_answer(
                edit, self.context, caller=caller, counter=kit_counter(), budget=self.budget, account=account
            )
        except PluginError:
            return None, account
        return applied, account


@cache
def kit_counter() -> Counter:
    """Give the counter of the kit."""
    driver = Driver(ApproximateV1())
    return Counter(driver, DEFAULT_REGISTRY.codec(FORMAT, Config()).framing(driver.tokenizer.profile))


def context_of(chat: Chat) -> Context:
    """Give a conversation counted and protected, made once for each chat."""
    known = _contexts.get(chat)
    if known is None:
        known = _contexts[chat] = _make_context(chat)
    return known


def _make_context(chat: Chat) -> Context:
    costs = kit_counter().messages(chat.messages)
    groups = link_groups(chat.messages, [costs[message.id].tokens for message in chat.messages])
    return first_context(
        chat.messages,
        groups,
        costs=costs,
        protected=protection_reasons(chat.messages, groups),
        places={message.id: at for at, message in enumerate(chat.messages)},
        overhead=kit_counter().request(tools=(), response_format=None).tokens,
    )


def must_stay(context: Context) -> int:
    """Give what the overhead and the protected messages cost, in tokens."""
    return context.overhead + sum(context.costs[name].tokens for name in context.protected)


def case_at(chat: Chat, share: float, *, target: float = 1.0) -> Case:
    """Give a conversation that has `share` of the tokens that may leave as room; over 1 it is under its budget."""
    context = context_of(chat)
    least = must_stay(context)
    budget = least + int((context.total - least) * share)
    return Case(chat, budget, max(least, int(budget * target)))


def over_budget(chat: Chat) -> Iterator[Case]:
    """Give cases in which a conversation is over its budget and can be brought under it; none if it cannot be."""
    shares = SHARES if len(chat.messages) <= _MANY else SHARES[1:2]
    cases = [case_at(chat, share) for share in shares]
    cases.append(case_at(chat, SHARES[0], target=LOW_WATER))
    yield from (case for case in cases if case.is_over and case.can_be_met)


def with_room(chat: Chat) -> Iterator[Case]:
    """Give cases in which a conversation is within its budget, with much room and with none to spare."""
    yield case_at(chat, 1.0)
    if len(chat.messages) <= _MANY:
        yield Case(chat, 2 * context_of(chat).total + 400, 2 * context_of(chat).total + 400)


def without_hope(chat: Chat) -> Case:
    """Give a case in which nothing brings the total down to the budget."""
    budget = must_stay(context_of(chat)) // 2
    return Case(chat, budget, budget)
