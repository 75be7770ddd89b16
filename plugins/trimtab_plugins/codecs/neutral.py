"""The codec `neutral`: Trimtab's own plain format, with an id and flags on every message."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.body import items_of, read_body
from trimtab_plugins.codecs.framing import ChatFraming
from trimtab_plugins.codecs.misplaced import COMPACTION
from trimtab_plugins.codecs.neutral_reading import read_conversation
from trimtab_plugins.codecs.neutral_writing import patch_message, write_message
from trimtab_plugins.codecs.originals import Kept, encode_all, kept_by
from trimtab_plugins.codecs.recognition import recognize_neutral
from trimtab_plugins.codecs.splicing import refuse_taken_ids, splice_decoded
from trimtab_plugins.codecs.splitting import any_foreign_structure, apart
from trimtab_sdk import (
    Adapted,
    ApprovalResponse,
    Compaction,
    Decoded,
    Encoded,
    Framing,
    Message,
    Originals,
    Recognition,
    Repair,
    ToolResult,
)

_BARE = "a tool message must hold the result of a call; give it one, or take the message out"


class Neutral:
    """Reads and writes messages that carry their `id`, their `kind` and their flags.

    Nothing is ever repaired: no server reads this format, so it demands no more than its own shape.
    """

    name = "neutral"
    system_anywhere = True
    binds_reasoning = False
    user_first = False

    def recognize(self, data: object) -> Recognition:
        """Tell whether this looks neutral: every message has an id, and none the shape of a provider's wire."""
        return recognize_neutral(data, items_of(data))

    def decode(self, data: object) -> Decoded:
        """Read a list of messages or an object that holds them; raise InvalidRequestError with the wrong path."""
        body = read_body(data)
        conversation = read_conversation(body.items)
        kept = Kept(self.name, conversation.entries, body.whole)
        return body.decoded(conversation.messages, kept, conversation.uncounted)

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some messages replaced by `items`; ids that are taken are refused."""
        going = {message.id for message in decoded.messages[start:stop]}
        refuse_taken_ids(items, {message.id for message in decoded.messages} - going, ids)
        return splice_decoded(self.decode, decoded, start, stop, items, ids)

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Give the messages as they are, but for two things of other formats that nobody can read here.

        What a provider compacted leaves, and so does a tool message without a result or an approval.
        """
        known = kept_by(self.name, originals).entries
        foreign = [message for message in messages if message.id not in known]
        held = tuple(message.id for message in foreign if _has_compaction(message))
        bare = [message.id for message in foreign if message.role == "tool" and not _answers(message)]
        if not held and not bare:
            return Adapted(tuple(messages))
        left_out = {name: "empty" for name in bare if name not in protected}
        return Adapted(
            tuple(_without_compactions(message) for message in messages if message.id not in left_out),
            left_out=left_out,
            repairs=(Repair(held, COMPACTION),) if held else (),
            refused={name: _BARE for name in bare if name in protected},
        )

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages one to one; an untouched one is the object that was read.

        Of a message from another wire, each tool result becomes a message of its own.
        """
        kept = kept_by(self.name, originals)
        if any_foreign_structure(messages, kept.entries):
            messages = apart(messages)
        return encode_all(messages, kept, patch=patch_message, write=write_message)

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules for a tokenizer profile and a model: those of Chat Completions."""
        return ChatFraming(profile, model)


def _answers(message: Message) -> bool:
    return any(isinstance(part, ToolResult | ApprovalResponse) for part in message.parts)


def _has_compaction(message: Message) -> bool:
    return any(isinstance(part, Compaction) for part in message.parts)


def _without_compactions(message: Message) -> Message:
    parts = tuple(part for part in message.parts if not isinstance(part, Compaction))
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)
