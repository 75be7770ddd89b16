"""The codec `gemini-contents`: the classic Gemini wire, `contents` of generateContent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.gemini_call_ids import CallIds
from trimtab_plugins.codecs.gemini_contents_reading import read_body, read_contents
from trimtab_plugins.codecs.gemini_contents_writing import Piece, packed, pieces_count, pieces_of, write_contents
from trimtab_plugins.codecs.gemini_framing import GeminiFraming
from trimtab_plugins.codecs.gemini_originals import SYSTEM_ID, Remembered, remembered_by
from trimtab_plugins.codecs.gemini_recognition import recognize_contents
from trimtab_plugins.codecs.gemini_rules import adapt_conversation, has_steps
from trimtab_plugins.codecs.gemini_splicing import splice_entries
from trimtab_plugins.codecs.gemini_system import joined_text, place_system_text
from trimtab_plugins.codecs.gemini_values import field_key
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, Message, Originals, Recognition, Repair, Text

_ANSWER = "wrote an answer and the calls behind it as one content"
_RESULTS = "wrote the results of one turn as one content"


class GeminiContents:
    """Reads and writes contents of the roles user and model, with calls and responses among their parts.

    Keys may be in camel case or snake case. A content gets the id `m` and its position; the system instruction
    is the message `system`. Calls without an id are paired with responses by name and order.
    """

    name = "gemini-contents"
    system_anywhere = False
    binds_reasoning = False
    user_first = True

    def recognize(self, data: object) -> Recognition:
        """Tell whether this is a list of contents or a body with one."""
        return recognize_contents(data)

    def decode(self, data: object) -> Decoded:
        """Read a list of contents or a request body; raise InvalidRequestError with the path of what is wrong."""
        body = read_body(data)
        contents = read_contents(body.items)
        leading = () if body.system is None else (body.system,)
        originals = Remembered(
            self.name, contents.entries, body.whole, body.system, made_ids=frozenset(contents.ids.made)
        )
        return body.decoded((*leading, *contents.messages), originals, contents.uncounted, leading=len(leading))

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some contents replaced, read anew.

        Where calls without ids are in play and something stands behind, all contents are read again, since
        names pair by order.
        """
        read = remembered_by(self.name, decoded.originals)
        calls = CallIds()
        calls.learn(decoded.messages[: decoded.leading + start], read.made_ids)
        uncounted = set(decoded.uncounted)

        def read_new(names: Sequence[str]) -> list[Entry]:
            contents = read_contents(items, names=names, ids=calls)
            uncounted.update(contents.uncounted)
            return list(contents.entries.values())

        messages, entries = splice_entries(
            decoded, read.entries, start, stop, ids=ids, size=len(items), read=read_new
        )
        made = read.made_ids | calls.made
        if made and decoded.leading + stop < len(decoded.messages):
            messages, entries, made = _read_again(messages, entries, decoded.leading)
        return replace(
            decoded,
            messages=messages,
            originals=replace(read, entries=entries, made_ids=made),
            uncounted=tuple(sorted(uncounted)),
        )

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Leave out unpaired and empty messages, put results behind their calls, and report what was mended."""
        read = remembered_by(self.name, originals)
        adapted = adapt_conversation(messages, read, protected)
        if adapted.refused or not has_steps(adapted.messages):
            return adapted
        joined = _name_joined(list(pieces_of(adapted.messages, read)))
        return replace(adapted, repairs=(*adapted.repairs, *joined)) if joined else adapted

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages in order; an untouched one is the object that was read, unless it joins another."""
        read = remembered_by(self.name, originals)
        contents = write_contents(messages, read)
        head = place_system_text(messages).head
        if read.body is None and not joined_text(head):
            return Encoded(list(contents))
        return Encoded(list(contents), _with_head({**(read.body or {}), "contents": contents}, head, read))

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules; pictures are priced by model."""
        return GeminiFraming(pieces_count, model)


def _name_joined(pieces: Sequence[Piece]) -> tuple[Repair, ...]:
    """Name what `encode` joins; rows of user messages have been named, and results of other formats go unnamed."""
    return tuple(
        Repair(piece.ids, _ANSWER if piece.kind == "model" else _RESULTS)
        for piece in packed(pieces)
        if len(piece.ids) > 1 and piece.kind != "user" and (piece.kind == "model" or piece.known)
    )


def _read_again(
    messages: Sequence[Message], entries: dict[str, Entry], leading: int
) -> tuple[tuple[Message, ...], dict[str, Entry], frozenset[str]]:
    names = [message.id for message in messages[leading:]]
    contents = read_contents([entries[name].wire for name in names], names=names)
    return (*messages[:leading], *contents.messages), contents.entries, frozenset(contents.ids.made)


def _with_head(body: JsonObject, head: Sequence[Message], read: Remembered) -> JsonObject:
    """Give the body with its system instruction: the object that was read as long as nothing else is said."""
    old = read.system
    key = field_key(body, "systemInstruction") or "systemInstruction"
    if old is None and not joined_text(head):
        return body
    if old is not None and len(head) == 1 and head[0].id == SYSTEM_ID and head[0].parts == old.parts:
        return body
    if not joined_text(head):
        return {name: value for name, value in body.items() if name != key}
    return {**body, key: _instruction(body.get(key), head, old)}


def _instruction(raw: object, head: Sequence[Message], old: Message | None) -> object:
    if isinstance(raw, str):
        return joined_text(head)
    if not isinstance(raw, dict) or old is None or head[0].id != old.id:
        return {"parts": [{"text": joined_text(head)}]}
    more = joined_text(head[1:])
    parts: list[JsonObject] = [{"text": part.text} for part in head[0].parts if isinstance(part, Text)]
    return {**raw, "parts": [*parts, *([{"text": more}] if more else [])]}
