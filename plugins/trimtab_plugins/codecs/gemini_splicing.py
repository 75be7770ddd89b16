"""Replacing some messages of a Gemini conversation that was read before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from trimtab_plugins.codecs.originals import Entry
from trimtab_plugins.codecs.splicing import joined
from trimtab_sdk import Decoded, Message

Read: TypeAlias = Callable[[Sequence[str]], Sequence[Entry]]
"""Reads the new items under the ids given, one message each."""


def splice_entries(
    decoded: Decoded,
    entries: Mapping[str, Entry],
    start: int,
    stop: int,
    *,
    ids: Sequence[str],
    size: int,
    read: Read,
) -> tuple[tuple[Message, ...], dict[str, Entry]]:
    """Give the messages and entries with those of index `start` to `stop` replaced by `size` new ones.

    A new one has the id at its place in `ids`, else `m` and a number that nobody has. What was the input is
    history once something stands behind it.
    """
    first, last = decoded.leading + start, decoded.leading + stop
    before, after = decoded.messages[:first], decoded.messages[last:]
    known = dict(entries)
    for message in decoded.messages[first:last]:
        known.pop(message.id, None)
    fresh = read(_names(ids, size, start, known))
    for entry in fresh:
        known[entry.message.id] = entry
    return joined(before, tuple(entry.message for entry in fresh), after, known), known


def _names(ids: Sequence[str], size: int, start: int, taken: Mapping[str, Entry]) -> list[str]:
    names = list(ids[:size])
    number = start + len(names)
    while len(names) < size:
        name = f"m{number}"
        if name not in taken:
            names.append(name)
        number += 1
    return names
