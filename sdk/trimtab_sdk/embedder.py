"""The contract of an embedder.

Drivers adapt the outside world and are trusted code: a host loads them only from itself and from
distributions its user named.
"""

from __future__ import annotations

from typing import Protocol


class Embedder(Protocol):
    """A driver of the group `trimtab.embedders`."""

    @property
    def name(self) -> str:
        """The model's name; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Give one finite vector for each text, in order."""
        ...
