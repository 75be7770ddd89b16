"""What the fake Interactions server remembers of its answers, and for how long."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import uuid4

from fakes.chat_plans import CREATED
from fakes.chat_replies import Json

Clock: TypeAlias = Callable[[], float]
DAY = 86_400.0
_ID = re.compile(r"v1_[A-Za-z0-9_-]{8,}")


class HandClock:
    """A clock that stands still until it is advanced; seconds since 1970."""

    def __init__(self, now: float = CREATED) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float = 0, *, days: float = 0) -> None:
        """Let time pass."""
        self.now += seconds + days * DAY


@dataclass(slots=True, kw_only=True)
class Interaction:
    """One answer: behind `before`, its whole context, the model made `steps`; `token` resumes a paused one.

    `status` becomes `outcome` when the answer has been sent.
    """

    id: str
    model: str
    created: float
    previous: str | None
    stored: bool
    before: list[Json]
    status: str = "in_progress"
    outcome: str = "completed"
    steps: list[Json] = field(default_factory=list)
    usage: Json = None
    token: str | None = None

    @property
    def chain(self) -> list[Json]:
        """Everything that naming it stands for."""
        return [*self.before, *self.steps]


class InteractionStore:
    """Interactions by id. Those of store=false are known by name only, to tell a client's mistake from a loss.

    With `chains_break` an interaction is lost with any that it was continued from.
    """

    def __init__(self, *, clock: Clock, retention: float, chains_break: bool) -> None:
        self._clock = clock
        self._retention = retention
        self._chains_break = chains_break
        self._kept: dict[str, Interaction] = {}
        self._unkept: set[str] = set()

    def now(self) -> float:
        """Tell the time."""
        return self._clock()

    def keep(self, interaction: Interaction) -> None:
        """Remember an answer, or only that it was not to be remembered."""
        if interaction.stored:
            self._kept[interaction.id] = interaction
        else:
            self._unkept.add(interaction.id)

    def find(self, interaction_id: str) -> Interaction | None:
        """Give what an id stands for; None when it is lost."""
        found = self._kept.get(interaction_id)
        if found is None or self._clock() - found.created > self._retention:
            return None
        if self._chains_break and found.previous is not None and self.find(found.previous) is None:
            return None
        return found

    def was_not_kept(self, interaction_id: str) -> bool:
        """Whether an id is one of store=false."""
        return interaction_id in self._unkept

    def forget(self, interaction_id: str) -> None:
        """Lose one. Raises KeyError when it is not there."""
        del self._kept[interaction_id]

    def forget_all(self) -> None:
        """Lose all."""
        self._kept.clear()

    def ids(self) -> Iterator[str]:
        """Give the ids that are still known, oldest first."""
        return (one for one in list(self._kept) if self.find(one) is not None)


def is_id(text: str) -> bool:
    """Whether a text looks like an id of an interaction at all."""
    return _ID.fullmatch(text) is not None


def new_id() -> str:
    """Make an id; no other server makes the same."""
    return f"v1_{uuid4().hex}"
