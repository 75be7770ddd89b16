"""Cases of several turns: one conversation, something done to it, and a fit after each step.

A step is an object whose keys say what is done, in their order: `append` (how many of the case's `append`),
`pin`, `unpin`, `exclude`, `include`, `remove` (names) and `edit` (name → the new message). Its `expect` holds
more fields for the fit that follows. A step may also be one of the sentences in `_SENTENCES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from case_files import Json, Key, copy_of
from case_run import Run, attempt
from case_setup import Setup, converse

Step: TypeAlias = Mapping[str, Json]

_FIRST = re.compile(r"turn 1: fit \w+\.\.\w+")
_NEXT = re.compile(r"turns (\d+) to (\d+): append the next two of .*fit again, with the carried edit")
_EACH = re.compile(r"turn k \(1 to (\d+)\): fit \w+\.\.\w+ and t0\.\.t\(2k-2\), .* is the answer")

_SENTENCES: Mapping[re.Pattern[str], Callable[[re.Match[str]], list[Step]]] = {
    _FIRST: lambda found: [{}],
    _NEXT: lambda found: [{"append": 2}] * (int(found[2]) - int(found[1]) + 1),
    _EACH: lambda found: [{"append": 1}, *[{"append": 2}] * (int(found[1]) - 1)],
}
"""A step in words → the steps it stands for."""


def steps_of(listed: Sequence[Json]) -> list[Step]:
    """Give the steps that a list of objects and sentences stands for. Raises ValueError for another sentence."""
    return [step for one in listed for step in ([one] if isinstance(one, Mapping) else _in_words(one))]


def _in_words(sentence: str) -> list[Step]:
    for pattern, make in _SENTENCES.items():
        found = pattern.fullmatch(sentence)
        if found:
            return make(found)
    raise ValueError(f"no step: {sentence!r}")


def run_steps(setup: Setup, label: str, expect: Mapping[str, Json], steps: Sequence[Json]) -> Iterator[Run]:
    """Run a conversation, a fit after each step."""
    talk = _Talk(setup)
    for turn, step in enumerate(steps_of(steps), 1):
        talk.take(step)
        wanted = {**expect, **step.get("expect", {})}
        yield attempt(talk.setup, f"{label} turn {turn}", wanted, talk.chat.fit, turn=turn)


class _Talk:
    """A conversation, and beside it the setup of a fit of the same messages."""

    def __init__(self, setup: Setup) -> None:
        self.setup = replace(setup, messages=copy_of(setup.messages), head=copy_of(setup.head))
        self.chat = converse(self.setup)
        self._waiting = copy_of(setup.case.append)

    def take(self, step: Step) -> None:
        """Do what a step says."""
        does: dict[str, Callable[[Json], None]] = {
            "append": self._append,
            "edit": self._edit,
            "remove": self._remove,
            "pin": self._pin,
            "unpin": self._unpin,
            "exclude": self._exclude,
            "include": self._include,
        }
        for key, value in step.items():
            if key != "expect":
                does[key](value)

    def _append(self, count: int) -> None:
        new, self._waiting = self._waiting[:count], self._waiting[count:]
        assert len(new) == count, f"{self.setup.case.file}: there is nothing left to append"
        self.chat.append(*new)
        self.setup = replace(self.setup, messages=[*self.setup.messages, *new])

    def _edit(self, edits: Mapping[str, Json]) -> None:
        messages = list(self.setup.messages)
        for name, message in edits.items():
            key = self.setup.case.key(name)
            self.chat.edit(key, copy_of(message))
            messages[self.setup.place_of(key)] = copy_of(message)
        self.setup = replace(self.setup, messages=messages)

    def _remove(self, names: Sequence[Json]) -> None:
        for key in map(self.setup.case.key, names):
            place = self.setup.place_of(key)
            self.chat.remove(key)
            rest = [message for at, message in enumerate(self.setup.messages) if at != place]
            self.setup = replace(self.setup, messages=rest)

    def _pin(self, names: Sequence[Json]) -> None:
        keys = self._keys(names)
        self.chat.pin(*keys)
        self.setup = replace(self.setup, pins=(*self.setup.pins, *keys))

    def _unpin(self, names: Sequence[Json]) -> None:
        keys = self._keys(names)
        self.chat.unpin(*keys)
        self.setup = replace(self.setup, pins=tuple(key for key in self.setup.pins if key not in keys))

    def _exclude(self, names: Sequence[Json]) -> None:
        keys = self._keys(names)
        self.chat.exclude(*keys)
        self.setup = replace(self.setup, excluded=(*self.setup.excluded, *keys))

    def _include(self, names: Sequence[Json]) -> None:
        keys = self._keys(names)
        self.chat.include(*keys)
        self.setup = replace(self.setup, excluded=tuple(key for key in self.setup.excluded if key not in keys))

    def _keys(self, names: Sequence[Json]) -> tuple[Key, ...]:
        return tuple(map(self.setup.case.key, names))
