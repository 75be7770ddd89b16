"""Splitting a text of any language into sentences, without a model and in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trimtab_strategies.edges import is_inside

LONGEST = 300
"""A sentence of more characters is cut into pieces: a log line, a table or base64 has no full stop."""

_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_END = re.compile(
    r"""
    (?<![.!?…؟۔।॥]) [.!?…؟۔।॥]++ ["'”’»)\]*_]*+ (?=\s)
    | (?<![。！？｡]) [。！？｡]++ [」』”’）》]*+
    | [\r\n\v\f\x85\u2028\u2029]++
    """,
    re.VERBOSE,
)
_LONGEST_CLUSTER = 32


def visible(text: str) -> str:
    """Give `text` without control characters, half surrogates and marks that hide or turn text around.

    Line breaks and tabs stay, and so do the joiners that emoji and some scripts are written with.
    """
    return _HIDDEN.sub("", text)


def split_sentences(text: str) -> list[str]:
    """Give the sentences of `text` in order, each on one line with single blanks.

    A sentence ends at a stop, at a question or exclamation mark (also full-width, Arabic and Indic ones) or at a
    line break. What holds no letter and no digit is left out; what is longer than 300 characters comes in pieces.
    """
    text = visible(text)
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        found += _pieces(text[start : end.end()])
        start = end.end()
    found += _pieces(text[start:])
    return found


def _pieces(text: str) -> Iterator[str]:
    sentence = " ".join(text.split())
    if not any(map(str.isalnum, sentence)):
        return
    start = 0
    while len(sentence) - start > LONGEST:
        end = _edge(sentence, start)
        yield sentence[start:end].strip()
        start = end
    yield sentence[start:].strip()


def _edge(sentence: str, start: int) -> int:
    """Give where a piece ends: at a blank in its second half, else between two whole characters."""
    blank = sentence.rfind(" ", start + LONGEST // 2, start + LONGEST + 1)
    if blank > 0:
        return blank
    end = start + LONGEST
    while end < min(len(sentence), start + LONGEST + _LONGEST_CLUSTER) and is_inside(sentence, end):
        end += 1
    return end
