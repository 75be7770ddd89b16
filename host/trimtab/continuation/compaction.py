"""Whether what a provider compacted must stay word for word."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trimtab_sdk.messages import Compaction, Message


def compacts_protected(history: Iterable[Message], protected: Collection[str]) -> bool:
    """Tell whether a compaction in the history stands in place of a protected message.

    A compaction that does not say what it covers is taken to cover everything before it.
    """
    wanted = frozenset(protected)
    passed = False
    for message in history:
        for part in message.parts:
            if isinstance(part, Compaction) and (not wanted.isdisjoint(part.covers) if part.covers else passed):
                return True
        passed = passed or message.id in wanted
    return False
