"""What a word and a sentence weigh: term frequency times inverse document frequency."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import log

from trimtab_strategies.small_words import SMALL_WORDS
from trimtab_strategies.terms import is_cjk, terms

_FEWEST = 4
_NAME = re.compile(r"(?<=[\w,;:] )[A-ZÀ-ÖØ-ÞŁŚŠŻŽČА-ЯЁЄІЇΑ-Ω][^\W\d_]+|[「《“„«][^」》”“»]{2,40}[」》”»]")
_NUMBER = re.compile(r"\d")


def content_terms(text: str) -> frozenset[str]:
    """Give the terms of `text` that carry its subject: no grammar, no greetings, no single letters."""
    return frozenset(term for term in terms(text) if len(term) > 1 and not _is_small(term))


def _is_small(term: str) -> bool:
    return term in SMALL_WORDS or (len(term) == 2 and term[0] in SMALL_WORDS and term[1] in SMALL_WORDS)


def rarity(documents: Iterable[Collection[str]]) -> dict[str, float]:
    """Give term → log((1 + N) / df) for N documents, df of which hold the term; always more than 0."""
    found: Counter[str] = Counter()
    size = 0
    for document in documents:
        size += 1
        found.update(set(document))
    return {term: log((1 + size) / count) for term, count in found.items()}


def centre(sentences: Iterable[Collection[str]], rare: Mapping[str, float]) -> dict[str, float]:
    """Give term → what it adds to the likeness of a sentence and a stretch of sentences.

    That is the scalar product of the two as tf-idf vectors, (1 + log tf) · idf · idf: with idf taken once,
    small talk that comes again and again would count as the subject.
    """
    found: Counter[str] = Counter()
    for sentence in sentences:
        found.update(sentence)
    return {term: (1 + log(count)) * rare[term] ** 2 for term, count in found.items()}


def emphasis(text: str, content: Collection[str]) -> float:
    """Give the factor of a sentence: under 1 for fewer than four words of content, over 1 for names and numbers.

    A pair of Chinese or Japanese characters is half a word, since `terms` gives every pair of neighbours.
    """
    words = sum(0.5 if is_cjk(term[0]) else 1.0 for term in content)
    factor = 1.0 if words >= _FEWEST else 0.3 + 0.1 * words
    if _NUMBER.search(text):
        factor *= 1.15
    if _NAME.search(text):
        factor *= 1.15
    return factor
