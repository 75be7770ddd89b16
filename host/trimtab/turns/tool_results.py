"""Tool results over their share of the budget, cut to their beginning and end."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from trimtab_sdk.counting import CountText
from trimtab_sdk.edit import MARKER, Span, keep_spans
from trimtab_sdk.messages import ContentPart, Text, ToolResult

SHARE = 0.25
_BLOCK = 4096
_MOST_JOINED = 32
_JOINERS = frozenset({"\N{ZERO WIDTH JOINER}"})

PartCost: TypeAlias = Callable[[ContentPart], int]
"""Gives the tokens of a part that is no text."""


def shares(
    results: Sequence[ToolResult],
    *,
    budget_tokens: int,
    share: float = SHARE,
    count: CountText,
    cost_of: PartCost | None = None,
) -> list[int]:
    """Give how many tokens each result of a step may take.

    All together take at most `share` of the budget. A result below its part leaves the rest to the others.
    """
    sizes = [result_tokens(result, count=count, cost_of=cost_of) for result in results]
    return fair_parts(sizes, int(budget_tokens * share))


def fair_parts(sizes: Sequence[int], room: int) -> list[int]:
    """Split `room`: nobody gets more than its size, and those who get less get the same, give or take 1."""
    parts = [0] * len(sizes)
    waiting = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, at in enumerate(waiting):
        parts[at] = min(sizes[at], max(0, room) // (len(sizes) - done))
        room -= parts[at]
    return parts


def result_tokens(result: ToolResult, *, count: CountText, cost_of: PartCost | None = None) -> int:
    """Give the tokens of the content of a result; without `cost_of`, parts that are no text count nothing."""
    if isinstance(result.content, str):
        return count(result.content)
    return sum(_texts_tokens(result.content, count)) + _others_cost(result.content, cost_of)


def shorten_result(
    result: ToolResult, *, share_tokens: int, count: CountText, cost_of: PartCost | None = None
) -> tuple[ToolResult, str | None]:
    """Give a result that takes at most `share_tokens`, and its whole text when that was cut, else None.

    Two thirds of what stays are the beginning of a text, one third is its end, with the host's marker between
    them. Of a result that consists of parts only the texts are cut, fairly; all other parts stay, whatever they
    cost, and what they cost by `cost_of` is not there for the texts.
    """
    if isinstance(result.content, str):
        text = shorten_text(result.content, tokens=share_tokens, count=count)
        return (result, None) if text == result.content else (replace(result, content=text), result.content)
    parts = _shortened_parts(result.content, share_tokens, count, cost_of)
    if parts == result.content:
        return result, None
    whole = "\n".join(part.text for part in result.content if isinstance(part, Text))
    return replace(result, content=parts), whole


def shorten_text(text: str, *, tokens: int, count: CountText) -> str:
    """Give `text` when it takes at most `tokens`, else its beginning and end around the host's marker.

    What comes back takes at most `tokens`; it is empty when not even the marker fits. Takes time linear in the
    text where `count` does: the whole is counted once, what stays about twice.
    """
    if count(text) <= tokens:
        return text
    room = tokens - count(MARKER)
    step = 1
    while room > 0:
        short = keep_spans(text, _ends(text, room, count))
        over = count(short) - tokens
        if over <= 0:
            return short
        room -= max(over, step)
        step *= 2
    return MARKER if count(MARKER) <= tokens else ""


def _shortened_parts(
    parts: tuple[ContentPart, ...], share_tokens: int, count: CountText, cost_of: PartCost | None
) -> tuple[ContentPart, ...]:
    room = share_tokens - _others_cost(parts, cost_of)
    rooms = iter(fair_parts(_texts_tokens(parts, count), room))
    return tuple(_shortened(part, next(rooms), count) if isinstance(part, Text) else part for part in parts)


def _shortened(part: Text, tokens: int, count: CountText) -> Text:
    text = shorten_text(part.text, tokens=tokens, count=count)
    return part if text == part.text else Text(text)


def _texts_tokens(parts: Sequence[ContentPart], count: CountText) -> list[int]:
    return [count(part.text) for part in parts if isinstance(part, Text)]


def _others_cost(parts: Sequence[ContentPart], cost_of: PartCost | None) -> int:
    if cost_of is None:
        return 0
    return sum(cost_of(part) for part in parts if not isinstance(part, Text))


def _ends(text: str, room: int, count: CountText) -> list[Span]:
    """Give the beginning and the end of a text that take about `room` tokens together."""
    head, used = _head(text, -(-2 * room // 3), count)
    tail = len(text) - _tail(text[head:], room - used, count)
    spans = [(0, _loose_end(text, head)), (_loose_start(text, tail), len(text))]
    return [(start, stop) for start, stop in spans if start < stop]


def _head(text: str, room: int, count: CountText) -> tuple[int, int]:
    """Give how many characters from the beginning fit, counted in blocks, and the tokens they take."""
    used = 0
    for at in range(0, len(text), _BLOCK):
        block = text[at : at + _BLOCK]
        cost = count(block)
        if used + cost > room:
            fits = _longest_start(block, room - used, count)
            return at + fits, used + count(block[:fits])
        used += cost
    return len(text), used


def _tail(text: str, room: int, count: CountText) -> int:
    """Give how many characters from the end fit, likewise."""
    for end in range(len(text), 0, -_BLOCK):
        block = text[max(0, end - _BLOCK) : end]
        cost = count(block)
        if cost > room:
            return len(text) - end + _longest_end(block, room, count)
        room -= cost
    return len(text)


def _longest_start(block: str, room: int, count: CountText) -> int:
    return _most(len(block), lambda size: count(block[:size]) <= room)


def _longest_end(block: str, room: int, count: CountText) -> int:
    return _most(len(block), lambda size: count(block[len(block) - size :]) <= room)


def _most(size: int, fits: Callable[[int], bool]) -> int:
    """Give a number under `size` that fits, found by halving; 0 always does."""
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _loose_end(text: str, end: int) -> int:
    """Give the place before `end` where no character is parted from the marks that belong to it."""
    places = range(end, max(0, end - _MOST_JOINED) - 1, -1)
    return next((at for at in places if not _joined(text, at)), end)


def _loose_start(text: str, start: int) -> int:
    """Give the place after `start`, likewise."""
    places = range(start, min(len(text), start + _MOST_JOINED) + 1)
    return next((at for at in places if not _joined(text, at)), start)


def _joined(text: str, at: int) -> bool:
    """Tell whether the characters before and after a place belong together."""
    if not 0 < at < len(text):
        return False
    after = text[at]
    if after.isascii():
        return False
    return (
        unicodedata.category(after).startswith("M")
        or after in _JOINERS
        or text[at - 1] in _JOINERS
        or "\udc00" <= after <= "\udfff"
        or "\N{EMOJI MODIFIER FITZPATRICK TYPE-1-2}" <= after <= "\N{EMOJI MODIFIER FITZPATRICK TYPE-6}"
    )
