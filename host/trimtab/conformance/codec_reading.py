"""Rules for what a codec reads: recognizing, decoding, refusing, and reading more into a conversation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.conformance.base import RecordProperty
from trimtab.conformance.codec_base import CodecRules, of
from trimtab.conformance.codec_inputs import (
    GARBAGE,
    JSON_INPUTS,
    Wire,
    broken_inputs,
    foreign_wires,
    installed_codec,
    sent,
)
from trimtab.conformance.codec_rules import (
    as_json,
    encoded_faults,
    opaque_in,
    read_alike,
    refusal_faults,
    said_by,
    shape_of_decoded,
)
from trimtab.conformance.corpus import long_talk, said
from trimtab.conformance.driver_base import cost_in_seconds, growth_faults, outcome_of, shown
from trimtab.conversion import written_by
from trimtab_sdk.codec import Codec, Decoded, Recognition
from trimtab_sdk.errors import UnknownFormatError
from trimtab_sdk.messages import Message

_QUICK = 0.005
_NEW = (said("new-1"), said("new-2", "assistant"), said("new-3"))


class ReadingRules(CodecRules):
    """What a host relies on when a codec reads."""

    def test_recognizes_its_own_format(self, codec: Codec, wires: list[Wire]) -> None:
        """Return `Recognition.SURE` where a sign of your format is there, MAYBE where another could read it too.

        Whoever fits without naming a format gets the codec that is most sure. NO means that yours is never asked.
        """
        self.judge(fault for wire in wires for fault in of(wire, _not_recognized(codec, wire.fresh())))

    def test_leaves_other_formats_alone(self, codec: Codec) -> None:
        """Return `Recognition.NO` for what has not your shape; be SURE only of signs that no other format has.

        A codec that is sure of another's input takes it away from the codec that can read it.
        """
        for form, wire in foreign_wires():
            if form != codec.name and codec.recognize(wire.fresh()) is Recognition.SURE:
                self.judge([f"{wire.name} in {form}: it is sure that this is {codec.name}"])
        for data in GARBAGE:
            mark = codec.recognize(data)
            if mark is Recognition.SURE or (mark and not isinstance(data, list | dict)):
                self.judge([f"{data!r}: it says {mark!r}, and nobody could read a conversation there"])
        self.judge(
            f"other {at}: it says {mark!r}, not NO"
            for at, other in enumerate(self.others)
            if (mark := codec.recognize(other)) is not Recognition.NO
        )

    def test_recognizing_never_raises(self, codec: Codec, wires: list[Wire]) -> None:
        """Look before you take: `isinstance` first, then the key. Return a `trimtab_sdk.Recognition` always.

        Every codec is asked about every input. One that raises ends the fits of all other formats.
        """
        self.judge(fault for data in GARBAGE for fault in _mark_faults(codec, data))
        self.judge_examples(JSON_INPUTS, lambda data: _mark_faults(codec, data))
        self.judge_examples(broken_inputs(wires), lambda one: _mark_faults(codec, one.data))

    def test_reads_a_conversation(self, codec: Codec, wires: list[Wire]) -> None:
        """Give `decode` ids that are unique, roles, sources and parts that the sdk knows, all in tuples.

        Everything after it goes by id. Where the wire has none, `m` and the position will do.
        """
        for wire in wires:
            got = outcome_of(codec.decode, wire.fresh())
            faults = [f"decode raised {shown(got.error)}"] if got.error else shape_of_decoded(got.value)
            self.judge(of(wire, faults))

    def test_reading_twice_gives_the_same(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Make ids of positions or of what the wire says, never of a random number, a clock or a counter.

        A host reads the same history in every turn and compares what it reads with what it stored.
        """
        self.judge(
            f"{wire.name}: two readings give different messages"
            for wire, decoded in read
            if codec.decode(wire.fresh()).messages != decoded.messages
        )

    def test_leaves_its_input_alone(self, codec: Codec, wires: list[Wire]) -> None:
        """Change nothing in what `recognize`, `decode`, `adapt`, `encode` or `framing` are given; copy first.

        The input belongs to the caller, who sends or stores it himself.
        """
        for wire in wires:
            data = wire.fresh()
            codec.recognize(data)
            decoded = codec.decode(data)
            before = decoded.messages
            _ = codec.encode(codec.adapt(before, decoded.originals, protected=()).messages[1:], decoded.originals)
            if as_json(data) != as_json(wire.data) or decoded.messages != before:
                self.judge([f"{wire.name}: the input is not what it was"])

    def test_bad_input_is_refused_with_its_path(self, codec: Codec, wires: list[Wire]) -> None:
        """Raise `InvalidRequestError(text, path="messages[3].content")` for what you cannot read; nothing else.

        Check the type of each value that you use. A KeyError says nothing to the user, and takes the whole
        request down as a fault of the host.
        """
        self.judge(fault for data in GARBAGE for fault in _read_or_refused(codec, data, path_needed=False))
        self.judge_examples(JSON_INPUTS, lambda data: _read_or_refused(codec, data, path_needed=False))
        self.judge_examples(
            broken_inputs(wires), lambda one: _read_or_refused(codec, one.data, path_needed=one.inside)
        )
        for at, data in enumerate(self.broken):
            got = outcome_of(codec.decode, data)
            faults = refusal_faults(got.error, path_needed=False) if got.error else ["it was read"]
            self.judge(f"broken {at}: {fault}" for fault in faults)

    def test_deep_input_is_read_or_refused(self, codec: Codec, wires: list[Wire]) -> None:
        """Walk unknown values without recursion, or refuse them by InvalidRequestError: 128 levels may come.

        A host refuses what is deeper.
        """
        deep: object = "end"
        for at in range(120):
            deep = {"value": deep} if at % 2 else [deep]
        for wire in wires[:6]:
            self.judge(of(wire, (fault for one in _deepened(wire.fresh(), deep) for fault in _tried(codec, one))))

    def test_splicing_is_reading_anew(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Let `splice` give what `decode` gives for the list that it makes; one item, one message, in its place.

        A conversation that goes on is spliced, not read again. Where the two differ it is another conversation
        from then on.
        """
        self.need_writing()
        for wire, decoded in read:
            self.judge(of(wire, _splice_faults(codec, decoded)))

    def test_splicing_keeps_ids(self, codec: Codec, writer: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Keep the ids of all other messages; give new ones those in `ids`, else their own, else unused ones.

        Edits, pins and stored counts go by id. A reader is given items in the format that it writes.
        """
        for wire, decoded in read:
            self.judge(of(wire, _spliced_id_faults(codec, writer, decoded)))

    def test_a_reader_says_what_it_writes(self, codec: Codec, read: list[tuple[Wire, Decoded]]) -> None:
        """Claim `reads_only = True` and name an installed format in `writes`, or encode your own format.

        What is read from a transcript is fitted and sent in another format, and that codec must read it.
        """
        writes = written_by(codec)
        if (writes != codec.name) is not self.reads_only:
            claim = f"reads_only is {self.reads_only}, and the codec writes {writes}"
            self.judge([f"{claim}, which is {'not ' if writes != codec.name else ''}its own format"])
        self.need("reads_only")
        got = outcome_of(installed_codec, writes)
        if isinstance(got.error, UnknownFormatError):
            self.judge([f"writes is {writes!r}: {got.error}"])
        for wire, decoded in read:
            self.judge(of(wire, _reader_faults(codec, installed_codec(writes), decoded)))

    def test_time_is_linear_in_the_conversation(
        self, codec: Codec, writer: Codec, record_property: RecordProperty
    ) -> None:
        """Look for a loop in a loop: `in` a list, `list.index`, a search for the call of each result.

        Ten times the messages may take ten times the time, with much slack.
        """
        if not (self.samples or not self.reads_only):
            self.not_judged("there is nothing to read; give `samples` of the format")
        few, many = (_times(codec, size, reads=not self.reads_only) for size in (300, 3_000))
        for what, seconds in many.items():
            record_property(f"milliseconds_to_{what}_3000", round(1000 * seconds, 2))
            self.judge(growth_faults(what, few[what], seconds))

    def test_splicing_reads_only_what_is_new(self, codec: Codec, record_property: RecordProperty) -> None:
        """Read the new items and copy references; walk no old message in `splice`.

        It is called in every turn. Reading the whole history each time makes a long conversation slow.
        """
        self.need_writing()
        whole = codec.decode(sent(codec.encode(long_talk(3_000).messages)))
        end = len(whole.messages) - whole.leading
        items = codec.encode(_NEW).messages
        anew = cost_in_seconds(lambda: codec.decode(sent(codec.encode(whole.messages, whole.originals))))
        spliced = cost_in_seconds(lambda: codec.splice(whole, end, end, items))
        record_property("milliseconds_to_splice_3000", round(1000 * spliced, 2))
        if spliced > max(_QUICK, anew / 2):
            self.judge([f"two items took {1000 * spliced:.1f} ms, 3,000 messages {1000 * anew:.1f} ms"])


def _not_recognized(codec: Codec, data: object) -> Iterator[str]:
    mark = codec.recognize(data)
    if mark is Recognition.NO:
        yield "recognize says NO to its own format"


def _mark_faults(codec: Codec, data: object) -> Iterator[str]:
    got = outcome_of(codec.recognize, data)
    if got.error is not None:
        yield f"{as_json(data):.80}: recognize raised {shown(got.error)}"
    elif type(got.value) is not Recognition:
        yield f"{as_json(data):.80}: recognize gave a {type(got.value).__name__}, not a trimtab_sdk.Recognition"


def _read_or_refused(codec: Codec, data: object, *, path_needed: bool) -> Iterator[str]:
    return (f"{as_json(data):.160}: {fault}" for fault in _tried(codec, data, path_needed=path_needed))


def _tried(codec: Codec, data: object, *, path_needed: bool = False) -> Iterator[str]:
    got = outcome_of(codec.decode, data)
    if got.error is not None:
        yield from refusal_faults(got.error, path_needed=path_needed)
        return
    faults = list(shape_of_decoded(got.value))
    yield from faults
    if not faults and isinstance(got.value, Decoded):
        yield from _written_or_repaired(codec, got.value)


def _written_or_repaired(codec: Codec, decoded: Decoded) -> Iterator[str]:
    """Tell whether what was read can be carried through."""
    adapted = outcome_of(codec.adapt, decoded.messages, decoded.originals, protected=())
    written = outcome_of(codec.encode, decoded.messages, decoded.originals)
    if adapted.error is not None:
        yield f"it was read, and then adapt raised {shown(adapted.error)}"
    if written.error is not None:
        yield f"it was read, and then encode raised {shown(written.error)}"
    else:
        yield from encoded_faults(written.value)


def _deepened(data: object, deep: object) -> Iterator[object]:
    """Give the input with a deep value in a key of its own and in place of a value, in its last message."""
    items = data if isinstance(data, list) else [data]
    last = items[-1]
    if isinstance(last, dict):
        yield [*items[:-1], {**last, "deep": deep}]
        for key in last:
            yield [*items[:-1], {**last, key: deep}]


def _splice_faults(codec: Codec, decoded: Decoded) -> Iterator[str]:
    items = codec.encode(decoded.messages, decoded.originals).messages
    many = len(decoded.messages) - decoded.leading
    if not items or (many == 1 and len(items) > 1):  # a body may give its only message in pieces
        return
    if len(items) != many:
        yield f"{len(items)} items were read as {many} messages besides the {decoded.leading} leading ones"
        return
    middle = len(items) // 2
    begun, anew = codec.decode(items[:middle]), codec.decode(items)
    shorter = codec.decode([*items[:middle], *items[middle + 1 :]])
    appended = codec.splice(begun, middle, middle, items[middle:])
    name = anew.messages[middle].id
    replaced = codec.splice(anew, middle, middle + 1, items[middle : middle + 1], ids=(name,))
    yield from _unlike("appending", appended, anew)
    yield from _unlike("replacing", replaced, anew)
    yield from _unlike("taking out", codec.splice(anew, middle, middle + 1, []), shorter, sources=False)
    for what, spliced in (("appending", appended), ("replacing", replaced)):
        if as_json(codec.encode(spliced.messages, spliced.originals).messages) != as_json(items):
            yield f"after {what}, what is written is not what was given"


def _unlike(what: str, spliced: Decoded, anew: Decoded, *, sources: bool = True) -> Iterator[str]:
    return (f"{what}: {fault}" for fault in read_alike(spliced, anew, sources=sources))


def _spliced_id_faults(codec: Codec, writer: Codec, decoded: Decoded) -> Iterator[str]:
    items = writer.encode(writer.adapt(_NEW, None, protected=()).messages).messages
    named = items if codec is writer else [_without_id(item) for item in items]
    end = len(decoded.messages) - decoded.leading
    spliced = codec.splice(decoded, end, end, named)
    yield from shape_of_decoded(spliced)
    before = [message.id for message in decoded.messages]
    if [message.id for message in spliced.messages[: len(before)]] != before:
        yield "appending changed the ids of messages that were there"
    if said_by(spliced.messages[len(before) :]) != said_by(writer.decode(items).messages):
        yield "appending did not add what the items say"
    if end:
        first = decoded.leading
        gone = codec.splice(decoded, 0, 1, [])
        if [message.id for message in gone.messages] != [*before[:first], *before[first + 1 :]]:
            yield "taking the first message out changed the ids of the others"
        anew = codec.splice(decoded, 0, 1, [_named(named[0], before[first])], ids=(before[first],))
        if [message.id for message in anew.messages] != before:
            yield "replacing the first message by one with its id in `ids` changed the ids"


def _named(item: object, name: str) -> object:
    return {**item, "id": name} if isinstance(item, dict) and "id" in item else item


def _without_id(item: object) -> object:
    return {key: value for key, value in item.items() if key != "id"} if isinstance(item, dict) else item


def _reader_faults(codec: Codec, writer: Codec, decoded: Decoded) -> Iterator[str]:
    adapted = codec.adapt(decoded.messages, decoded.originals, protected=())
    again = writer.decode(sent(codec.encode(adapted.messages, decoded.originals)))
    for what, gist in (("ids", _ids), ("roles", _roles), ("words", said_by), ("opaque values", opaque_in)):
        if gist(again.messages) != gist(adapted.messages):
            yield f"what is written in {writer.name} is read with other {what}"


def _ids(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def _roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def _times(codec: Codec, size: int, *, reads: bool) -> dict[str, float]:
    messages = long_talk(size).messages
    written = sent(codec.encode(messages))
    taken = {
        "adapt": cost_in_seconds(lambda: codec.adapt(messages, None, protected=())),
        "encode": cost_in_seconds(lambda: codec.encode(messages)),
    }
    if reads:
        taken["decode"] = cost_in_seconds(lambda: codec.decode(written))
        taken["recognize"] = cost_in_seconds(lambda: codec.recognize(written))
    return taken
