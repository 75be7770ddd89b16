"""The codec `neutral`: Trimtab's own plain format, with an id and flags on every message."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.body import items_of, read_body
from trimtab_plugins.codecs.framing import ChatFraming
from trimtab_plugins.codecs.neutral_reading import read_conversation
from trimtab_plugins.codecs.neutral_writing import patch_message, write_message
from trimtab_plugins.codecs.originals import Kept, encode_all, kept_by
from trimtab_plugins.codecs.recognition import recognize_neutral
from trimtab_plugins.codecs.splicing import splice_decoded
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, Message, Originals, Recognition


class Neutral:
    """Reads and writes messages that carry their `id`, their `kind` and their flags.

    Nothing is ever repaired: no server reads this format, so it demands no more than its own shape.
    """

    name = "neutral"
    system_anywhere = True
    binds_reasoning = False

    def recognize(self, data: object) -> Recognition:
        """Tell whether this looks neutral: every message has an id, and none the shape of a provider's wire."""
        return recognize_neutral(data, items_of(data))

    def decode(self, data: object) -> Decoded:
        """Read a list of messages or an object that holds them; raise InvalidRequestError with the wrong path."""
        body = read_body(data)
        conversation = read_conversation(body.items)
        return Decoded(
            messages=tuple(conversation.messages),
            originals=Kept(self.name, conversation.entries, body.whole),
            tools=body.tools,
            response_format=body.response_format,
            max_output_tokens=body.max_output_tokens,
            model=body.model,
            uncounted=tuple(sorted(conversation.uncounted)),
        )

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some messages replaced by `items`."""
        return splice_decoded(self.decode, decoded, start, stop, items, ids)

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Give the messages as they are."""
        return Adapted(tuple(messages))

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages one to one; an untouched one is the object that was read."""
        return encode_all(messages, kept_by(self.name, originals), patch=patch_message, write=write_message)

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules for a tokenizer profile: those of Chat Completions."""
        return ChatFraming(profile)
