"""What messages and their parts cost on every wire.

The constants are those of the counting recipe that OpenAI's cookbook publishes for chat requests, and stand in
where a provider publishes none. What a wire weighs in a way of its own, its framing says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trimtab_plugins.codecs.content import result_parts
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
from trimtab_sdk import (
    NOTHING,
    Aspect,
    Audio,
    Compaction,
    Cost,
    CountText,
    File,
    Image,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)

MESSAGE = 3
"""What a message costs besides its role and its parts."""

PRIMING = 3
"""What a request costs besides everything else: the beginning of the answer."""

FRAMING: frozenset[Aspect] = frozenset({"framing"})
PARTS: frozenset[Aspect] = frozenset({"parts"})
_IMAGES: frozenset[Aspect] = frozenset({"images"})

Weigh: TypeAlias = Callable[[Unknown, str, CountText], Cost]
"""Gives the cost of an unknown part for a model."""


def format_tokens(response_format: Mapping[str, object] | None, count: CountText) -> int:
    """Give the tokens of a response format, counted as its JSON text; 0 without one."""
    return 0 if response_format is None else count(json_text(response_format))


def image_cost(image: Image, model: str) -> Cost:
    """Give the cost of a picture for a model, marked `images` unless it is exact."""
    tokens, exact = priced_image(image, model)
    return Cost(tokens, NOTHING if exact else _IMAGES)


def raw_tokens(raw: object, count: CountText) -> int:
    """Give the tokens of a JSON value: each of its texts is counted, and what looks like data is a picture."""
    return sum(IMAGE if is_base64(text) else count(text) for text in strings_in(raw))


def _raw_cost(part: Unknown, _model: str, count: CountText) -> Cost:
    return Cost(raw_tokens(part.raw, count), PARTS)


def _reasoning_cost(reasoning: Reasoning, count: CountText) -> Cost:
    tokens = count(reasoning.text)
    if reasoning.opaque and not reasoning.tokens:
        return Cost(tokens + opaque_price(reasoning.opaque), PARTS)
    return Cost(tokens + reasoning.tokens)


def _unwritten(_part: Compaction, _count: CountText) -> Cost:
    return Cost(0)


@dataclass(frozen=True, slots=True)
class PartCosts:
    """The cost rules for parts: common ones, and three kinds that each wire may weigh in its own way.

    Unless a wire says otherwise, reasoning costs its text and what its provider counted, or a price for what is
    encrypted; an unknown part costs its texts; and a compaction is not written.
    """

    reasoning: Callable[[Reasoning, CountText], Cost] = _reasoning_cost
    unknown: Weigh = _raw_cost
    compaction: Callable[[Compaction, CountText], Cost] = _unwritten

    def total(
        self,
        parts: Sequence[Part],
        model: str,
        count: CountText,
        tokens: int = 0,
        approximate: frozenset[Aspect] = NOTHING,
    ) -> Cost:
        """Give the cost of parts for a model, added to `tokens` and their marks to `approximate`.

        Every text is counted once. A call costs its name and its arguments, and is marked `framing`; ids of
        calls cost nothing, nor do notices and approvals, which are never written. Pictures, sounds and files
        have the prices of `media_prices`.
        """
        for part in parts:
            if isinstance(part, Text):
                tokens += count(part.text)
                continue
            cost = self._cost(part, model, count)
            tokens += cost.tokens
            approximate |= cost.approximate
        return Cost(tokens, approximate)

    def _cost(self, part: Part, model: str, count: CountText) -> Cost:
        if isinstance(part, ToolCall):
            return Cost(count(part.name) + count(part.arguments), FRAMING)
        if isinstance(part, ToolResult):
            return self.total(result_parts(part), model, count)
        if isinstance(part, Reasoning):
            return self.reasoning(part, count)
        if isinstance(part, Compaction):
            return self.compaction(part, count)
        if isinstance(part, Unknown):
            return self.unknown(part, model, count)
        return _media_cost(part, model, count)


def _media_cost(part: Part, model: str, count: CountText) -> Cost:
    if isinstance(part, Image):
        return image_cost(part, model)
    if isinstance(part, Audio):
        return Cost(audio_price(part), PARTS)
    if isinstance(part, File):
        return Cost(file_price(part) + count(part.name) + count(part.text), PARTS)
    return Cost(0)
