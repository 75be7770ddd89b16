"""What a plugin is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trimtab_sdk.groups import Group
from trimtab_sdk.messages import Message


@dataclass(frozen=True, slots=True)
class Request:
    """A conversation and the room it has. All figures are tokens.

    - `messages`: a copy made for this call, in order; changing it changes nothing.
    - `groups`: which messages leave together, with the cost of each group.
    - `tokens`: id → cost of the message.
    - `protected`: ids that must stay; whole groups.
    - `budget`: what the request may cost. `total` is what it costs now, `overhead` (framing, tools) included.
    - `target`: what a strategy should bring the total down to once it is over the budget; at most the budget.
    - `query`: the text of the current input.
    - `settings`: the caller's settings for this plugin, checked against `Traits.settings_schema`.
    - `cost_of_insert(text)`: what an insert of this plugin would cost, its label and framing included.
    """

    messages: Sequence[Message]
    groups: Sequence[Group]
    tokens: Mapping[str, int]
    protected: frozenset[str]
    budget: int
    total: int
    overhead: int
    target: int
    cost_of_insert: Callable[[str], int]
    query: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)


class Services(Protocol):
    """What the host does for a plugin. A confined plugin has nothing else: no network, no files."""

    @property
    def deadline(self) -> float:
        """The moment the answer is due, on the clock of `time.monotonic()` (seconds)."""
        ...

    def can(self, name: str) -> bool:
        """Tell whether the host offers a service here: `count`, `embed` or `complete`."""
        ...

    def count(self, text: str) -> int:
        """Count `text` in tokens with the counter of the request. No framing is added."""
        ...

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Give one vector for each text. Raises ServiceUnavailableError when `can("embed")` is False."""
        ...


@dataclass(frozen=True, slots=True)
class Traits:
    """What a plugin says about itself.

    - `settings_schema`: a JSON schema for its settings; None means it takes none.
    - `per_turn`: the strategy wants to be called under budget too.
    - `needs`: services it cannot work without.
    """

    settings_schema: Mapping[str, object] | None = None
    per_turn: bool = False
    needs: tuple[str, ...] = ()
