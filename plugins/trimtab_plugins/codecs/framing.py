"""What messages cost on the Chat Completions wire.

The rule is the counting recipe that OpenAI's cookbook publishes: 3 tokens for each message, its role, its
texts, and a name with one more token; 3 tokens for the request, which prime the answer. How a server renders
tool calls, tool schemas and response formats is not published, so a cost that holds one is marked `framing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_NAME = 1
_PRIMING = 3
_FRAMING: frozenset[Aspect] = frozenset({"framing"})
_IMAGES: frozenset[Aspect] = frozenset({"images"})
_PARTS: frozenset[Aspect] = frozenset({"parts"})


@dataclass(frozen=True, slots=True)
class ChatFraming:
    """The cost rules for the tokenizer profile `profile` and, for pictures, the model `model`."""

    profile: str
    model: str = ""

    def message_cost(self, message: Message, count: CountText) -> Cost:
        """Give the cost of one message in tokens.

        Every text is counted once. Ids of calls cost nothing, nor do notices, approvals and compactions, which
        are never written. Pictures, sounds and files have the prices of `media_prices`; a picture is marked
        `images` unless its price is exact.
        """
        tokens = _MESSAGE + count(message.role)
        if message.name is not None:
            tokens += count(message.name) + _NAME
        approximate = NOTHING
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
        """Give the priming of the answer, the tools by the recipe of `tool_costs`, the response format as JSON."""
        tokens = _PRIMING
        if tools:
            tokens += tools_cost(tools, self.profile, count)
        if response_format is not None:
            tokens += count(json_text(response_format))
        return Cost(tokens, _FRAMING if tools or response_format is not None else NOTHING)


def _part_cost(part: Part, model: str, count: CountText) -> Cost:
    if isinstance(part, Text):
        return Cost(count(part.text))
    if isinstance(part, ToolCall):
        return Cost(count(part.name) + count(part.arguments), _FRAMING)
    if isinstance(part, ToolResult):
        return _result_cost(part, model, count)
    if isinstance(part, Reasoning):
        return _reasoning_cost(part, count)
    if isinstance(part, Image):
        tokens, exact = priced_image(part, model)
        return Cost(tokens, NOTHING if exact else _IMAGES)
    if isinstance(part, Audio):
        return Cost(audio_price(part), _PARTS)
    if isinstance(part, File):
        return Cost(file_price(part) + count(part.name) + count(part.text), _PARTS)
    if isinstance(part, Unknown):
        return Cost(sum(IMAGE if is_base64(text) else count(text) for text in strings_in(part.raw)), _PARTS)
    return Cost(0)


def _result_cost(result: ToolResult, model: str, count: CountText) -> Cost:
    if isinstance(result.content, str):
        return Cost(count(result.content))
    costs = [_part_cost(part, model, count) for part in result.content]
    return Cost(sum(cost.tokens for cost in costs), NOTHING.union(*(cost.approximate for cost in costs)))


def _reasoning_cost(reasoning: Reasoning, count: CountText) -> Cost:
    tokens = count(reasoning.text)
    if reasoning.opaque and not reasoning.tokens:
        return Cost(tokens + opaque_price(reasoning.opaque), _PARTS)
    return Cost(tokens + reasoning.tokens)
