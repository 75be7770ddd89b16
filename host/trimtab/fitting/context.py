"""A conversation at one step of the pipeline, counted and protected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab_sdk.counting import Cost
from trimtab_sdk.groups import Group, link_groups, with_tokens
from trimtab_sdk.messages import Message


@dataclass(frozen=True, slots=True)
class Context:
    """Messages in order, their groups, what they cost and which must stay.

    `costs` may know more messages than there are; `total` is the overhead and the messages, in tokens.
    """

    messages: tuple[Message, ...]
    groups: tuple[Group, ...]
    costs: Mapping[str, Cost]
    protected: Mapping[str, str]
    overhead: int
    total: int

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the messages."""
        return frozenset(message.id for message in self.messages)


def make_context(
    messages: Sequence[Message],
    costs: Mapping[str, Cost],
    protected: Mapping[str, str],
    overhead: int,
    *,
    groups: Sequence[Group] | None = None,
) -> Context:
    """Put a context together; every message must have its cost. `groups` saves linking them again."""
    tokens = [costs[message.id].tokens for message in messages]
    linked = with_tokens(link_groups(messages) if groups is None else groups, tokens)
    return Context(tuple(messages), linked, costs, protected, overhead, overhead + sum(tokens))
