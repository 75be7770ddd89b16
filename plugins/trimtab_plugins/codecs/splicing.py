"""Reading more messages into a conversation that was read before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.originals import Entry, Kept
from trimtab_sdk import EMPTY_META, Decoded, InvalidRequestError, Message, Repair, is_aside, plain_message


def splice_decoded(
    decode: Callable[[list[object]], Decoded],
    decoded: Decoded,
    start: int,
    stop: int,
    items: Sequence[object],
    ids: Sequence[str],
) -> Decoded:
    """Do what `Codec.splice` asks, for a codec whose `decode` reads lists and whose originals are `Kept`."""
    kept = decoded.originals
    more = decode(list(items))
    assert isinstance(kept, Kept)
    assert isinstance(more.originals, Kept)
    before = decoded.messages[: decoded.leading + start]
    after = decoded.messages[decoded.leading + stop :]
    entries = dict(kept.entries)
    repairs = dict(kept.repairs)
    for message in decoded.messages[len(before) : len(decoded.messages) - len(after)]:
        entries.pop(message.id, None)
        repairs.pop(message.id, None)
    fresh: list[Message] = []
    for at, message in enumerate(more.messages):
        entry = more.originals.entries[message.id]
        name = ids[at] if at < len(ids) else _free_id(message.id, entry, entries, start + at)
        moved = message if name == message.id else _named(message, name)
        fresh.append(moved)
        entries[name] = Entry(moved, entry.wire)
        if message.id in more.originals.repairs:
            repairs[name] = _renamed(more.originals.repairs[message.id], name)
    return replace(
        decoded,
        messages=joined(before, tuple(fresh), after, entries),
        originals=replace(kept, entries=entries, repairs=repairs),
        uncounted=tuple(sorted({*decoded.uncounted, *more.uncounted})),
    )


def refuse_taken_ids(items: Sequence[object], taken: Collection[str], ids: Sequence[str]) -> None:
    """Raise InvalidRequestError when an item has the id of another message, or not the one it must have."""
    for at, item in enumerate(items):
        name = item.get("id") if isinstance(item, dict) else None
        if isinstance(name, str) and name in taken:
            text = f"messages[{at}] has the id {name}, which another message has"
            raise InvalidRequestError(text, path=f"messages[{at}].id", ids=(name,))
        if at < len(ids) and name != ids[at]:
            raise InvalidRequestError(
                f"messages[{at}] must keep the id {ids[at]}", path=f"messages[{at}].id", ids=(ids[at],)
            )


def _free_id(name: str, entry: Entry, taken: Mapping[str, Entry], index: int) -> str:
    if entry.wire.get("id") == name and name not in taken:
        return name
    free = f"m{index}"
    while free in taken:
        index += 1
        free = f"m{index}"
    return free


def _named(message: Message, name: str) -> Message:
    """Give a message another id; most messages carry no flags, and are made in a third of the time then."""
    plain = plain_message(name, message.role, message.parts, message.source)
    if message.name is None and message.meta is EMPTY_META and _flags_of(message) == _flags_of(plain):
        return plain
    return replace(message, id=name)


def _flags_of(message: Message) -> tuple[object, ...]:
    return message.pinned, message.required, message.ephemeral, message.relevance


def _renamed(repairs: Sequence[Repair], name: str) -> tuple[Repair, ...]:
    return tuple(replace(repair, ids=(name,)) for repair in repairs)


def joined(
    before: tuple[Message, ...], new: tuple[Message, ...], after: tuple[Message, ...], entries: dict[str, Entry]
) -> tuple[Message, ...]:
    """Give the three in a row: what was input is history once more than input stands behind it."""
    if not all(map(_is_at_the_end, after)):
        new = as_history(new, entries)
    if not all(map(_is_at_the_end, (*new, *after))):
        before = as_history(before, entries)
    return (*before, *new, *after)


def as_history(messages: tuple[Message, ...], entries: dict[str, Entry]) -> tuple[Message, ...]:
    """Make the input that messages end in history; `entries` follow."""
    out = list(messages)
    for at in range(len(out) - 1, -1, -1):
        if not _is_at_the_end(out[at]):
            break
        if out[at].source == "input":
            out[at] = replace(out[at], source="history")
            entries[out[at].id] = Entry(out[at], entries[out[at].id].wire)
    return tuple(out)


def _is_at_the_end(message: Message) -> bool:
    return message.source == "input" or is_aside(message)
