"""What a message of any format says, read straight off the raw JSON and apart from the codecs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from case_files import Json

Atom: TypeAlias = tuple[str, ...]
"""One thing a message says, written the same way in every format: a text, a call, a result, some data."""


@dataclass(frozen=True)
class Call:
    """A tool call: its id, its name, and its arguments as the text that is counted."""

    id: str
    name: str
    arguments: str

    @property
    def atom(self) -> Atom:
        return ("call", self.name, canonical(self.arguments))


@dataclass(frozen=True)
class View:
    """A message as the checks see it.

    - `texts` are what is counted besides role, name and calls; `words` those of them that are no thinking.
    - `answers` are the ids of the calls that it holds results of.
    - `asks` are approvals asked for, each with its call; `approves` the ids of those that it answers.
    - `data` are pictures, documents and sounds, as base64 or address.
    - `other` says that it holds something else besides words, calls, results, data and thinking.
    - `is_priced` says that everything in it has a published price.
    """

    role: str
    texts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    answers: tuple[str, ...] = ()
    asks: tuple[tuple[str, str], ...] = ()
    approves: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    name: str = ""
    thinks: bool = False
    other: bool = False
    is_priced: bool = True

    @property
    def says_nothing(self) -> bool:
        """Whether nothing is in it but blanks and, perhaps, thinking. An empty result says something."""
        says = (self.calls, self.answers, self.data, self.other, any(word.strip() for word in self.words))
        return not any(says)

    @property
    def only_thinks(self) -> bool:
        return self.role == "assistant" and self.thinks and self.says_nothing

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """What has to arrive when the message is brought into another format."""
        words = tuple(("text", word) for word in self.words if word.strip())
        results = (("result",),) * len(self.answers)
        return (*words, *(call.atom for call in self.calls), *results, *(("data", one) for one in self.data))


def compact(value: Json) -> str:
    """Write a value as the JSON text that is counted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def canonical(arguments: str) -> str:
    """Write arguments so that two texts of one value are equal; broken ones stay as they are."""
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return arguments


def strings_in(value: Json) -> list[str]:
    """Give every text inside a JSON value, keys aside."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in strings_in(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings_in(item)]
    return []
