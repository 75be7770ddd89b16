"""The context window as segments, and segments as cells of a bar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trimtab.report import Entry, Fit

PROTECTED = frozenset(
    {"system", "developer", "character", "persona", "required", "pinned", "current-input", "open-step"}
)
"""The reasons for which a message must be in every request."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the window: what it is for, its tokens, its mark with and without Unicode, its colour."""

    name: str
    tokens: int
    mark: str
    plain_mark: str
    style: str


def segments(fit: Fit) -> tuple[Segment, ...]:
    """Divide the window: what is sent, what is free, what is kept free. The tokens add up to `window_of(fit)`.

    Overhead, margin and room that the largest input does not reach are given only where there are any.
    """
    budget = fit.budget
    must_stay = _tokens(entry for entry in fit.kept if entry.reason in PROTECTED)
    free = max(0, budget.available - fit.tokens_after)
    reserve = budget.reserve if budget.context_limit is not None else 0
    used = must_stay, _tokens(fit.kept) - must_stay, _tokens(fit.truncated), _tokens(fit.inserted)
    unreachable = max(0, window_of(fit) - fit.overhead - sum(used) - free - reserve - budget.margin)
    rows = (
        Segment("overhead", fit.overhead, "▚", "%", "magenta"),
        Segment("protected", used[0], "█", "#", "cyan"),
        Segment("kept", used[1], "▓", "=", "green"),
        Segment("shortened", used[2], "▒", "~", "yellow"),
        Segment("inserted", used[3], "▞", "+", "blue"),
        Segment("free", free, "·", ".", "default"),
        Segment("margin", budget.margin, "~", "!", "default"),
        Segment("reserve", reserve, "░", "-", "default"),
        Segment("over the largest input", unreachable, "×", "x", "default"),
    )
    sometimes = {"overhead", "margin", "over the largest input"}
    return tuple(row for row in rows if row.tokens or row.name not in sometimes)


def window_of(fit: Fit) -> int:
    """Give the tokens the whole bar stands for: the context limit, else the largest input."""
    budget = fit.budget
    if budget.context_limit is not None:
        return budget.context_limit
    return budget.max_input if budget.max_input is not None else budget.available + budget.margin


def cells(tokens: Sequence[int], width: int) -> list[int]:
    """Share `width` cells out by tokens: exactly `width` in all, and at least one for all that is not 0.

    `width` must be at least the number of figures. All are 0 when there are no tokens.
    """
    total = sum(tokens)
    if not total:
        return [0] * len(tokens)
    given = [1 if figure else 0 for figure in tokens]
    rest = width - sum(given)
    shares = [divmod(figure * rest, total) for figure in tokens]
    given = [least + whole for least, (whole, _) in zip(given, shares, strict=True)]
    by_remainder = sorted(range(len(tokens)), key=lambda at: -shares[at][1])
    for at in by_remainder[: width - sum(given)]:
        given[at] += 1
    return given


def _tokens(entries: Iterable[Entry]) -> int:
    return sum(entry.tokens for entry in entries)
