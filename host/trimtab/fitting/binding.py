"""What a fit asks of who knows on which prefix reasoning was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from trimtab_sdk.codec import Encoded
from trimtab_sdk.messages import Reasoning


class Binding(Protocol):
    """Knows the prefixes of reasoning that a server takes back behind the very same one only."""

    def knows(self, reasoning: Reasoning) -> bool:
        """Tell whether the prefix is known that a piece of reasoning was made on."""
        ...

    def stale(self, encoded: Encoded) -> Mapping[str, frozenset[int]]:
        """Tell which reasoning of a prompt stands behind another prefix than it was made on.

        The answer is its opaque value → which of the pieces with that value, counted from 0. What is stale
        belongs to no prefix: who leaves all of it out leaves no more that is stale.
        """
        ...
