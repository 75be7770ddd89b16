"""Prompt caching as the Messages API has it: written and read at breakpoints only, and for a time only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fakes.chat_prices import PRIMING, Count
from fakes.chat_replies import Json
from fakes.messages_context import THOUGHTS, Cost, View, bare, blocks_of, lifetime

LOOKBACK = 20
"""How many blocks before a breakpoint an entry may end to be found from there."""
SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of one block: what a prefix that ends here is known by, its tokens, and the lifetime asked for."""

    link: int
    tokens: int
    ttl: str | None
    can_end: bool


class BreakpointCache:
    """Remembers the prefixes that ended at breakpoints.

    A prefix is the model, the tools, the system prompt and block after block; each is compared as the JSON text it
    was sent as, so another order of keys is another prefix. What is shorter than `minimum` tokens is not kept.
    """

    def __init__(self, *, count: Count, now: Callable[[], float], minimum: int, caching: bool) -> None:
        self._count = count
        self._now = now
        self._minimum = minimum
        self._caching = caching
        self._kept: dict[int, tuple[float, str]] = {}

    def price(self, view: View, *, writes: bool) -> Cost:
        """Count a context; with `writes` remember what its breakpoints ask for."""
        stops = self._stops(view)
        total = stops[-1].tokens if stops else PRIMING
        cost = Cost(tokens=total)
        if writes and self._caching:
            self._use(stops, cost)
        return cost

    def _use(self, stops: Sequence[Stop], cost: Cost) -> None:
        read = self._found(stops)
        if read is not None:
            cost.cached = read.tokens
            self._keep(read.link, self._kept[read.link][1])
        done = cost.cached
        for stop in stops:
            if stop.ttl is None or stop.tokens < self._minimum or stop.tokens <= done:
                continue
            fresh, done = stop.tokens - done, stop.tokens
            cost.long += fresh if stop.ttl == "1h" else 0
            cost.short += 0 if stop.ttl == "1h" else fresh
            self._keep(stop.link, stop.ttl)

    def _found(self, stops: Sequence[Stop]) -> Stop | None:
        for at in range(len(stops) - 1, -1, -1):
            if stops[at].ttl is None:
                continue
            for back in range(at, max(-1, at - LOOKBACK - 1), -1):
                if self._is_kept(stops[back].link):
                    return stops[back]
        return None

    def _is_kept(self, link: int) -> bool:
        return self._kept.get(link, (float("-inf"), ""))[0] >= self._now()

    def _keep(self, link: int, ttl: str) -> None:
        self._kept[link] = (self._now() + SECONDS[ttl], ttl)

    def _stops(self, view: View) -> list[Stop]:
        stops = list(self._blocks(view))
        top = lifetime({"cache_control": view.body.get("cache_control")})
        last = next((at for at in range(len(stops) - 1, -1, -1) if stops[at].can_end), None)
        if top is not None and last is not None:
            stop = stops[last]
            stops[last] = Stop(stop.link, stop.tokens, stop.ttl or top, can_end=True)
        return stops

    def _blocks(self, view: View) -> Iterator[Stop]:
        body = view.body
        link, tokens = hash(view.model), PRIMING
        head = [*(body.get("tools") or ()), *blocks_of(body.get("system") or [])]
        settings = json.dumps([body.get("tool_choice"), body.get("thinking")])
        rows: list[tuple[str, Json]] = [("", one) for one in head]
        rows += [(settings + place.role, place.block) for place in view.sent]
        for extra, block in rows:
            plain = bare(block)
            link = hash((link, extra, json.dumps(plain)))
            tokens += self._count(plain)
            yield Stop(link, tokens, lifetime(block), block.get("type") not in THOUGHTS)
