"""What several codecs say of an adaptation: repairs of messages that are still there, and a refusal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trimtab_sdk import Message, Repair

EMPTY = "it has no content; give it a text, or unpin or exclude it"
"""Why a protected message that says nothing is refused."""


def mended_in(messages: Iterable[Message], repairs: Mapping[str, Sequence[Repair]]) -> tuple[Repair, ...]:
    """Give the repairs that were made while messages were read, `repairs` of theirs by id."""
    if not repairs:
        return ()
    return tuple(repair for message in messages for repair in repairs.get(message.id, ()))


def repairs_of(
    repairs: Sequence[Repair], messages: Iterable[Message], others: Iterable[str] = ()
) -> tuple[Repair, ...]:
    """Give repairs without ids that neither `messages` nor `others` have; one that names nobody then is gone."""
    if not repairs:
        return ()
    here = {message.id for message in messages}.union(others)
    named = (Repair(tuple(one for one in repair.ids if one in here), repair.text) for repair in repairs)
    return tuple(repair for repair in named if repair.ids)
