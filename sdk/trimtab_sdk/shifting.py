"""Which groups leave when a conversation is over its budget: the oldest first, whole, no more than needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from trimtab_sdk.errors import InvalidBudgetError, InvalidRequestError, TokenBudgetExceededError
from trimtab_sdk.groups import Group, link_groups
from trimtab_sdk.messages import Message
from trimtab_sdk.protection import (
    current_input,
    is_aside,
    open_step,
    protection_reasons,
    unanswered_step,
)

ShiftReason: TypeAlias = Literal["context-shift", "running-turn"]


@dataclass(frozen=True, slots=True)
class Shift:
    """The result of `shift_context`: every message is in exactly one of the three, in its old order."""

    kept: tuple[Message, ...]
    excluded: tuple[Message, ...]
    truncated: tuple[Message, ...] = ()


class Departure(NamedTuple):
    """A group that leaves, and why: `context-shift`, or `running-turn` for a step of the unanswered turn."""

    group: Group
    reason: ShiftReason


def shift_context(
    messages: Sequence[Message],
    count_tokens: Callable[[Message], int],
    budget: int,
    *,
    protected: Collection[str] | None = None,
    target: int | None = None,
) -> Shift:
    """Keep what fits into `budget` tokens: the oldest unprotected groups leave first.

    Finished steps of the running turn and a step that no answer follows leave last. Under budget nothing
    changes; over it, groups leave until the total is at most `target` (default: the budget) or only
    protected ones are left. Each message is counted once; the time is linear.

    - `count_tokens` gives the cost of one message in tokens.
    - `protected` are ids that must stay, closed over groups here; None means `protection_reasons`.

    Raises InvalidRequestError when two messages share an id, InvalidBudgetError for a budget or target that
    is no whole number of at least 0, and TokenBudgetExceededError when what is protected is over the budget.
    """
    checked_tokens("budget", budget)
    if target is not None:
        checked_tokens("target", target)
    _check_ids(messages)
    costs = [count_tokens(message) for message in messages]
    total = sum(costs)
    groups = link_groups(messages, costs)
    keep = _closed(groups, protected) if protected is not None else protection_reasons(messages, groups)
    leaving = choose_departures(messages, groups, total=total, budget=budget, target=target, protected=keep)
    if total - sum(departure.group.tokens for departure in leaving) > budget:
        raise _over_budget(messages, costs, keep, budget)
    gone = {member for departure in leaving for member in departure.group.ids}
    return Shift(
        kept=tuple(message for message in messages if message.id not in gone),
        excluded=tuple(message for message in messages if message.id in gone),
    )


def choose_departures(
    messages: Sequence[Message],
    groups: Sequence[Group],
    *,
    total: int,
    budget: int,
    target: int | None = None,
    protected: Collection[str],
) -> tuple[Departure, ...]:
    """Choose the groups that leave so that `total` comes down to the target, in the order they leave.

    `total` and `budget` are in tokens and may both include the overhead of the request. Nothing leaves when
    the total is within the budget. The result may fall short when only protected groups are left.
    """
    if total <= budget:
        return ()
    goal = budget if target is None else min(target, budget)
    leaving: list[Departure] = []
    for departure in _in_order(messages, groups, protected):
        if total <= goal:
            break
        total -= departure.group.tokens
        leaving.append(departure)
    return tuple(leaving)


def leaving_order(
    messages: Sequence[Message],
    groups: Sequence[Group],
    *,
    protected: Collection[str],
) -> tuple[Departure, ...]:
    """Order the groups that may leave: history by age, then the running turn, then an unanswered step.

    Groups that cost nothing stay: leaving them out would win nothing.
    """
    return tuple(_in_order(messages, groups, protected))


def _in_order(
    messages: Sequence[Message], groups: Sequence[Group], protected: Collection[str]
) -> Iterator[Departure]:
    last = {group.positions[0] for group in unanswered_step(messages, groups)}
    started = _running_since(messages, groups)
    running: list[Departure] = []
    unanswered: list[Departure] = []
    for group in groups:
        if group.tokens <= 0 or not is_free(group, protected):
            continue
        if group.positions[0] in last:
            unanswered.append(Departure(group, "running-turn"))
        elif started is not None and _is_step(messages, group, started):
            running.append(Departure(group, "running-turn"))
        else:
            yield Departure(group, "context-shift")
    yield from running
    yield from unanswered


def is_free(group: Group, protected: Collection[str]) -> bool:
    """Tell whether no member of the group is protected."""
    if len(group.ids) == 1:
        return group.ids[0] not in protected
    return not any(member in protected for member in group.ids)


def checked_tokens(name: str, value: object) -> int:
    """Give `value` when it is a whole number of tokens of at least 0; raise InvalidBudgetError otherwise."""
    if type(value) is not int or value < 0:
        raise InvalidBudgetError(f"{name} must be a whole number of tokens, not {value!r}", value=value)
    return value


def _check_ids(messages: Sequence[Message]) -> None:
    seen: dict[str, int] = {}
    for position, message in enumerate(messages):
        first = seen.setdefault(message.id, position)
        if first != position:
            raise InvalidRequestError(
                f"messages {first} and {position} share the id {message.id!r}; give each message its own",
                path=f"messages[{position}].id",
            )


def _running_since(messages: Sequence[Message], groups: Sequence[Group]) -> int | None:
    """The position of the input whose turn still runs: the list ends in tool results."""
    if not open_step(messages, groups):
        return None
    inputs = current_input(messages)
    return inputs[-1] if inputs else -1


def _is_step(messages: Sequence[Message], group: Group, started: int) -> bool:
    first = group.positions[0]
    return first > started and not is_aside(messages[first])


def _closed(groups: Sequence[Group], protected: Collection[str]) -> frozenset[str]:
    return frozenset(member for group in groups if not is_free(group, protected) for member in group.ids)


def _over_budget(
    messages: Sequence[Message],
    costs: Sequence[int],
    protected: Collection[str],
    budget: int,
) -> TokenBudgetExceededError:
    kept = {message.id: cost for message, cost in zip(messages, costs, strict=True) if message.id in protected}
    return TokenBudgetExceededError(needed=sum(kept.values()), allowed=budget, overhead=0, protected=kept)
