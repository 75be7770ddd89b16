"""Where a text may be cut: never inside what is seen as one character, best where a sentence or a line ends."""

from __future__ import annotations

import re
from unicodedata import category, combining

_LONGEST_STEP = 1000
_SHORTEST_STEP = 80
_BLANK_STEP = 80

_SENTENCE_OR_LINE = re.compile(
    r"""
    (?<![.!?…؟۔।॥]) [.!?…؟۔।॥]++ ["'”’»)\]*_]*+ (?=\s)
    | (?<![。！？｡]) [。！？｡]++ [」』”’）》]*+
    | (?=[\r\n\v\f\x85\u2028\u2029])
    """,
    re.VERBOSE,
)
_BLANK = re.compile(r"(?=\s)")
_EXTENDS = re.compile(
    "[\u200c\u200d\uff9e\uff9f\u1160-\u11ff\ud7b0-\ud7fb\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
_VIRAMA = 9
_HANGUL = re.compile("[\u1100-\u11ff\ua960-\ua97c\uac00-\ud7a3]")


def end_of_beginning(text: str, most: int, *, least: int) -> int | None:
    """Give where a beginning of `least` to `most` characters ends best; None when every place parts a character.

    That is behind the last sentence or line of the last third, else behind the last word of the last few
    dozen characters, else between two characters as people see them. At most the last 1,000 characters are
    looked at.
    """
    for pattern, step in ((_SENTENCE_OR_LINE, _step(most)), (_BLANK, _BLANK_STEP)):
        edges = _edges(pattern, text, max(least, most - step), most)
        if edges:
            return edges[-1]
    return next(
        (at for at in range(most, max(least, most - _LONGEST_STEP) - 1, -1) if not is_inside(text, at)), None
    )


def start_of_end(text: str, most: int, *, least: int) -> int | None:
    """Give where an end of `least` to `most` characters starts best: `end_of_beginning` from the other side."""
    first, last = len(text) - most, len(text) - least
    for pattern, step in ((_SENTENCE_OR_LINE, _step(most)), (_BLANK, _BLANK_STEP)):
        edges = _edges(pattern, text, first, min(last, first + step))
        if edges:
            return edges[0]
    return next((at for at in range(first, min(last, first + _LONGEST_STEP) + 1) if not is_inside(text, at)), None)


def is_inside(text: str, at: int) -> bool:
    """Tell whether a cut in front of `at` parts what is seen as one character.

    Letters and their marks, conjuncts, emoji sequences, flags, Korean syllables and the halves of a surrogate
    pair or of a line break stay together, after the rules of UAX #29 for extended grapheme clusters.
    """
    if not 0 < at < len(text):
        return False
    before, char = text[at - 1], text[at]
    if char.isascii():
        return before == "\u200d" or (before == "\r" and char == "\n")
    return (
        before == "\u200d"
        or _EXTENDS.match(char) is not None
        or category(char)[0] == "M"
        or (combining(before) == _VIRAMA and char.isalpha())
        or ("\u1100" <= before <= "\u115f" and _HANGUL.match(char) is not None)
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= char <= "\udfff")
        or (_is_flag_half(char) and _flag_halves_before(text, at) % 2 == 1)
    )


def _step(size: int) -> int:
    return min(max(_SHORTEST_STEP, size // 3), _LONGEST_STEP)


def _edges(pattern: re.Pattern[str], text: str, first: int, last: int) -> list[int]:
    if first > last:
        return []
    found = (match.end() for match in pattern.finditer(text, first, min(len(text), last + 1)))
    return [at for at in found if first <= at <= last and not is_inside(text, at)]


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _flag_halves_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag_half(text[start - 1]):
        start -= 1
    return at - start
