"""What messages cost on the Anthropic wire.

The server renders messages in a way that is not published, so every cost is marked `framing`: 3 tokens and the
role for each message, its texts, and 3 tokens for the request, the rule that is published for chat requests.
Tools are counted as their JSON text, and once the hidden prompt that tool use adds (346 tokens by the
provider's documentation of its fourth generation of models). Of thinking that is written out, the text counts
and the signature is free; what is there as an encrypted text alone costs a token for each 4 characters begun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.anthropic_messages_kept import compaction_block
from trimtab_plugins.codecs.media_prices import IMAGE, file_price, is_base64, opaque_price
from trimtab_plugins.codecs.part_costs import FRAMING, MESSAGE, PARTS, PRIMING, PartCosts, format_tokens
from trimtab_plugins.codecs.reading import json_text
from trimtab_sdk import Compaction, Cost, CountText, File, Message, Reasoning, Unknown

_TOOL_USE_PROMPT = 346
_WIRE_ROLES = {"tool": "user", "developer": "system"}
_ENCRYPTED = frozenset({"encrypted_content", "encrypted_index", "encrypted_stdout", "signature"})


@dataclass(frozen=True, slots=True)
class AnthropicFraming:
    """The cost rules for a tokenizer profile and a model, empty when it is not known."""

    profile: str
    model: str = ""

    def message_cost(self, message: Message, count: CountText) -> Cost:
        """Give the cost of one message in tokens.

        Every text is counted once. Ids of calls cost nothing, nor does what is never written: names, notices
        and approvals. Pictures, sounds and files have the prices of `media_prices`; a picture is
        marked `images` unless its price is exact.
        """
        tokens = MESSAGE + count(_WIRE_ROLES.get(message.role, message.role))
        return _PART_COSTS.total(message.parts, self.model, count, tokens, FRAMING)

    def request_cost(
        self,
        *,
        tools: Sequence[object],
        response_format: Mapping[str, object] | None,
        count: CountText,
    ) -> Cost:
        """Give the priming of the answer, the tools with their hidden prompt, the response format as JSON."""
        tokens = PRIMING + format_tokens(response_format, count)
        if tools:
            tokens += _TOOL_USE_PROMPT + sum(count(json_text(tool)) for tool in tools)
        return Cost(tokens, FRAMING)


def _reasoning_cost(reasoning: Reasoning, count: CountText) -> Cost:
    if reasoning.text:
        return Cost(count(reasoning.text))
    return Cost(reasoning.tokens or opaque_price(reasoning.opaque), PARTS)


def _unknown_cost(part: Unknown, _model: str, count: CountText) -> Cost:
    return Cost(_raw_tokens(part.raw, count), PARTS)


def _compaction_cost(part: Compaction, count: CountText) -> Cost:
    block = compaction_block(part)
    return Cost(0) if block is None else Cost(_raw_tokens(block, count), PARTS)


def _raw_tokens(raw: object, count: CountText) -> int:
    """Give the tokens of a block that is no part of its own: its texts, its data by their prices."""
    if isinstance(raw, str):
        return IMAGE if is_base64(raw) else count(raw)
    if isinstance(raw, list):
        return sum(_raw_tokens(item, count) for item in raw)
    if not isinstance(raw, dict):
        return 0
    source = raw.get("source")
    if raw.get("type") == "document" and isinstance(source, dict) and isinstance(source.get("data"), str):
        rest = {key: value for key, value in raw.items() if key != "source"}
        return _document_tokens(source, count) + _raw_tokens(rest, count)
    return sum(
        opaque_price(value) if key in _ENCRYPTED and isinstance(value, str) else _raw_tokens(value, count)
        for key, value in raw.items()
    ) + sum(count(key) for key in raw)


def _document_tokens(source: Mapping[str, object], count: CountText) -> int:
    data, media_type = source.get("data"), source.get("media_type")
    if not isinstance(data, str):
        return 0
    if source.get("type") == "text":
        return count(data)
    return file_price(File(data=data, media_type=media_type if isinstance(media_type, str) else ""))


_PART_COSTS = PartCosts(_reasoning_cost, _unknown_cost, _compaction_cost)
