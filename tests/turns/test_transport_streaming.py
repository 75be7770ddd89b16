"""Bytes into events, wherever they are cut."""

from __future__ import annotations

import gzip
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.turns.faults import CallFaultError
from trimtab.turns.streaming import MAX_LINE_BYTES, EventStream, Inflater, Lines
from trimtab_sdk import ServerEvent

TEXT = (
    "\ufeff: a comment\r\n"
    "event: one\rid: 7\ndata: naïve \U0001f600\r\ndata:second\r\r"
    "data: \u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e stay in the line\n\n"
    "data\n\n"
    "event: nothing\n\n"
    "odd: field\nretry: 5\n\n"
    "data: cut off"
)
EVENTS = [
    ServerEvent(data="naïve \U0001f600\nsecond", event="one", id="7"),
    ServerEvent(data="\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e stay in the line", id="7"),
]


def read(*pieces: bytes) -> list[ServerEvent]:
    stream = EventStream()
    return [event for piece in pieces for event in stream.feed(piece)]


def test_events_are_the_same_for_each_place_of_a_cut() -> None:
    data = TEXT.encode()
    assert read(data) == EVENTS
    for cut in range(len(data)):
        assert read(data[:cut], b"", data[cut:]) == EVENTS
    assert read(*(data[n : n + 1] for n in range(len(data)))) == EVENTS


def test_a_line_is_over_as_soon_as_its_cr_is_there() -> None:
    stream = EventStream()
    assert list(stream.feed(b"data: x\r\r")) == [ServerEvent(data="x")]
    assert list(stream.feed(b"\ndata: y\r\n\r")) == [ServerEvent(data="y")]


def test_a_mark_of_byte_order_counts_at_the_start_alone() -> None:
    assert read("\ufeffdata: x\n\n\ufeffdata: y\n\n".encode()) == [ServerEvent(data="x")]


def test_bytes_that_are_no_utf_8_are_replaced_as_the_standard_says() -> None:
    assert read(b"data: a\xffb\xf0\x9f\n\n") == [ServerEvent(data="a\ufffdb\ufffd")]


@given(st.text(alphabet="ab\r\n\u2028é\x85:"), st.lists(st.integers(0, 40), max_size=6))
def test_lines_are_those_of_the_whole_text(text: str, cuts: list[int]) -> None:
    data = text.encode()
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    lines = Lines()
    got = [line for start, end in pairwise(places) for line in lines.feed(data[start:end])]
    assert got == re.split(r"\r\n|\r|\n", text)[:-1]


def test_a_line_without_end_is_refused_in_time() -> None:
    lines = Lines()
    piece = b"x" * (MAX_LINE_BYTES // 8)
    for _ in range(8):
        assert list(lines.feed(piece)) == []
    with pytest.raises(CallFaultError, match="a line is longer"):
        list(lines.feed(b"x"))


def test_gzip_is_unpacked_wherever_it_is_cut_and_in_several_members() -> None:
    plain = bytes(range(256)) * 3000
    packed = gzip.compress(plain) + gzip.compress(b"more")
    for step in (1, 7, len(packed)):
        inflater = Inflater("gzip")
        parts = [part for n in range(0, len(packed), step) for part in inflater.feed(packed[n : n + step])]
        assert b"".join(parts) == plain + b"more"


def test_a_body_is_unpacked_a_bounded_part_at_a_time_up_to_its_limit() -> None:
    inflater = Inflater("gzip", limit=1_000_000)
    sizes: list[int] = []
    parts = inflater.feed(gzip.compress(bytes(50_000_000)))
    with pytest.raises(CallFaultError, match="longer than any answer"):
        sizes.extend(map(len, parts))
    assert max(sizes) <= 262_144
    assert sum(sizes) <= 1_000_000


def test_a_body_that_is_not_packed_has_the_same_limit() -> None:
    inflater = Inflater("", limit=10)
    assert list(inflater.feed(b"12345")) == [b"12345"]
    with pytest.raises(CallFaultError, match="longer than any answer"):
        list(inflater.feed(b"678901"))
