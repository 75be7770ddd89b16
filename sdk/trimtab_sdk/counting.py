"""What counts tokens: a tokenizer driver, and the framing of a codec.

A counter is a tokenizer times a framing. Which of the two is approximate is said apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from trimtab_sdk.messages import Message

CountText: TypeAlias = Callable[[str], int]
"""Gives the tokens of a text as the model sees plain text: nothing in it is a special token."""

Aspect: TypeAlias = Literal["framing", "images", "parts"]
NOTHING: frozenset[Aspect] = frozenset()


class Tokenizer(Protocol):
    """A driver of the group `trimtab.tokenizers`, named by its profile."""

    @property
    def profile(self) -> str:
        """The name of the vocabulary, as `o200k_base`."""
        ...

    @property
    def version(self) -> str:
        """What the counts depend on besides the profile; part of the key of every cached count."""
        ...

    @property
    def approximate(self) -> bool:
        """Whether counts may differ from the model's own."""
        ...

    def count(self, text: str) -> int:
        """Count a text that can be encoded in UTF-8: at least 0, at most its bytes.

        Must not use the network and must take time linear in the text, whatever the text is.
        Raises TokenizerUnavailableError when there is no vocabulary on this machine.
        """
        ...


class Cost(NamedTuple):
    """Tokens, and which aspects of the figure are no published rule: `framing`, `images`, `parts`."""

    tokens: int
    approximate: frozenset[Aspect] = NOTHING


class Framing(Protocol):
    """How a wire packs texts, and what that costs."""

    def message_cost(self, message: Message, count: CountText) -> Cost:
        """Give the cost of one message in the request, its framing included."""
        ...

    def request_cost(
        self,
        *,
        tools: Sequence[object],
        response_format: Mapping[str, object] | None,
        count: CountText,
    ) -> Cost:
        """Give what the request costs besides its messages: priming, tools, response format."""
        ...
