"""What a prompt costs: counted message by message, with what an earlier request put into the prefix cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from fakes.chat_replies import Json

Count: TypeAlias = Callable[[Json], int]
PRIMING = 3


def rough_tokens(message: Json) -> int:
    """Count a message roughly: a token for four characters of its JSON."""
    return 3 + len(json.dumps(message, ensure_ascii=False)) // 4


@dataclass(frozen=True, slots=True)
class Price:
    """Tokens of a prompt, and how many of them an earlier request began with."""

    tokens: int
    cached: int


class PrefixCache:
    """Remembers every prefix of every request, as a provider's automatic cache does in the best case.

    A prefix is the model and the tools, then message after message; each is compared as the JSON text it was sent
    as, so another order of keys is another prefix.
    """

    def __init__(self, count: Count, *, caching: bool = True) -> None:
        self._count = count
        self._caching = caching
        self._seen: set[int] = set()

    def price(self, body: Json) -> Price:
        """Count a request, and remember its prefixes."""
        tools = body.get("tools")
        total = PRIMING + (rough_tokens(tools) if tools else 0)
        if not self._caching:
            return Price(total + sum(self._count(message) for message in body["messages"]), 0)
        return self._priced(total, [body.get("model"), tools], body["messages"])

    def _priced(self, total: int, head: Json, messages: Json) -> Price:
        link = hash(json.dumps(head))
        cached = total if link in self._seen else 0
        self._seen.add(link)
        for message in messages:
            link = hash((link, json.dumps(message)))
            total += self._count(message)
            if link in self._seen:
                cached = total
            self._seen.add(link)
        return Price(total, cached)
