"""The codec `chat-completions`: the OpenAI Chat Completions wire and the servers that follow it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.body import items_of, read_body
from trimtab_plugins.codecs.chat_completions_reading import read_conversation
from trimtab_plugins.codecs.chat_completions_rules import adapt_conversation, results_behind_calls
from trimtab_plugins.codecs.chat_completions_runs import with_runs_joined
from trimtab_plugins.codecs.chat_completions_writing import patch_message, write_message
from trimtab_plugins.codecs.framing import ChatFraming
from trimtab_plugins.codecs.message_kinds import has_result
from trimtab_plugins.codecs.originals import Kept, encode_all, kept_by
from trimtab_plugins.codecs.recognition import recognize_chat_completions
from trimtab_plugins.codecs.splicing import splice_decoded
from trimtab_plugins.codecs.splitting import any_foreign_structure, apart
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, Message, Originals, Recognition


class ChatCompletions:
    """Reads and writes `messages` with nested functions, one tool message for each result.

    Messages without an id of their own get `m` and their position.
    """

    name = "chat-completions"
    system_anywhere = True
    binds_reasoning = False
    user_first = False

    def recognize(self, data: object) -> Recognition:
        """Tell whether this looks like Chat Completions; a list of plain texts may be any format."""
        return recognize_chat_completions(data, items_of(data))

    def decode(self, data: object) -> Decoded:
        """Read a list of messages or a request body; raise InvalidRequestError with the path of what is wrong."""
        body = read_body(data)
        conversation = read_conversation(body.items)
        kept = Kept(self.name, conversation.entries, body.whole, conversation.repairs)
        return body.decoded(conversation.messages, kept, conversation.uncounted)

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some messages replaced by `items`."""
        return splice_decoded(self.decode, decoded, start, stop, items, ids)

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Leave out unpaired and empty messages, put results behind their calls, and report what was mended.

        Of messages from another wire, parts that have no place here leave or give way to a text.
        """
        return adapt_conversation(messages, kept_by(self.name, originals), protected)

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages one to one; an untouched one is the object that was read.

        Of messages from another wire, each tool result becomes a tool message behind its call, what the user says
        beside results a user message behind them, and a run of answers with calls one message.
        """
        kept = kept_by(self.name, originals)
        if any_foreign_structure(messages, kept.entries):
            messages = _for_this_wire(messages, kept.entries)
        return encode_all(messages, kept, patch=patch_message, write=write_message)

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules for a tokenizer profile and, as pictures are priced by model, a model."""
        return ChatFraming(profile, model)


def _for_this_wire(messages: Sequence[Message], known: Collection[str]) -> tuple[Message, ...]:
    pieces = apart(messages)
    if pieces != tuple(messages):
        pieces = results_behind_calls(pieces, known)
    said = [piece for piece in pieces if piece.role != "tool" or has_result(piece)]
    return with_runs_joined(said, known)
