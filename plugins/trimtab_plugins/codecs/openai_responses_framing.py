"""What items cost on the Responses wire.

OpenAI publishes no formula for it. The constants of its chat recipe are used, 3 tokens for each message and its
role, so every cost is marked `framing`. What an item says besides texts is weighed by stated prices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.json_values import strings_in
from trimtab_plugins.codecs.media_prices import (
    IMAGE,
    audio_price,
    file_price,
    is_base64,
    opaque_price,
    priced_image,
)
from trimtab_plugins.codecs.reading import json_text
from trimtab_plugins.codecs.tool_costs import tools_cost
from trimtab_sdk import (
    NOTHING,
    Aspect,
    Audio,
    Compaction,
    Cost,
    CountText,
    File,
    Image,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

_MESSAGE = 3
_PRIMING = 3
_FRAMING: frozenset[Aspect] = frozenset({"framing"})
_IMAGES: frozenset[Aspect] = frozenset({"images"})
_PARTS: frozenset[Aspect] = frozenset({"parts"})
_HELD_IMAGES = frozenset({"input_image", "computer_screenshot"})


@dataclass(frozen=True, slots=True)
class ResponsesFraming:
    """The cost rules for a tokenizer profile and a model."""

    profile: str
    model: str = ""

    def message_cost(self, message: Message, count: CountText) -> Cost:
        """Give the cost of one item in tokens: every text is counted once, ids of calls cost nothing."""
        tokens = _MESSAGE + count(message.role)
        approximate = _FRAMING
        for part in message.parts:
            if isinstance(part, Text):
                tokens += count(part.text)
                continue
            for cost in self._part_costs(part, count):
                tokens += cost.tokens
                approximate |= cost.approximate
        return Cost(tokens, approximate)

    def request_cost(
        self,
        *,
        tools: Sequence[object],
        response_format: Mapping[str, object] | None,
        count: CountText,
    ) -> Cost:
        """Give the priming of the answer, the tools by the recipe of `tool_costs`, the text format as JSON."""
        tokens = _PRIMING
        if tools:
            tokens += tools_cost([_nested(tool) for tool in tools], self.profile, count)
        if response_format is not None:
            tokens += count(json_text(response_format))
        return Cost(tokens, _FRAMING)

    def _part_costs(self, part: Part, count: CountText) -> Iterator[Cost]:
        if isinstance(part, Text):
            yield Cost(count(part.text))
        elif isinstance(part, ToolCall):
            yield Cost(count(part.name) + count(part.arguments))
        elif isinstance(part, ToolResult):
            if isinstance(part.content, str):
                yield Cost(count(part.content))
            else:
                for inner in part.content:
                    yield from self._part_costs(inner, count)
        else:
            yield self._weigh(part, count)

    def _weigh(self, part: Part, count: CountText) -> Cost:
        """Weigh what is no text. Approvals and notices are never written and cost nothing."""
        if isinstance(part, Reasoning):
            return _reasoning_cost(part, count)
        if isinstance(part, Compaction):
            return Cost(opaque_price(part.opaque), _PARTS)
        if isinstance(part, Image):
            return self._image_cost(part)
        if isinstance(part, Audio):
            return Cost(audio_price(part), _PARTS)
        if isinstance(part, File):
            return Cost(file_price(part) + count(part.name) + count(part.text), _PARTS)
        return self._unknown_cost(part, count) if isinstance(part, Unknown) else Cost(0)

    def _image_cost(self, image: Image) -> Cost:
        tokens, exact = priced_image(image, self.model)
        return Cost(tokens, NOTHING if exact else _IMAGES)

    def _unknown_cost(self, part: Unknown, count: CountText) -> Cost:
        raw = part.raw
        if isinstance(raw, dict) and isinstance(raw.get("type"), str) and raw["type"] in _HELD_IMAGES:
            return self._image_cost(Image(detail=str(raw.get("detail") or "")))
        return Cost(sum(IMAGE if is_base64(text) else count(text) for text in strings_in(raw)), _PARTS)


def _reasoning_cost(reasoning: Reasoning, count: CountText) -> Cost:
    """Weigh reasoning: the provider's own count, else its text and a price for what is encrypted."""
    if reasoning.tokens:
        return Cost(reasoning.tokens)
    if reasoning.opaque:
        return Cost(count(reasoning.text) + opaque_price(reasoning.opaque), _PARTS)
    return Cost(count(reasoning.text))


def _nested(tool: object) -> object:
    """Give a function tool of this wire as the chat wire nests it, for that is what the recipe knows."""
    if not isinstance(tool, Mapping) or tool.get("type") != "function" or "function" in tool:
        return tool
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
