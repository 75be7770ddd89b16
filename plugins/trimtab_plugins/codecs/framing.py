"""What messages cost on the Chat Completions wire.

The rule is the counting recipe that OpenAI's cookbook publishes: 3 tokens for each message, its role, its
texts, and a name with one more token; 3 tokens for the request, which prime the answer. How a server renders
tool calls, tool schemas and response formats is not published, so a cost that holds one is marked `framing`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trimtab_plugins.codecs.part_costs import FRAMING, MESSAGE, PRIMING, PartCosts, format_tokens
from trimtab_plugins.codecs.tool_costs import tools_cost
from trimtab_sdk import NOTHING, Cost, CountText, Message

_NAME = 1
_PART_COSTS = PartCosts()


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
        tokens = MESSAGE + count(message.role)
        if message.name is not None:
            tokens += count(message.name) + _NAME
        return _PART_COSTS.total(message.parts, self.model, count, tokens)

    def request_cost(
        self,
        *,
        tools: Sequence[object],
        response_format: Mapping[str, object] | None,
        count: CountText,
    ) -> Cost:
        """Give the priming of the answer, the tools by the recipe of `tool_costs`, the response format as JSON."""
        tokens = PRIMING + format_tokens(response_format, count)
        if tools:
            tokens += tools_cost(tools, self.profile, count)
        return Cost(tokens, FRAMING if tools or response_format is not None else NOTHING)
