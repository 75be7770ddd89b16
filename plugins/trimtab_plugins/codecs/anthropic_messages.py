"""The codec `anthropic-messages`: the Anthropic Messages wire."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.anthropic_messages_body import read_request
from trimtab_plugins.codecs.anthropic_messages_costs import AnthropicFraming
from trimtab_plugins.codecs.anthropic_messages_kept import CODEC, kept_of
from trimtab_plugins.codecs.anthropic_messages_packing import encode_conversation
from trimtab_plugins.codecs.anthropic_messages_reading import read_conversation
from trimtab_plugins.codecs.anthropic_messages_recognition import recognize_anthropic_messages
from trimtab_plugins.codecs.anthropic_messages_rules import adapt_conversation
from trimtab_plugins.codecs.splicing import splice_decoded
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, Message, Originals, Recognition


class AnthropicMessages:
    """Reads and writes content blocks, with the system text in a field of its own.

    The text of `system` is a message `system` in front. A user message of nothing but tool results has the
    role tool. Messages without an id of their own get `m` and their index in `messages`.
    """

    name = CODEC
    system_anywhere = False
    binds_reasoning = True
    user_first = True

    def recognize(self, data: object) -> Recognition:
        """Tell whether this looks like Anthropic Messages; a list of plain texts may be any format."""
        return recognize_anthropic_messages(data)

    def decode(self, data: object) -> Decoded:
        """Read a list of messages or a request body; raise InvalidRequestError with the path of what is wrong."""
        request = read_request(data)
        body = request.body
        conversation = read_conversation(body.items, request.system)
        kept = conversation.kept(body.whole)
        leading = 0 if conversation.head is None else 1
        return body.decoded(conversation.messages, kept, conversation.uncounted, leading=leading)

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some messages replaced by `items`; the system text stays."""
        return splice_decoded(self.decode, decoded, start, stop, items, ids)

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Leave out what the wire refuses, put the results of a step together behind its calls, and say so."""
        return adapt_conversation(messages, kept_of(originals), protected)

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages; an untouched one is the object that was read, unless the wire wants it packed."""
        return encode_conversation(messages, kept_of(originals))

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules of this wire for a tokenizer profile and a model."""
        return AnthropicFraming(profile, model)
