"""How much texts have to do with a query, from 0 to 1: by words they share, and by meaning where that can be had.

Words are weighed as in Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009). A sum
s of such weights becomes s / (s + 1): one rare word, found once in a text of average length, weighs 1 and
makes 0.5.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log

from trimtab_sdk import Services
from trimtab_strategies.meaning import NoMeaningError, by_meaning
from trimtab_strategies.small_words import SMALL_WORDS
from trimtab_strategies.terms import is_cjk, terms
from trimtab_strategies.weights import content_terms

LEXICAL_SHARE = 0.5
"""What words weigh against meaning when all that the query says stands in some text."""
_SATURATION = 1.2
_LENGTH = 0.4
_UNSEEN_TEXTS = 10
_CHARACTER = 0.3
_PAIR = 0.5
_HIRAGANA_PAIR = 0.08
_KANA = re.compile("[\u3041-\u30ff\uff66-\uff9f]")
_HIRAGANA = re.compile("[\u3041-\u309f]+")


@dataclass(frozen=True, slots=True)
class Lexical:
    """Scores of texts by words, from 0 to 1, and the share of the query's weight that stands in any of them."""

    scores: list[float]
    matched: float


def measure(query: str, texts: Sequence[str], services: Services) -> tuple[list[float], list[str]]:
    """Score texts against a query, from 0 to 1, in time linear in the texts.

    Where the host can embed, meaning joins: words weigh as much as the words of the query are met, at most
    `LEXICAL_SHARE`, since a paraphrase shares none. A failing embedder is named in the notes that come back, and
    words stand alone then.
    """
    words = lexical(query_terms(query), texts)
    if not services.can("embed"):
        return words.scores, []
    try:
        meanings = by_meaning(query, texts, services)
    except NoMeaningError as error:
        return words.scores, [f"relevance is by words alone: {error}"]
    share = LEXICAL_SHARE * words.matched
    mixed = [share * word + (1 - share) * meaning for word, meaning in zip(words.scores, meanings, strict=True)]
    return mixed, []


def query_terms(query: str) -> frozenset[str]:
    """Give the terms of a query that say what it is about, single Chinese and Korean characters included."""
    return content_terms(query) | frozenset(term for term in terms(query) if _is_word_of_one(term))


def _is_word_of_one(term: str) -> bool:
    return len(term) == 1 and is_cjk(term) and not _KANA.match(term) and term not in SMALL_WORDS


def lexical(query: Collection[str], texts: Sequence[str]) -> Lexical:
    """Score texts against the terms of a query.

    Rarity is that in the texts, as if ten more without a match stood beside them: in a handful of texts a word
    that all of them hold still says something.
    """
    wanted = frozenset(query)
    documents = [terms(text) for text in texts]
    found = [Counter(term for term in document if term in wanted) for document in documents]
    weights = _weights(wanted, found)
    average = max(1.0, sum(map(len, documents)) / max(1, len(documents)))
    scores = [
        _score(counts, weights, length=len(document) / average)
        for counts, document in zip(found, documents, strict=True)
    ]
    whole = fsum(weights.values())
    matched = fsum(weights[term] for term in set().union(*found))
    return Lexical(scores, matched / whole if whole else 0.0)


def _weights(wanted: Collection[str], found: Sequence[Mapping[str, int]]) -> dict[str, float]:
    """Give term → weight: 1 for a word that one text holds, less for common words, characters and pairs."""
    holders = Counter(term for counts in found for term in counts)
    size = len(found) + _UNSEEN_TEXTS
    once = _rarity(1, size)
    return {term: _worth(term) * _rarity(holders[term], size) / once for term in wanted}


def _rarity(holders: int, size: int) -> float:
    return log(1 + (size - holders + 0.5) / (holders + 0.5))


def _worth(term: str) -> float:
    if not is_cjk(term[0]):
        return 1.0
    if len(term) == 1:
        return _CHARACTER
    return _HIRAGANA_PAIR if _HIRAGANA.fullmatch(term) else _PAIR


def _score(counts: Mapping[str, int], weights: Mapping[str, float], *, length: float) -> float:
    damping = _SATURATION * (1 - _LENGTH + _LENGTH * length)
    score = fsum(weights[term] * count * (_SATURATION + 1) / (count + damping) for term, count in counts.items())
    return score / (score + 1)
