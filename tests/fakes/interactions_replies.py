"""The parts of an answer that only the fake Interactions server knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes.chat_replies import Json, Special


class Hop(Special):
    """Where a long decode stops, to go on in another request."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "PAUSE"


PAUSE = Hop()


@dataclass(frozen=True, slots=True)
class Status(Special):
    """An `interaction.status_update`."""

    word: str


@dataclass(frozen=True, slots=True)
class Whole(Special):
    """A step as it is: its start, its deltas, and what stands in the store."""

    start: Json = field(hash=False)
    deltas: tuple[Json, ...] = field(hash=False)
    made: Json = field(hash=False)


@dataclass(frozen=True, slots=True)
class Delta(Special):
    """A delta in the step that is open."""

    delta: Json = field(hash=False)


def status(word: str) -> Status:
    """Make an update of the status."""
    return Status(word)


def step(start: Json, *deltas: Json) -> Whole:
    """Make any step; its deltas are sent as they are, and the store holds the start alone."""
    return Whole(start, deltas, start)


def hosted(made: Json) -> Whole:
    """Make a step of a hosted tool: its id is in the start, what it is comes whole in one delta."""
    start = {key: value for key, value in made.items() if key in ("type", "id", "call_id")}
    whole = {key: value for key, value in made.items() if key not in ("id", "call_id")}
    empty: Json = {"arguments": {}} if "arguments" in made else {"result": []} if "result" in made else {}
    return Whole({**start, **empty}, (whole,), made)


def delta(value: Json) -> Delta:
    """Make any delta in the open step, or in a new `model_output`. It is not stored."""
    return Delta(value)
