"""What items cost on the Responses wire.

OpenAI publishes no formula for it. The constants of its chat recipe are used, 3 tokens for each message and its
role, so every cost is marked `framing`. What an item says besides texts is weighed by stated prices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.media_prices import opaque_price
from trimtab_plugins.codecs.part_costs import (
    FRAMING,
    MESSAGE,
    PARTS,
    PRIMING,
    PartCosts,
    format_tokens,
    image_cost,
    raw_tokens,
)
from trimtab_plugins.codecs.tool_costs import tools_cost
from trimtab_sdk import Compaction, Cost, CountText, Image, Message, Reasoning, Unknown

_HELD_IMAGES = frozenset({"input_image", "computer_screenshot"})


@dataclass(frozen=True, slots=True)
class ResponsesFraming:
    """The cost rules for a tokenizer profile and a model."""

    profile: str
    model: str = ""

    def message_cost(self, message: Message, count: CountText) -> Cost:
        """Give the cost of one item in tokens: every text is counted once, ids of calls cost nothing."""
        tokens = MESSAGE + count(message.role)
        return _PART_COSTS.total(message.parts, self.model, count, tokens, FRAMING)

    def request_cost(
        self,
        *,
        tools: Sequence[object],
        response_format: Mapping[str, object] | None,
        count: CountText,
    ) -> Cost:
        """Give the priming of the answer, the tools by the recipe of `tool_costs`, the text format as JSON."""
        tokens = PRIMING + format_tokens(response_format, count)
        if tools:
            tokens += tools_cost([_nested(tool) for tool in tools], self.profile, count)
        return Cost(tokens, FRAMING)


def _reasoning_cost(reasoning: Reasoning, count: CountText) -> Cost:
    """Weigh reasoning: the provider's own count, else its text and a price for what is encrypted."""
    if reasoning.tokens:
        return Cost(reasoning.tokens)
    if reasoning.opaque:
        return Cost(count(reasoning.text) + opaque_price(reasoning.opaque), PARTS)
    return Cost(count(reasoning.text))


def _compaction_cost(compaction: Compaction, _count: CountText) -> Cost:
    return Cost(opaque_price(compaction.opaque), PARTS)


def _unknown_cost(part: Unknown, model: str, count: CountText) -> Cost:
    raw = part.raw
    if isinstance(raw, dict) and isinstance(raw.get("type"), str) and raw["type"] in _HELD_IMAGES:
        return image_cost(Image(detail=str(raw.get("detail") or "")), model)
    return Cost(raw_tokens(raw, count), PARTS)


_PART_COSTS = PartCosts(_reasoning_cost, _unknown_cost, _compaction_cost)


def _nested(tool: object) -> object:
    """Give a function tool of this wire as the chat wire nests it, for that is what the recipe knows."""
    if not isinstance(tool, Mapping) or tool.get("type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
