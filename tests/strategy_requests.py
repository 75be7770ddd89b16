"""What a strategy is given, made by hand: a request over messages and a desk of services that remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import judge
from trimtab_sdk import (
    Message,
    Request,
    ServiceUnavailableError,
    current_input,
    link_groups,
    plain_text,
    protection_reasons,
    texts_of,
    with_tokens,
)

Embed = Callable[[list[str]], list[list[float]]]


class Desk:
    """Counts as the judge does, embeds with a given function, and keeps what it was asked to count."""

    deadline = float("inf")

    def __init__(self, embed: Embed | None = None) -> None:
        self._embed = embed
        self.counted: list[str] = []

    def can(self, name: str) -> bool:
        return name == "count" or (name == "embed" and self._embed is not None)

    def count(self, text: str) -> int:
        self.counted.append(text)
        return judge.tokens(text)

    def embed(self, texts: list[str]) -> list[list[float]]:
        if self._embed is None:
            raise ServiceUnavailableError("embed")
        return self._embed(texts)


def ask(
    messages: Sequence[Message],
    budget: int,
    *,
    target: int | None = None,
    settings: Mapping[str, object] | None = None,
) -> Request:
    """A request in which a message costs 3 tokens and those of its texts."""
    groups = link_groups(messages)
    costs = [3 + sum(judge.tokens(text) for _, text in texts_of(message)) for message in messages]
    return Request(
        messages=tuple(messages),
        groups=with_tokens(groups, costs),
        tokens={message.id: cost for message, cost in zip(messages, costs, strict=True)},
        protected=frozenset(protection_reasons(messages, groups)),
        budget=budget,
        total=sum(costs),
        overhead=0,
        target=budget if target is None else target,
        cost_of_insert=judge.tokens,
        query="\n".join(plain_text(messages[at]) for at in current_input(messages)),
        settings=settings or {},
    )
