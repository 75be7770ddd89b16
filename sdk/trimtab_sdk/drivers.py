"""The contracts of the other drivers: providers and embedders.

Drivers adapt the outside world and are trusted code: a host loads them only from itself and from
distributions its user named.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

ContinuationMode: TypeAlias = Literal["responses", "interactions", "stateless-loop"]


class Provider(Protocol):
    """A driver of the group `trimtab.providers`: which codec a provider speaks and how it carries on."""

    @property
    def name(self) -> str:
        """The provider's name, as `openai`."""
        ...

    @property
    def codec(self) -> str:
        """The name of the codec its requests are written in."""
        ...

    @property
    def mode(self) -> ContinuationMode:
        """How a conversation is carried from one turn to the next."""
        ...


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
