"""A text as terms: what two texts share when they speak of the same thing."""

from __future__ import annotations

import re
from unicodedata import normalize

LONGEST_NORMALIZED = 64

_UNSPACED = (
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff66-\uff9f\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
# Vowel signs and accents are no letters to `\w`, yet without them Hindi, Thai or Hebrew words fall to pieces.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0963"
    "\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b4d"
    "\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0dca-\u0ddf"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
_WORD = re.compile(f"(?:[^\\W_]|[{_MARKS}])+")
_ASCII_WORD = re.compile("[a-z0-9]+")
_RUN = re.compile(f"([{_UNSPACED}]+)|[^{_UNSPACED}]+")
_CJK_CHAR = re.compile(f"[{_UNSPACED}]")


def is_cjk(char: str) -> bool:
    """Tell whether a character is Chinese, Japanese or Korean, where blanks do not tell words apart."""
    return _CJK_CHAR.match(char) is not None


def terms(text: str) -> list[str]:
    """Give the terms of a text in order, repeats included; takes time linear in the text.

    A term is a casefolded word of letters and digits. A run of Chinese, Japanese or Korean gives its
    characters and its pairs of neighbours, which finds words without a dictionary. Full-width and composed
    spellings are one with the plain ones, in words of up to `LONGEST_NORMALIZED` characters: composing takes
    quadratic time on a hostile run of accents.
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    found: list[str] = []
    for word in _WORD.findall(text):
        if word.isascii():
            found.append(word.lower())
        else:
            found += _terms_of_word(word)
    return found


def _terms_of_word(word: str) -> list[str]:
    plain = (normalize("NFKC", word) if len(word) <= LONGEST_NORMALIZED else word).casefold()
    found: list[str] = []
    for run in _RUN.finditer(plain):
        if run[1] is None:
            found.append(run[0])
        else:
            found += run[0]
            found += map("".join, zip(run[0], run[0][1:], strict=False))
    return found
