"""The last word on the budget, after every plugin has spoken."""

from __future__ import annotations

from collections.abc import Iterable

from trimtab.fitting.account import Account
from trimtab.fitting.budget import BudgetRule
from trimtab.fitting.context import Context
from trimtab.report import Budget
from trimtab_sdk.errors import TokenBudgetExceededError
from trimtab_sdk.shifting import Departure, choose_departures


def host_shift(context: Context, budget: int, target: int, account: Account) -> Context:
    """Bring a context down by the host's own rule: the oldest unprotected groups leave, whole."""
    leaving = choose_departures(
        context.messages,
        context.groups,
        total=context.total,
        budget=budget,
        target=target,
        protected=context.protected,
    )
    for departure in leaving:
        account.leave(departure.group.ids, departure.reason)
    return without(context, _members(leaving))


def final_shift(context: Context, budget: int, account: Account) -> Context:
    """Bring a context under the budget: inserts of interceptors leave first, then history, then summaries."""
    total = context.total
    leaving: list[str] = []
    for name in _inserts(context, account, by_strategy=False):
        if total <= budget:
            break
        total -= context.costs[name].tokens
        leaving.append(name)
    summaries = _inserts(context, account, by_strategy=True)
    rest = choose_departures(
        context.messages,
        context.groups,
        total=total,
        budget=budget,
        protected=context.protected.keys() | set(summaries) | set(leaving),
    )
    leaving += _members(rest)
    total -= sum(departure.group.tokens for departure in rest)
    for name in summaries:
        if total <= budget:
            break
        total -= context.costs[name].tokens
        leaving.append(name)
    account.leave(leaving, "final-budget")
    return without(context, leaving)


def without(context: Context, ids: Iterable[str]) -> Context:
    """Give the context without some messages."""
    gone = set(ids)
    if not gone:
        return context
    messages = [message for message in context.messages if message.id not in gone]
    return context.with_messages(messages)


def over_budget(context: Context, budget: Budget, rule: BudgetRule) -> TokenBudgetExceededError:
    """Make the error that says what must stay, what it costs, and which limit would do."""
    names = [message.id for message in context.messages if message.id in context.protected]
    tokens = {name: context.costs[name].tokens for name in names}
    needed = context.overhead + sum(tokens.values())
    return TokenBudgetExceededError(
        needed=needed,
        allowed=budget.available,
        overhead=context.overhead,
        protected=tokens,
        places={name: context.places[name] for name in names if context.places[name] >= 0},
        current_input=[name for name in names if context.protected[name] == "current-input"],
        smallest_limit=rule.smallest_limit(needed),
    )


def _inserts(context: Context, account: Account, *, by_strategy: bool) -> list[str]:
    """The inserts that stand in a context, the newest first."""
    here = {message.id for message in context.messages}
    return [
        name
        for name, insert in reversed(account.inserted.items())
        if name in here and insert.by_strategy is by_strategy
    ]


def _members(leaving: Iterable[Departure]) -> list[str]:
    return [name for departure in leaving for name in departure.group.ids]
