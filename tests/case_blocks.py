"""A request as a row of blocks, so that a message is found again wherever the wire packed it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from case_files import Json, dump
from case_formats import WIRES
from case_view_anthropic import blocks_in

_LIST_OF = {"anthropic": "content", "gemini": "parts", "interactions": "content"}
_THINKING = frozenset({"thinking", "redacted_thinking"})


def blocks_of(message: Json, form: str, *, thinking: bool = True) -> list[str]:
    """Give the dumps of what a message is made of, each with the role it is said in.

    Where a wire packs messages, each block of content is one; elsewhere the message as a whole. Without
    `thinking` the blocks of an Anthropic answer that only think are passed over.
    """
    key = _LIST_OF.get(form, "")
    if not WIRES[form].packs or not isinstance(message.get(key), list | str):
        return [dump(message)]
    said = {name: value for name, value in message.items() if name != key}
    blocks = blocks_in(message[key])
    return [dump([said, block]) for block in blocks if thinking or block.get("type") not in _THINKING]


def find_messages(sent: Sequence[str], wanted: Sequence[Sequence[str]]) -> list[int | None]:
    """Find messages, each given by its blocks, in the blocks that are sent.

    Gives for each block that is sent, in order, the number of the message that starts there, and None for one
    that belongs to no message; the further blocks of a message are passed over. A message is found once.
    """
    owner: list[int | None] = [None] * len(sent)
    for number, blocks in enumerate(wanted):
        for at in _places(sent, owner, blocks):
            owner[at] = number
    return list(_starts(owner))


def _places(sent: Sequence[str], owner: Sequence[int | None], blocks: Sequence[str]) -> range:
    """Where the blocks stand in a row that nobody owns yet; an empty range when they do not."""
    size = len(blocks)
    for start in range(len(sent) - size + 1) if size else ():
        places = range(start, start + size)
        if list(sent[start : start + size]) == list(blocks) and all(owner[at] is None for at in places):
            return places
    return range(0)


def _starts(owner: Sequence[int | None]) -> Iterator[int | None]:
    before: int | None = None
    for number in owner:
        if number is None or number != before:
            yield number
        before = number
