"""What a codec remembers between `decode` and `encode`, and how it writes one to one from that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from trimtab_plugins.codecs.reading import JsonObject
from trimtab_sdk import Encoded, Message, Originals, Repair

Write: TypeAlias = Callable[[Message], object]
Patch: TypeAlias = Callable[[JsonObject, Message, Message], object]
"""Gives the wire object of the first message changed into that of the second; changes neither."""


class Entry(NamedTuple):
    """A message as it was read, and the object it goes out as when nobody changes it."""

    message: Message
    wire: JsonObject


@dataclass(frozen=True, slots=True)
class Kept:
    """The input of one `decode` by the codec `codec`: its messages by id, the body they came in, the mending."""

    codec: str
    entries: Mapping[str, Entry]
    body: JsonObject | None = None
    repairs: Mapping[str, tuple[Repair, ...]] = field(default_factory=dict)


def kept_by(codec: str, originals: Originals) -> Kept:
    """Give the originals when this codec made them; anything else counts as none."""
    if isinstance(originals, Kept) and originals.codec == codec:
        return originals
    return Kept(codec, {})


def encode_all(messages: Sequence[Message], kept: Kept, *, patch: Patch, write: Write) -> Encoded:
    """Write messages: the very object that was read, a patched copy of it, or a new one."""
    entries = kept.entries
    out: list[object] = []
    for message in messages:
        entry = entries.get(message.id)
        if entry is None:
            out.append(write(message))
            continue
        read, wire = entry
        if read is message or (read.parts == message.parts and _reads_alike(read, message)):
            out.append(wire)
        else:
            out.append(patch(wire, read, message))
    return Encoded(out, None if kept.body is None else {**kept.body, "messages": out})


def _reads_alike(one: Message, other: Message) -> bool:
    """Compare what goes on a wire. Flags and source may differ: they are the host's own view."""
    return one.role == other.role and one.name == other.name and one.parts == other.parts
