"""What messages cost on the Gemini wires.

Google publishes no counting rule, so every cost is marked `framing`. The constants are those of chat wires: 3
tokens and the role for each step or content, 3 for the request. Tools and response formats are counted as their
JSON text. A thought signature is no part of the prompt's text and costs nothing, but nobody outside can tell, so
a cost that holds one is marked `parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.json_values import strings_in
from trimtab_plugins.codecs.media_prices import IMAGE, audio_price, file_price, is_base64, priced_image
from trimtab_plugins.codecs.reading import json_text
from trimtab_sdk import (
    NOTHING,
    Aspect,
    Audio,
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
_SIGNATURES = frozenset({"signature", "thoughtSignature", "thought_signature"})
_FRAMING: frozenset[Aspect] = frozenset({"framing"})
_IMAGES: frozenset[Aspect] = frozenset({"images"})
_PARTS: frozenset[Aspect] = frozenset({"parts"})


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
        tokens = self.pieces(message) * (_MESSAGE + count(message.role))
        approximate = _FRAMING
        for part in message.parts:
            if isinstance(part, Text):
                tokens += count(part.text)
                continue
            cost = _part_cost(part, self.model, count)
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
        """Give the priming of the answer, and the JSON text of tools and response format."""
        tokens = _PRIMING + sum(count(json_text(tool)) for tool in tools)
        if response_format is not None:
            tokens += count(json_text(response_format))
        return Cost(tokens, _FRAMING)


def _part_cost(part: Part, model: str, count: CountText) -> Cost:
    if isinstance(part, Text):
        return Cost(count(part.text))
    if isinstance(part, ToolCall):
        return Cost(count(part.name) + count(part.arguments))
    if isinstance(part, ToolResult):
        return _result_cost(part, model, count)
    if isinstance(part, Reasoning):
        return Cost(count(part.text) + part.tokens, _PARTS if part.opaque else NOTHING)
    if isinstance(part, Image):
        tokens, exact = priced_image(part, model)
        return Cost(tokens, NOTHING if exact else _IMAGES)
    if isinstance(part, Audio):
        return Cost(audio_price(part), _PARTS)
    if isinstance(part, File):
        return Cost(file_price(part) + count(part.name) + count(part.text), _PARTS)
    return Cost(_unknown_cost(part.raw, count), _PARTS) if isinstance(part, Unknown) else Cost(0)


def _result_cost(result: ToolResult, model: str, count: CountText) -> Cost:
    if isinstance(result.content, str):
        return Cost(count(result.content))
    costs = [_part_cost(part, model, count) for part in result.content]
    return Cost(sum(cost.tokens for cost in costs), NOTHING.union(*(cost.approximate for cost in costs)))


def _unknown_cost(raw: object, count: CountText) -> int:
    if isinstance(raw, dict):
        raw = {key: value for key, value in raw.items() if key not in _SIGNATURES}
    return sum(IMAGE if is_base64(text) else count(text) for text in strings_in(raw))
