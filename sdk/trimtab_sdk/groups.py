"""Which messages live and die together.

A tool call, its results, its approvals and the reasoning before it form one group, also when other messages
stand between them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, TypeAlias

from trimtab_sdk.messages import (
    ApprovalRequest,
    ApprovalResponse,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)

Place: TypeAlias = tuple[int, int]
"""A part: the position of its message and its index in `parts`."""


class Group(NamedTuple):
    """Messages that are kept or left out as a whole.

    `positions` ascend and index the list the group was made from. `tokens` is the cost of all members, filled
    in by the host. An `orphan` is a tool result whose call is not there; `open_calls` are the ids of calls
    that have no result.
    """

    ids: tuple[str, ...]
    positions: tuple[int, ...]
    tokens: int = 0
    orphan: bool = False
    open_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which tool result answers which call."""

    call_of: dict[Place, Place]
    orphans: tuple[Place, ...]
    open_calls: tuple[Place, ...]


def pair_calls(messages: Sequence[Message]) -> Pairing:
    """Pair tool results with calls: by position first, by id second.

    A result belongs to the nearest earlier message that has an open call of its id, and within that message
    to the first such call. Ids may repeat in a conversation and even in one message.
    """
    waiting: dict[str, list[deque[Place]]] = {}
    call_of: dict[Place, Place] = {}
    orphans: list[Place] = []
    for position, message in enumerate(messages):
        for index, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                _wait(waiting, part.call_id, (position, index))
            elif isinstance(part, ToolResult):
                call = _take_nearest(waiting, part.call_id)
                if call is None:
                    orphans.append((position, index))
                else:
                    call_of[position, index] = call
    left = sorted(place for stack in waiting.values() for places in stack for place in places)
    return Pairing(call_of, tuple(orphans), tuple(left))


def _wait(waiting: dict[str, list[deque[Place]]], call_id: str, call: Place) -> None:
    stack = waiting.setdefault(call_id, [])
    if stack and stack[-1][0][0] == call[0]:
        stack[-1].append(call)
    else:
        stack.append(deque([call]))


def _take_nearest(waiting: dict[str, list[deque[Place]]], call_id: str) -> Place | None:
    stack = waiting.get(call_id)
    if not stack:
        return None
    call = stack[-1].popleft()
    if not stack[-1]:
        stack.pop()
    return call


def link_groups(messages: Sequence[Message], costs: Sequence[int] | None = None) -> tuple[Group, ...]:
    """Split a conversation into groups, ordered by their first member; `costs` are the tokens of each message.

    Takes time linear in the number of parts. Every message is in exactly one group. Reasoning that stands in
    a message of its own joins the assistant message right behind it, and the calls that follow that directly:
    a wire that gives each item a message of its own splits one answer into such a run.
    """
    if not any(_may_link(message) for message in messages if not _is_one_text(message)):
        tokens = repeat(0) if costs is None else costs
        return tuple(
            [
                Group((message.id,), (position,), cost)
                for position, (message, cost) in enumerate(zip(messages, tokens, strict=False))
            ]
        )
    pairing = pair_calls(messages)
    roots = _Roots(len(messages))
    for (result, _), (call, _) in pairing.call_of.items():
        roots.join(result, call)
    _join_approvals(messages, roots)
    _join_reasoning(messages, roots)
    return _collect(messages, roots, pairing, costs)


_LINKING = (ToolCall, ToolResult, ApprovalRequest, ApprovalResponse, Reasoning)


def with_tokens(groups: Sequence[Group], costs: Sequence[int]) -> tuple[Group, ...]:
    """Give the groups with their cost, from the cost in tokens of each message by position."""
    return tuple([_counted(group, costs) for group in groups])


def _counted(group: Group, costs: Sequence[int]) -> Group:
    positions = group.positions
    tokens = costs[positions[0]] if len(positions) == 1 else sum([costs[at] for at in positions])
    return Group(group.ids, positions, tokens, group.orphan, group.open_calls)


def _is_one_text(message: Message) -> bool:
    parts = message.parts
    return len(parts) == 1 and type(parts[0]) is Text and message.role != "tool"


def _may_link(message: Message) -> bool:
    if message.role == "tool":
        return True
    for part in message.parts:
        if type(part) is not Text and isinstance(part, _LINKING):
            return True
    return False


class _Roots:
    """Disjoint sets of positions; the root of a set is its smallest member."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, at: int) -> int:
        parent = self._parent
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.find(one), self.find(other)))
        self._parent[second] = first


def _join_approvals(messages: Sequence[Message], roots: _Roots) -> None:
    holders: dict[str, int] = {}
    askers: dict[str, int] = {}
    for position, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                holders[part.call_id] = position
        for part in message.parts:
            if isinstance(part, ApprovalRequest):
                askers[part.approval_id] = position
                if part.call_id in holders:
                    roots.join(position, holders[part.call_id])
            elif isinstance(part, ApprovalResponse) and part.approval_id in askers:
                roots.join(position, askers[part.approval_id])


def _join_reasoning(messages: Sequence[Message], roots: _Roots) -> None:
    running: int | None = None
    for position, message in enumerate(messages):
        if message.role != "assistant":
            running = None
        elif _only_reasoning(message):
            if running is not None and _only_reasoning(messages[position - 1]):
                roots.join(position, running)
            running = position
        elif running is not None and (_only_reasoning(messages[position - 1]) or _calls(message)):
            roots.join(position, running)
        else:
            running = None


def _calls(message: Message) -> bool:
    return any(isinstance(part, ToolCall) for part in message.parts)


def _only_reasoning(message: Message) -> bool:
    return (
        message.role == "assistant"
        and bool(message.parts)
        and all(isinstance(part, Reasoning) for part in message.parts)
    )


def _collect(
    messages: Sequence[Message], roots: _Roots, pairing: Pairing, costs: Sequence[int] | None
) -> tuple[Group, ...]:
    members: dict[int, list[int]] = {}
    for position in range(len(messages)):
        members.setdefault(roots.find(position), []).append(position)
    orphaned = {roots.find(position) for position, _ in pairing.orphans}
    unanswered: dict[int, list[str]] = {}
    for position, index in pairing.open_calls:
        part = messages[position].parts[index]
        if isinstance(part, ToolCall):
            unanswered.setdefault(roots.find(position), []).append(part.call_id)
    return tuple(
        [
            Group(
                tuple([messages[at].id for at in positions]),
                tuple(positions),
                0 if costs is None else sum([costs[at] for at in positions]),
                root in orphaned,
                tuple(unanswered.get(root, ())),
            )
            for root, positions in members.items()
        ]
    )
