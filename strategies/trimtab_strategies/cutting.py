"""Cutting one text down to a number of tokens, by spans of it to keep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trimtab_sdk import CountText, Span, keep_spans
from trimtab_strategies.edges import end_of_beginning, start_of_end

LEAST_CHARS = 20
"""A shorter piece tells the model nothing."""
ROUNDS = 10
"""How often a text is counted, at most, while its cut is looked for, besides once for the smallest cut."""
_GUESSES = 4

Shape: TypeAlias = Literal["beginning", "both-ends"]
"""What stays of a text: its beginning, or its beginning and its end."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The spans of a text that stay, and what they cost in tokens, markers included."""

    spans: list[Span]
    tokens: int


def cut_text(text: str, *, tokens: int, most: int, shape: Shape, count: CountText) -> Cut | None:
    """Cut a text that costs `tokens` down to at most `most` tokens, keeping as much of it as edges allow.

    Where `most` is less than the smallest cut costs, that one is given: 20 characters for each piece. None when
    no cut saves a token. The text is counted at most `ROUNDS` times and once more.
    """
    least = LEAST_CHARS if shape == "beginning" else 2 * LEAST_CHARS
    take = _beginning if shape == "beginning" else _both_ends
    if len(text) <= least:
        return None

    def cut_at(size: int) -> Cut | None:
        spans = take(text, size)
        return Cut(spans, count(keep_spans(text, spans))) if spans else None

    best = _largest(cut_at, least, len(text) - 1, guess=len(text) * most // max(1, tokens), most=most)
    best = best or cut_at(least)
    return best if best is not None and best.tokens < tokens else None


def _largest(cut_at: Callable[[int], Cut | None], low: int, high: int, *, guess: int, most: int) -> Cut | None:
    """Find a size near the largest one that costs at most `most`: a few proportional guesses, then halving."""
    best: Cut | None = None
    for turn in range(ROUNDS):
        if low > high:
            break
        size = min(max(guess, low), high)
        cut = cut_at(size)
        if cut is None:
            low = guess = size + 1
        elif cut.tokens > most:
            high = size - 1
            guess = size * most // cut.tokens
        else:
            best = cut
            if most - cut.tokens <= most // 50 + 1:
                break
            low = size + 1
            guess = size * most // max(1, cut.tokens)
        if turn >= _GUESSES:
            guess = (low + high) // 2
    return best


def _beginning(text: str, size: int) -> list[Span]:
    end = end_of_beginning(text, size, least=LEAST_CHARS)
    return [] if end is None else [(0, end)]


def _both_ends(text: str, size: int) -> list[Span]:
    end = end_of_beginning(text, size // 2, least=LEAST_CHARS)
    start = start_of_end(text, size - size // 2, least=LEAST_CHARS)
    return [] if end is None or start is None else [(0, end), (start, len(text))]
