"""Rules for what a codec repairs and writes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import takewhile

from trimtab.conformance.codec_base import CodecRules, of
from trimtab.conformance.codec_fits import fitted, fitted_faults
from trimtab.conformance.codec_inputs import Wire, sent, short_chats, talks, written_again
from trimtab.conformance.codec_rules import (
    adapted_faults,
    as_json,
    encoded_faults,
    is_system,
    lost_words,
    misread,
    more_to_mend,
    opaque_in,
    said_by,
    unnamed_faults,
)
from trimtab.conformance.driver_base import outcome_of, shown
from trimtab_sdk.codec import Adapted, Codec, Decoded
from trimtab_sdk.groups import link_groups
from trimtab_sdk.messages import Message, ToolCall, texts_of, with_texts
from trimtab_sdk.protection import is_aside, protection_reasons

_GROUPS_TRIED = 6
_SHORT = "in short"


class WritingRules(CodecRules):
    """What a host relies on when a codec repairs and writes."""

    def test_what_was_read_comes_back(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Keep the object of each message in `originals` and write that one when the message is unchanged.

        What needs no cut goes out as it came in: unknown keys, the order of keys, 1 and 1.0. A request that
        comes back otherwise misses the provider's prompt cache, or is another request.
        """
        self.need_writing()
        self.judge(
            f"{wire.name}: it came back as {as_json(again):.300}"
            for wire, decoded in read
            if as_json(again := written_again(codec, decoded)) != as_json(wire.data)
        )

    def test_writes_what_was_said(self, codec: Codec, writer: Codec) -> None:
        """Write every message that `adapt` gave, in order, and nothing else; one to one, or packed.

        Texts may be joined, and system text may have a field of its own. What is written must be JSON, and be
        read by `decode` as the same words, calls and results.
        """
        for chat in short_chats():
            self.judge(f"{chat.name!r}: {fault}" for fault in _written(codec, writer, chat.messages))
        self.judge_examples(talks(), lambda messages: _written(codec, writer, messages))

    def test_adapt_keeps_books(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Give every message back in `messages` or in `left_out` with its reason; a protected one never in there.

        What the wire cannot carry of a protected message is `refused`, with a sentence that says why. Its words
        stay. What is in no list is lost without anybody knowing.
        """
        for wire, decoded in read:
            for protected in _protections(decoded.messages):
                self.judge(of(wire, _books(codec, decoded.messages, decoded.originals, protected)))
        for chat in short_chats():
            for protected in _protections(chat.messages):
                faults = _books(codec, chat.messages, None, protected)
                self.judge(f"{chat.name!r}: {fault}" for fault in faults)
        self.judge_examples(talks(), lambda messages: _all_books(codec, messages))

    def test_adapt_names_every_repair(self, codec: Codec) -> None:
        """Add a `Repair(ids, text)` for each message that you change or move.

        People are told what was sent in place of what they gave; a silent repair is a riddle to them.
        """
        for chat in short_chats():
            adapted = codec.adapt(chat.messages, None, protected=())
            self.judge(f"{chat.name!r}: {fault}" for fault in unnamed_faults(chat.messages, adapted))
        self.judge_examples(
            talks(), lambda messages: unnamed_faults(messages, codec.adapt(messages, None, protected=()))
        )

    def test_adapt_mends_once(self, codec: Codec) -> None:
        """Let `adapt` find nothing to do in what it gave: mend until nothing is left, in one call.

        It is called again after every cut. A repair that needs another each time goes on from turn to turn.
        """
        for chat in short_chats():
            self.judge(f"{chat.name!r}: {fault}" for fault in _mended_again(codec, chat.messages))
        self.judge_examples(talks(), lambda messages: _mended_again(codec, messages))

    def test_adapt_leaves_alone_what_the_wire_takes(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Repair nothing that the wire accepts: valid input goes out as it came in.

        Give as `samples` only input that its server takes. A reader may say what it passed over.
        """
        for wire, decoded in read:
            everyone = {message.id for message in decoded.messages}
            adapted = codec.adapt(decoded.messages, decoded.originals, protected=everyone)
            faults = more_to_mend(adapted, decoded.messages, notes=not self.reads_only)
            self.judge(of(wire, faults))

    def test_what_is_written_needs_no_repair(self, codec: Codec, writer: Codec) -> None:
        """Make `adapt` and `encode` agree: what is written must be valid on the wire when it is read again.

        What a fit sends is stored and fitted again. A server refuses what still needs a repair.
        """
        for chat in short_chats():
            self.judge(f"{chat.name!r}: {fault}" for fault in _still_to_mend(codec, writer, chat.messages))
        self.judge_examples(talks(), lambda messages: _still_to_mend(codec, writer, messages))

    def test_a_whole_fit_holds(self, codec: Codec, writer: Codec, wires: list[Wire]) -> None:
        """Mend what the other tests show first; then compare the cost of a message alone and as it is written.

        Here the host cuts conversations with your codec, and adds a summary. What it sends must be readable,
        need no repair, and cost no more than the report says.
        """
        for wire in wires:
            for result in fitted(codec, wire):
                self.judge(of(wire, fitted_faults(writer, result)))

    def test_what_stays_is_as_it_was(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Write each message by itself: nothing in it may depend on another that could leave.

        When a group leaves, the objects of the others go out as they came in, but for repairs with a name.
        """
        self.need_writing()
        for wire, decoded in read:
            self.judge(of(wire, _changed_by_leaving(codec, decoded)))

    def test_a_shortened_text_is_what_is_written(
        self, codec: Codec, writer: Codec, read: list[tuple[Wire, Decoded]]
    ) -> None:
        """Compare a message with its original by parts, and write the new text where the parts differ.

        A plugin or the host shortened it. The old text would be sent, and cost more than was counted.
        """
        for wire, decoded in read:
            self.judge(of(wire, _shortened_faults(codec, writer, decoded)))

    def test_opaque_values_come_back(self, codec: Codec, writer: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Write `Reasoning.opaque` and `Compaction.opaque` byte for byte, also when their message is shortened.

        They are signatures or sealed texts. A server refuses them when one character differs.
        """
        sealed = [(wire, decoded) for wire, decoded in read if opaque_in(decoded.messages)]
        if not sealed:
            self.not_judged("no input holds an opaque value; give a sample with one if your format has them")
        for wire, decoded in sealed:
            self.judge(of(wire, _opaque_faults(codec, writer, decoded)))


def _protections(messages: Sequence[Message]) -> Iterator[Collection[str]]:
    """Give what may be protected: nothing, what a host protects, one message with its group, everything."""
    groups = link_groups(messages)
    yield ()
    yield protection_reasons(messages, groups).keys()
    pins = [message.id for message in messages[1::3]]
    yield protection_reasons(messages, groups, pins=pins).keys()
    yield {message.id for message in messages}


def _all_books(codec: Codec, messages: Sequence[Message]) -> Iterator[str]:
    for protected in _protections(messages):
        yield from _books(codec, messages, None, protected)


def _books(
    codec: Codec, messages: Sequence[Message], originals: object, protected: Collection[str]
) -> Iterator[str]:
    got = outcome_of(codec.adapt, messages, originals, protected=protected)
    if got.error is not None:
        yield f"adapt raised {shown(got.error)}"
        return
    faults = list(adapted_faults(messages, got.value, protected))
    yield from faults
    if faults or not isinstance(got.value, Adapted) or got.value.refused:
        return
    yield from lost_words(messages, got.value, protected)
    if codec.user_first and not protected:
        yield from _opening_faults(got.value)


def _opening_faults(adapted: Adapted) -> Iterator[str]:
    turns = (message for message in adapted.messages if not is_system(message) and not is_aside(message))
    for message in takewhile(lambda message: message.role != "user", turns):
        if any(isinstance(part, ToolCall) for part in message.parts):
            yield f"user_first is True, and {message.id!r} calls tools before the user has spoken"


def _mended(codec: Codec, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Give messages as the wire takes them, none where a message is refused."""
    adapted = codec.adapt(messages, None, protected=())
    return () if adapted.refused else adapted.messages


def _mended_again(codec: Codec, messages: Sequence[Message]) -> Iterator[str]:
    mended = _mended(codec, messages)
    again = codec.adapt(mended, None, protected=())
    return more_to_mend(again, mended, notes=False)


def _written(codec: Codec, writer: Codec, messages: Sequence[Message]) -> Iterator[str]:
    mended = _mended(codec, messages)
    got = outcome_of(codec.encode, mended)
    if got.error is not None:
        yield f"encode raised {shown(got.error)}"
        return
    faults = list(encoded_faults(got.value))
    yield from faults
    if faults or not mended:
        return
    read = outcome_of(writer.decode, sent(codec.encode(mended)))
    if read.error is not None:
        yield f"what was written cannot be read: {shown(read.error)}"
    elif isinstance(read.value, Decoded):
        yield from misread(mended, read.value.messages, system_anywhere=codec.system_anywhere)


def _still_to_mend(codec: Codec, writer: Codec, messages: Sequence[Message]) -> Iterator[str]:
    mended = _mended(codec, messages)
    if not mended:
        return
    written = sent(codec.encode(mended))
    read = writer.decode(written)
    everyone = {message.id for message in read.messages}
    yield from more_to_mend(writer.adapt(read.messages, read.originals, protected=everyone), read.messages)
    if as_json(written_again(writer, read)) != as_json(written):
        yield "written, read and written again it is something else"


def _changed_by_leaving(codec: Codec, decoded: Decoded) -> Iterator[str]:
    groups = link_groups(decoded.messages)
    before = {message.id: message for message in decoded.messages}
    items = codec.encode(decoded.messages, decoded.originals).messages
    places = {message.id: at for at, message in enumerate(decoded.messages[decoded.leading :])}
    for group in groups[:: max(1, len(groups) // _GROUPS_TRIED)]:
        rest = [message for message in decoded.messages if message.id not in group.ids]
        adapted = codec.adapt(rest, decoded.originals, protected=())
        if adapted.refused or not adapted.messages:
            continue
        written = codec.encode(adapted.messages, decoded.originals)
        if not adapted.repairs:
            wanted = [items[places[one.id]] for one in adapted.messages if one.id in places]
            if as_json(written.messages) != as_json(wanted):
                yield f"when {group.ids[0]!r} left, others were written otherwise"
        read = codec.decode(sent(written)).messages
        told = [before[message.id] for message in adapted.messages]
        if not adapted.repairs and said_by(read) != said_by(told):
            yield f"when {group.ids[0]!r} left, others say something else"


def _shortened_faults(codec: Codec, writer: Codec, decoded: Decoded) -> Iterator[str]:
    messages = codec.adapt(decoded.messages, decoded.originals, protected=()).messages
    for at, message in enumerate(messages):
        places = [path for path, text in texts_of(message) if text.strip()]
        if not places:
            continue
        short = with_texts(message, dict.fromkeys(places, _SHORT))
        changed = [*messages[:at], short, *messages[at + 1 :]]
        got = outcome_of(_through, codec, writer, changed, decoded)
        if got.error is not None:
            yield f"{message.id!r} shortened cannot be written and read: {shown(got.error)}"
        elif isinstance(got.value, Decoded):
            yield from misread(changed, got.value.messages, system_anywhere=codec.system_anywhere)


def _through(codec: Codec, writer: Codec, messages: Sequence[Message], decoded: Decoded) -> Decoded:
    """Write messages of a conversation that was read, and read them again."""
    return writer.decode(sent(codec.encode(messages, decoded.originals)))


def _opaque_faults(codec: Codec, writer: Codec, decoded: Decoded) -> Iterator[str]:
    messages = codec.adapt(decoded.messages, decoded.originals, protected=()).messages
    short = [_all_short(message) for message in messages]
    for what, told in (("unchanged", messages), ("shortened", short)):
        read = _through(codec, writer, told, decoded)
        if opaque_in(read.messages) != opaque_in(messages):
            yield f"{what}, the opaque values are {opaque_in(read.messages)!r:.200}"


def _all_short(message: Message) -> Message:
    return with_texts(message, {path: _SHORT for path, text in texts_of(message) if text.strip()})
