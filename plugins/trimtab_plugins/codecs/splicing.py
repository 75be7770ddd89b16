"""Reading more messages into a conversation that was read before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.originals import Entry, Kept
from trimtab_sdk import Decoded, InvalidRequestError, Message, Repair


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
        moved = message if name == message.id else replace(message, id=name)
        fresh.append(moved)
        entries[name] = Entry(moved, entry.wire)
        if message.id in more.originals.repairs:
            repairs[name] = _renamed(more.originals.repairs[message.id], name)
    if not after:
        before = as_history(before, entries)
    return replace(
        decoded,
        messages=(*before, *fresh, *after),
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


def _renamed(repairs: Sequence[Repair], name: str) -> tuple[Repair, ...]:
    return tuple(replace(repair, ids=(name,)) for repair in repairs)


def as_history(messages: tuple[Message, ...], entries: dict[str, Entry]) -> tuple[Message, ...]:
    """Make what was the input history, as it is once something stands behind it; `entries` follow."""
    end = len(messages)
    while end and messages[end - 1].source == "input":
        end -= 1
    if end == len(messages):
        return messages
    turned = tuple(replace(message, source="history") for message in messages[end:])
    for message in turned:
        entries[message.id] = Entry(message, entries[message.id].wire)
    return (*messages[:end], *turned)
