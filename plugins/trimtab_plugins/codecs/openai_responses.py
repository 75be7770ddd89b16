"""The codec `openai-responses`: the OpenAI Responses wire and the backends that follow it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.openai_responses_encoding import encode_conversation
from trimtab_plugins.codecs.openai_responses_framing import ResponsesFraming
from trimtab_plugins.codecs.openai_responses_originals import CODEC, in_order, items_kept
from trimtab_plugins.codecs.openai_responses_reading import read_request
from trimtab_plugins.codecs.openai_responses_recognition import recognize_responses
from trimtab_plugins.codecs.openai_responses_rules import adapt_conversation
from trimtab_plugins.codecs.splicing import splice_decoded
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, Message, Originals, Recognition


class OpenAIResponses:
    """Reads and writes `input`, one item for each message, and `instructions`, the system message in front.

    Items without an id of their own get `m` and their position. Calls and results of every kind that the wire
    pairs by `call_id` are read as such; what it does not pair is kept whole.
    """

    name = CODEC
    system_anywhere = True
    binds_reasoning = True
    user_first = False

    def recognize(self, data: object) -> Recognition:
        """Tell whether this looks like Responses; a list of roles and plain texts may be any format."""
        return recognize_responses(data)

    def decode(self, data: object) -> Decoded:
        """Read a list of items or a request body; raise InvalidRequestError with the path of what is wrong."""
        return read_request(data)

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some messages replaced by `items`."""
        return in_order(splice_decoded(self.decode, decoded, start, stop, items, ids))

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Leave out unpaired and empty items and reasoning that leads nowhere, and take foreign parts out.

        Results may stand anywhere behind their call, so nothing moves. A result whose call the provider holds
        (`previous_response_id`, `conversation`, an `item_reference`) is not unpaired.
        """
        return adapt_conversation(messages, items_kept(originals), protected)

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages; an untouched one is the item that was read, unless the reasoning before it is gone."""
        return encode_conversation(messages, items_kept(originals))

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules for a tokenizer profile and a model."""
        return ResponsesFraming(profile, model)
