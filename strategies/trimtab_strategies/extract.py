"""Picking the sentences that tell most about a long conversation in little room.

Segmented maximal marginal relevance: the conversation is cut into stretches of equal length, each gets an equal
share of the room, and inside a stretch the sentence goes first that says most of what the stretch is about and
least of what was told already. What a stretch leaves over goes to the next ones, and in the end to the best
sentences of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from trimtab_strategies.weights import centre, rarity

QUOTA = 20
"""Tokens of room for which there is one stretch at most: about one sentence."""
RELEVANCE = 0.7
"""The share of relevance in a score; the rest is how much of the sentence is new."""
NEAR_DUPLICATE = 0.8
"""A sentence is left out when this share of its weight was told already."""
COVERED = 0.5
"""A text counts as covered when this share of its weight was told."""
_SHORTEST_STRETCH = 256
_SMALLEST_SENTENCE = 8
_MISFITS = 4
_FILL_MISFITS = 40
_DAMPING = 0.6
_NO_SCORE = float("-inf")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A candidate: its text, the terms of its subject, the number of its message, and a factor of its score.

    The terms are sorted, so that sums over them come out alike in every process.
    """

    text: str
    terms: tuple[str, ...]
    message: int
    factor: float = 1.0


class Extraction:
    """Picks sentences of one conversation, and knows what they tell together.

    `sentences` stand in the order of the conversation. `cost` gives the tokens of one by its index. `pause` is
    called now and then, and may raise to end the work.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        *,
        cost: Callable[[int], int],
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        self._sentences = sentences
        self._cost = cost
        self._pause = pause
        self._rare = rarity(_terms_by_message(sentences))
        self._squares = {term: weight**2 for term, weight in self._rare.items()}
        self._told: set[str] = set()
        self.picked: dict[int, int] = {}

    @property
    def spent(self) -> int:
        """The tokens of all that is picked."""
        return sum(self.picked.values())

    def undo(self) -> None:
        """Take back the pick that came last."""
        self.picked.popitem()
        self._told = set(self._terms_of(self.picked))

    def keep(self, index: int) -> None:
        """Pick one sentence, whatever it is worth."""
        self.picked[index] = self._cost(index)
        self._told.update(self._sentences[index].terms)

    def is_covered(self, terms: Collection[str]) -> bool:
        """Tell whether most of what these terms weigh was told; False for nothing at all."""
        return bool(terms) and self._share_told(terms) >= COVERED

    def value(self, index: int) -> float:
        """Give what a sentence is worth anywhere in the conversation, 0 for one without a subject."""
        return self._value(index, self._squares)

    def _value(self, index: int, weight: Mapping[str, float]) -> float:
        sentence = self._sentences[index]
        mass = sum(weight[term] for term in sentence.terms)
        return sentence.factor * mass / math.pow(max(1, len(sentence.terms)), _DAMPING)

    def _terms_of(self, indices: Iterable[int]) -> Iterator[str]:
        return (term for index in indices for term in self._sentences[index].terms)

    def pick(self, indices: Sequence[int], *, room: int, heeding: Iterable[int] = ()) -> None:
        """Pick among some sentences, in `room` tokens besides what is picked already.

        Nothing is picked that is like the sentences `heeding`, as if they were told too.
        """
        self._told.update(self._terms_of(heeding))
        self._pick(indices, room=room)
        self._told = set(self._terms_of(self.picked))

    def _pick(self, indices: Sequence[int], *, room: int) -> None:
        limit = self.spent + room
        worth: dict[int, float] = {}
        stretches = list(self._stretches(indices, most=max(1, room // QUOTA)))
        for number, stretch in enumerate(stretches, 1):
            self._pause()
            worth |= self._worth(stretch)
            self._pick_in(stretch, worth, allowed=limit - room + room * number // len(stretches), limit=limit)
        self._fill(worth, limit=limit)

    def _stretches(self, indices: Sequence[int], *, most: int) -> Iterator[list[int]]:
        """Cut at multiples of a length that only doubles, so that the cuts stay where they are as a talk grows."""
        total = sum(len(self._sentences[index].text) for index in indices)
        length = _SHORTEST_STRETCH
        while length * most < total:
            length *= 2
        places: list[tuple[int, int]] = []
        passed = 0
        for index in indices:
            places.append((passed // length, index))
            passed += len(self._sentences[index].text)
        for _, stretch in groupby(places, key=lambda place: place[0]):
            yield [index for _, index in stretch]

    def _worth(self, stretch: Sequence[int]) -> dict[int, float]:
        """Give index → relevance to its stretch times its factor, from 0 to 1 for the best."""
        weight = centre([self._sentences[index].terms for index in stretch], self._rare)
        worth = {index: self._value(index, weight) for index in stretch if self._sentences[index].terms}
        best = max(worth.values(), default=1.0)
        return {index: value / best for index, value in worth.items()}

    def _pick_in(self, stretch: Sequence[int], worth: Mapping[int, float], *, allowed: int, limit: int) -> None:
        free = [index for index in stretch if index in worth and index not in self.picked]
        spent = self.spent
        while free and spent < allowed:
            taken = self._take_best(free, worth, most=min(2 * (allowed - spent), limit - spent))
            if taken is None:
                return
            free.remove(taken)
            spent += self.picked[taken]

    def _take_best(self, free: Sequence[int], worth: Mapping[int, float], *, most: int) -> int | None:
        """Pick the best of at most `most` tokens; None when the first few do not fit or tell nothing new."""
        scores = {index: self._score(index, worth[index]) for index in free}
        ranked = sorted((index for index in free if scores[index] > _NO_SCORE), key=lambda index: -scores[index])
        for index in ranked[:_MISFITS]:
            if self._cost(index) <= most:
                self.keep(index)
                return index
        return None

    def _score(self, index: int, worth: float) -> float:
        told = self._share_told(self._sentences[index].terms)
        return _NO_SCORE if told >= NEAR_DUPLICATE else RELEVANCE * worth - (1 - RELEVANCE) * told

    def _share_told(self, terms: Collection[str]) -> float:
        whole = sum(self._rare[term] for term in terms)
        return sum(self._rare[term] for term in terms if term in self._told) / whole

    def _fill(self, worth: Mapping[int, float], *, limit: int) -> None:
        """Give the room that is left to the best of all that is new."""
        misfits = 0
        left = limit - self.spent
        for index in sorted(worth, key=lambda index: -worth[index]):
            if left < _SMALLEST_SENTENCE or misfits == _FILL_MISFITS:
                return
            if index in self.picked or self._share_told(self._sentences[index].terms) >= NEAR_DUPLICATE:
                continue
            if self._cost(index) <= left:
                self.keep(index)
                left -= self.picked[index]
            else:
                misfits += 1


def _terms_by_message(sentences: Sequence[Sentence]) -> Iterator[set[str]]:
    for _, group in groupby(sentences, key=lambda sentence: sentence.message):
        yield set().union(*(sentence.terms for sentence in group))
