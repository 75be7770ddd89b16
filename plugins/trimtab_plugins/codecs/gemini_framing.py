"""What messages cost on the Gemini wires.

Google publishes no counting rule, so every cost is marked `framing`. The constants are those of chat wires: 3
tokens and the role for each step or content, 3 for the request. Tools and response formats are counted as their
JSON text. A thought signature is no part of the prompt's text and costs nothing, but nobody outside can tell, so
a cost that holds one is marked `parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.part_costs import (
    FRAMING,
    MESSAGE,
    PARTS,
    PRIMING,
    PartCosts,
    format_tokens,
    raw_tokens,
)
from trimtab_plugins.codecs.reading import json_text
from trimtab_sdk import NOTHING, Cost, CountText, Message, Reasoning, Unknown

_SIGNATURES = frozenset({"signature", "thoughtSignature", "thought_signature"})


@dataclass(frozen=True, slots=True)
class GeminiFraming:
    """The cost rules for a wire on which a message becomes `pieces(message)` steps or contents."""

    pieces: Callable[[Message], int]
    model: str = ""

    def message_cost(self, message: Message, count: CountText) -> Cost:
        """Give the cost of one message in tokens; one that is not written costs nothing.

        Each text is counted once. Ids of calls cost nothing, nor do notices, approvals and compactions, which
        are never written.
        """
        tokens = self.pieces(message) * (MESSAGE + count(message.role))
        return _PART_COSTS.total(message.parts, self.model, count, tokens, FRAMING)

    def request_cost(
        self,
        *,
        tools: Sequence[object],
        response_format: Mapping[str, object] | None,
        count: CountText,
    ) -> Cost:
        """Give the priming of the answer, and the JSON text of tools and response format."""
        tokens = PRIMING + format_tokens(response_format, count) + sum(count(json_text(tool)) for tool in tools)
        return Cost(tokens, FRAMING)


def _reasoning_cost(reasoning: Reasoning, count: CountText) -> Cost:
    return Cost(count(reasoning.text) + reasoning.tokens, PARTS if reasoning.opaque else NOTHING)


def _unknown_cost(part: Unknown, _model: str, count: CountText) -> Cost:
    raw = part.raw
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if key not in _SIGNATURES}
    return Cost(raw_tokens(raw, count), PARTS)


_PART_COSTS = PartCosts(_reasoning_cost, _unknown_cost)
