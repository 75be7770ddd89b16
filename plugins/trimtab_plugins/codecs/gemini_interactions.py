"""The codec `gemini-interactions`: the Gemini Interactions wire, `input` as a list of steps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.gemini_framing import GeminiFraming
from trimtab_plugins.codecs.gemini_interactions_reading import is_continued, read_body, read_steps
from trimtab_plugins.codecs.gemini_interactions_writing import steps_count, write_steps
from trimtab_plugins.codecs.gemini_originals import Remembered, is_unchanged, remembered_by
from trimtab_plugins.codecs.gemini_recognition import recognize_interactions
from trimtab_plugins.codecs.gemini_rules import adapt_conversation
from trimtab_plugins.codecs.gemini_splicing import splice_entries
from trimtab_plugins.codecs.gemini_system import joined_text, place_system_text
from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Adapted, Decoded, Encoded, Framing, Message, Originals, Recognition


class GeminiInteractions:
    """Reads and writes steps, each of which is one message; an input of contents is one user message.

    A step gets the id `m` and its position; the system instruction is the message `system`.
    """

    name = "gemini-interactions"
    system_anywhere = False
    binds_reasoning = False
    user_first = True

    def recognize(self, data: object) -> Recognition:
        """Tell whether this is a list of steps or a body with one."""
        return recognize_interactions(data)

    def decode(self, data: object) -> Decoded:
        """Read steps, contents or a request body; raise InvalidRequestError with the path of what is wrong."""
        body = read_body(data)
        steps = read_steps(body.items)
        leading = () if body.system is None else (body.system,)
        originals = Remembered(
            self.name,
            steps.entries,
            body.whole,
            body.system,
            given=None if body.given is None else (steps.messages[0], body.given),
            hosted=frozenset(steps.hosted),
            continued=body.whole is not None and is_continued(body.whole),
        )
        return body.decoded((*leading, *steps.messages), originals, steps.uncounted, leading=len(leading))

    def splice(
        self, decoded: Decoded, start: int, stop: int, items: Sequence[object], *, ids: Sequence[str] = ()
    ) -> Decoded:
        """Give the conversation with some steps replaced, read anew; the input is a list of steps from then on."""
        read = remembered_by(self.name, decoded.originals)
        hosted = set(read.hosted)
        uncounted = set(decoded.uncounted)

        def read_new(names: Sequence[str]) -> list[Entry]:
            steps = read_steps(items, names=names)
            hosted.update(steps.hosted)
            uncounted.update(steps.uncounted)
            return list(steps.entries.values())

        messages, entries = splice_entries(
            decoded, read.entries, start, stop, ids=ids, size=len(items), read=read_new
        )
        return replace(
            decoded,
            messages=messages,
            originals=replace(read, entries=entries, given=None, hosted=frozenset(hosted & entries.keys())),
            uncounted=tuple(sorted(uncounted)),
        )

    def adapt(self, messages: Sequence[Message], originals: Originals, *, protected: Collection[str]) -> Adapted:
        """Leave out unpaired and empty messages, put results behind their calls, and report what was mended."""
        return adapt_conversation(messages, remembered_by(self.name, originals), protected)

    def encode(self, messages: Sequence[Message], originals: Originals | None = None) -> Encoded:
        """Write messages in order; an untouched one is the step that was read, unless it joins another.

        An input that was no list of steps comes back as it was while nothing changes.
        """
        read = remembered_by(self.name, originals)
        steps = write_steps(messages, read)
        head = place_system_text(messages).head
        given = _input_as_given(messages, head, read)
        listed: list[object] = given if isinstance(given, list) else list(steps)
        if read.body is None and not joined_text(head):
            return Encoded(listed)
        body = {**(read.body or {}), "input": listed if given is None else given}
        if not listed and read.body is not None and read.body.get("input") is None:
            del body["input"]
        return Encoded(listed, _with_head(body, head, read))

    def framing(self, profile: str, model: str = "") -> Framing:
        """Give the cost rules; pictures are priced by model."""
        return GeminiFraming(steps_count, model)


def _input_as_given(messages: Sequence[Message], head: Sequence[Message], read: Remembered) -> object:
    """The input that was read, when all that is said is still the one message it was read as."""
    if read.given is None:
        return None
    message, value = read.given
    said = [one for one in messages if one not in head]
    same = len(said) == 1 and said[0].id == message.id and is_unchanged(Entry(message, {}), said[0])
    return value if same else None


def _with_head(body: JsonObject, head: Sequence[Message], read: Remembered) -> JsonObject:
    text = joined_text(head)
    if read.system is not None and len(head) == 1 and head[0].parts == read.system.parts:
        return body
    if text:
        return {**body, "system_instruction": text}
    if read.system is None:
        return body
    return {key: value for key, value in body.items() if key != "system_instruction"}
