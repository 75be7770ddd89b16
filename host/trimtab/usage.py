"""What providers say that calls cost, summed up and set beside our own count.

The comparison is shown and never fed back: a count stays what the tokenizer and the rules of the wire make of it.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from trimtab_sdk.provider import Usage

MAX_MODELS = 256
_KINDS = ("input", "output", "cached", "cache_write", "reasoning")


def sum_usage(usages: Iterable[Usage | None]) -> Usage | None:
    """Add up the usage of calls. A call that does not tell a figure adds nothing to it.

    None when no call told any; a figure that no call told is None.
    """
    told = [usage for usage in usages if usage is not None]
    if not told:
        return None
    return Usage(
        input_tokens=_sum(usage.input_tokens for usage in told),
        output_tokens=_sum(usage.output_tokens for usage in told),
        cached_tokens=_sum(usage.cached_tokens for usage in told),
        cache_write_tokens=_sum(usage.cache_write_tokens for usage in told),
        reasoning_tokens=_sum(usage.reasoning_tokens for usage in told),
    )


def _sum(figures: Iterable[int | None]) -> int | None:
    told = [figure for figure in figures if figure is not None]
    return sum(told) if told else None


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRatio:
    """How the input tokens that a provider reports compare to our count: reported / estimated.

    `mean`, `least` and `most` are over `count` calls. 1.0 is a count that hits; over 1, ours is too low.
    """

    provider: str
    model: str
    count: int
    mean: float
    least: float
    most: float

    def to_dict(self) -> dict[str, object]:
        """Give the record as JSON values."""
        return {
            "provider": self.provider,
            "model": self.model,
            "count": self.count,
            "mean": round(self.mean, 4),
            "min": round(self.least, 4),
            "max": round(self.most, 4),
        }


class UsageRatios:
    """The running record of all calls, one for each provider and model. Safe to use from many threads.

    Of more than `most` models, those that were not called for the longest time are forgotten.
    """

    def __init__(self, *, most: int = MAX_MODELS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._ratios: OrderedDict[tuple[str, str], UsageRatio] = OrderedDict()
        self._totals: dict[str, Counter[str]] = {}

    def add(self, provider: str, model: str, *, reported: int | None, estimated: int) -> UsageRatio | None:
        """Take a call in and give the record of its model so far.

        Nothing is taken in where the provider reports no input tokens, or one of the figures is none that a call
        can have.
        """
        with self._lock:
            key = provider, model
            known = self._ratios.get(key)
            if reported is None or reported <= 0 or estimated <= 0:
                return known
            self._ratios[key] = _with(known, key, reported / estimated)
            self._ratios.move_to_end(key)
            while len(self._ratios) > self._most:
                self._ratios.popitem(last=False)
            return self._ratios.get(key)

    def count(self, provider: str, usage: Usage) -> None:
        """Add what a provider reports of a call to its totals."""
        with self._lock:
            totals = self._totals.setdefault(provider, Counter())
            for kind in _KINDS:
                tokens = getattr(usage, f"{kind}_tokens")
                if tokens is not None and tokens > 0:
                    totals[kind] += tokens

    def totals(self) -> dict[str, dict[str, int]]:
        """Give the tokens that were reported: provider → `input`, `output`, `cached`, … → tokens."""
        with self._lock:
            return {provider: dict(self._totals[provider]) for provider in sorted(self._totals)}

    def ratio(self, provider: str, model: str) -> UsageRatio | None:
        """Give the record of a model, None when there is none."""
        with self._lock:
            return self._ratios.get((provider, model))

    def all(self) -> tuple[UsageRatio, ...]:
        """Give all records, by provider and model."""
        with self._lock:
            return tuple(self._ratios[key] for key in sorted(self._ratios))

    def to_dict(self) -> dict[str, object]:
        """Give all records as JSON values."""
        return {"usageRatios": [ratio.to_dict() for ratio in self.all()]}


def _with(known: UsageRatio | None, key: tuple[str, str], ratio: float) -> UsageRatio:
    provider, model = key
    if known is None:
        return UsageRatio(provider=provider, model=model, count=1, mean=ratio, least=ratio, most=ratio)
    count = known.count + 1
    least, most = min(known.least, ratio), max(known.most, ratio)
    mean = known.mean + (ratio - known.mean) / count
    return UsageRatio(
        provider=provider, model=model, count=count, mean=min(max(mean, least), most), least=least, most=most
    )
