"""A conversation at one step of the pipeline, counted and protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab_sdk.counting import Cost
from trimtab_sdk.groups import Group, link_groups
from trimtab_sdk.messages import Message


@dataclass(frozen=True, slots=True)
class Context:
    """Messages in order, their groups, what they cost and which must stay.

    `costs`, `protected` (id → reason) and `places` (id → index in the input) may know messages that have left.
    Inserted texts have no place; what stands in fields of its own, as some wires' system text, has a negative
    one. `total` is the overhead and the messages, in tokens.
    """

    messages: tuple[Message, ...]
    groups: tuple[Group, ...]
    costs: Mapping[str, Cost]
    protected: Mapping[str, str]
    places: Mapping[str, int]
    overhead: int
    total: int

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the messages."""
        return frozenset(message.id for message in self.messages)

    def with_messages(
        self,
        messages: Sequence[Message],
        costs: Mapping[str, Cost] | None = None,
        *,
        groups: Sequence[Group] | None = None,
    ) -> Context:
        """Give the context with other messages; `groups`, with their tokens, saves linking them again.

        Every message must have its cost, in `costs` or from before.
        """
        known = self.costs if costs is None else costs
        tokens = [known[message.id].tokens for message in messages]
        linked = link_groups(messages, tokens) if groups is None else tuple(groups)
        return Context(
            messages=tuple(messages),
            groups=linked,
            costs=known,
            protected=self.protected,
            places=self.places,
            overhead=self.overhead,
            total=self.overhead + sum(tokens),
        )


def first_context(
    messages: Sequence[Message],
    groups: Sequence[Group],
    *,
    costs: Mapping[str, Cost],
    protected: Mapping[str, str],
    places: Mapping[str, int],
    overhead: int,
) -> Context:
    """Give the context of a conversation as it came in."""
    empty = Context((), (), costs, protected, places, overhead, overhead)
    return empty.with_messages(messages, groups=groups)
