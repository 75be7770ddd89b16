"""From messages that leave to the text that stands for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import fsum

from trimtab_sdk import Group, Message
from trimtab_strategies.extract import Extraction, Sentence
from trimtab_strategies.telling import Saying, sayings
from trimtab_strategies.weights import content_terms, emphasis

_ONE_SENTENCE = 24
_SENTENCES_PER_PAUSE = 64

MOST_READ = 20_000
"""Messages that a summary is made of; of more, an even spread is read, and the others are not covered."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A text, what it costs as an insert, in tokens, and the ids of the messages it stands for."""

    text: str
    tokens: int
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Means:
    """What a summary is made with.

    - `count` gives the tokens of a text, `cost` those of a whole summary with its label.
    - `pause` is called often, and may raise to end the work.
    """

    count: Callable[[str], int]
    cost: Callable[[str], int]
    pause: Callable[[], None]


def summarize(messages: Sequence[Message], groups: Sequence[Group], means: Means, *, most: int) -> Summary | None:
    """Give a summary of at most `most` tokens, label included.

    None when there is no room or nothing to say, also when it would say what one earlier summary says already.

    `messages` leave, in their order; `groups` are the ids that leave together. What earlier summaries say is kept
    word for word; when that fills the room, the best of what is new displaces a part of it, at most a quarter or
    one sentence. A message is covered when a sentence of it stands in the summary, or when the summary holds
    most of what its words weigh.
    """
    draft = _Draft(_thinned(messages), means)
    draft.choose(room=most - means.cost(""))
    text, tokens = draft.text_within(most)
    if not text or draft.is_told_already:
        return None
    return Summary(text, tokens, draft.covers(groups))


def _thinned(messages: Sequence[Message]) -> Sequence[Message]:
    """Give at most about 20,000 messages, spread evenly, and every earlier summary."""
    step = -(-len(messages) // MOST_READ)
    if step <= 1:
        return messages
    return [message for at, message in enumerate(messages) if at % step == 0 or message.source == "summary"]


class _Draft:
    """What the messages say, and which of it is picked."""

    def __init__(self, messages: Sequence[Message], means: Means) -> None:
        self._messages = messages
        self._means = means
        self._said: list[Saying] = []
        self._costs: dict[int, int] = {}
        sentences: list[Sentence] = []
        speakers: dict[str, frozenset[str]] = {}
        for saying in sayings(messages):
            if len(sentences) % _SENTENCES_PER_PAUSE == 0:
                means.pause()
            self._said.append(saying)
            own = content_terms(saying.text)
            speaker = speakers.get(saying.speaker)
            if speaker is None:
                speaker = speakers[saying.speaker] = content_terms(saying.speaker)
            factor = saying.factor * emphasis(saying.text, own)
            sentences.append(Sentence(saying.text, tuple(sorted(own | speaker)), saying.message, factor))
        self._sentences = sentences
        self._extraction = Extraction(sentences, cost=self._cost, pause=means.pause)

    def _cost(self, index: int) -> int:
        if index not in self._costs:
            self._costs[index] = self._means.count(f"\n{_spoken(self._said[index])}")
        return self._costs[index]

    def choose(self, *, room: int) -> None:
        """Pick within `room` tokens: what earlier summaries say, and then what is new."""
        earlier = [at for at, saying in enumerate(self._said) if saying.earlier]
        new = [at for at, saying in enumerate(self._said) if not saying.earlier]
        if earlier:
            self._retell(earlier, new, room=room)
        self._extraction.pick(new, room=room - self._extraction.spent)

    def _retell(self, earlier: Sequence[int], new: Sequence[int], *, room: int) -> None:
        """Keep what earlier summaries say. When that fills the room, the best of what is new gets a part."""
        extraction = self._extraction
        told = sum(map(self._cost, earlier))
        if new and told + _ONE_SENTENCE > room:
            claim = max(_ONE_SENTENCE, min(room, self._length(new) * told // self._length(earlier)) // 4)
            extraction.pick(self._worthy(new, earlier), room=min(claim, room), heeding=earlier)
        if told + extraction.spent > room:
            extraction.pick(earlier, room=room - extraction.spent)
            return
        for index in earlier:
            extraction.keep(index)

    def _length(self, indices: Iterable[int]) -> int:
        return sum(len(self._said[index].text) for index in indices)

    def _worthy(self, new: Sequence[int], earlier: Sequence[int]) -> list[int]:
        """Give what is new and worth at least half of what a line of the earlier summaries is on average."""
        value = self._extraction.value
        least = fsum(map(value, earlier)) / len(earlier) / 2
        return [index for index in new if value(index) >= least]

    def text_within(self, most: int) -> tuple[str, int]:
        """Give the text and what it costs, less the last picks if the whole costs more than its pieces."""
        while self._extraction.picked:
            text = self._text()
            tokens = self._means.cost(text)
            if tokens <= most:
                return text, tokens
            self._means.pause()
            self._undo(tokens - most)
        return "", 0

    def _undo(self, excess: int) -> None:
        goal = self._extraction.spent - excess
        while self._extraction.picked and self._extraction.spent > goal:
            self._extraction.undo()

    def _text(self) -> str:
        picked = [self._said[index] for index in sorted(self._extraction.picked)]
        lines = (list(line) for _, line in groupby(picked, key=lambda saying: (saying.message, saying.line)))
        spoken = (" ".join([_spoken(first), *(saying.text for saying in rest)]) for first, *rest in lines)
        return "\n".join(dict.fromkeys(spoken))

    @property
    def is_told_already(self) -> bool:
        """Whether the picks are one earlier summary and nothing else."""
        earlier = [at for at, saying in enumerate(self._said) if saying.earlier]
        one = len({self._said[at].message for at in earlier}) == 1
        return one and sorted(self._extraction.picked) == earlier

    def covers(self, groups: Sequence[Group]) -> tuple[str, ...]:
        """Give the ids of the messages the picks stand for. What says nothing goes with the rest of its group."""
        says: dict[int, dict[str, None]] = {}
        for sentence in self._sentences:
            says.setdefault(sentence.message, {}).update(dict.fromkeys(sentence.terms))
        quoted = {self._sentences[index].message for index in self._extraction.picked}
        silent = {message.id for at, message in enumerate(self._messages) if not says.get(at)}
        told = {
            self._messages[at].id
            for at, terms in says.items()
            if at in quoted or self._extraction.is_covered(terms)
        }
        for group in groups:
            if not told.isdisjoint(group.ids):
                told |= silent.intersection(group.ids)
        return tuple(message.id for message in self._messages if message.id in told)


def _spoken(saying: Saying) -> str:
    return f"{saying.speaker}: {saying.text}" if saying.speaker else saying.text
