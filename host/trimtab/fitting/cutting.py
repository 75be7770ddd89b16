"""Cutting texts down to spans, also where they were cut before: what is sent is always a slice of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimtab.fitting.account import Cuts
from trimtab_sdk.edit import MARKER, Span, keep_spans
from trimtab_sdk.messages import Message, texts_of, with_texts


def cut_message(whole: Message, cuts: Cuts) -> Message:
    """Give a message of which only some spans of its texts stay."""
    texts = dict(texts_of(whole))
    return with_texts(whole, {path: keep_spans(texts[path], kept) for path, kept in cuts.items()})


def cut_again(earlier: Cuts, cuts: Cuts) -> Cuts:
    """Give one cut for two: `cuts` speaks of the texts that `earlier` left, what comes back of the originals."""
    return {
        **earlier,
        **{path: on_original(earlier[path], spans) if path in earlier else spans for path, spans in cuts.items()},
    }


def on_original(kept: Sequence[Span], spans: Sequence[Span]) -> tuple[Span, ...]:
    """Give spans of a text that was cut down to `kept` as spans of the original.

    What they hold of the markers is left out. Takes time linear in the number of spans.
    """
    found: list[Span] = []
    pieces = list(_pieces(kept))
    first = 0
    for start, stop in spans:
        while first < len(pieces) and _end(pieces[first]) <= start:
            first += 1
        at = first
        while at < len(pieces) and pieces[at][0] < stop:
            place, (origin, _) = pieces[at]
            shift = origin - place
            _append(found, (max(start, place) + shift, min(stop, _end(pieces[at])) + shift))
            at += 1
        first = max(first, at - 1)
    return tuple(found)


def _pieces(kept: Sequence[Span]) -> Iterator[tuple[int, Span]]:
    """Give where each piece stands in the cut text, and its span in the original."""
    place = end = 0
    for start, stop in kept:
        if start > end:
            place += len(MARKER)
        yield place, (start, stop)
        place += stop - start
        end = stop


def _end(piece: tuple[int, Span]) -> int:
    place, (start, stop) = piece
    return place + stop - start


def _append(found: list[Span], span: Span) -> None:
    if found and found[-1][1] == span[0]:
        found[-1] = (found[-1][0], span[1])
    else:
        found.append(span)
