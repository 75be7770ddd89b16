"""What a provider has compacted of a chat: which messages its compaction stands for, and whether it may.

A compaction is opaque and belongs to the provider that made it. It is sent in the place of what it covers only to
that provider, and only while every message it covers is as it was then and none of them must be in every request.
Else the originals are fitted and sent as if there were none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from trimtab.store.protocol import NewMessage, StoredMessage
from trimtab_sdk.messages import Compaction, Message, Text

_ALWAYS_IN = frozenset({"persona", "character"})
_SYSTEM_ROLES = frozenset({"system", "developer"})


def compaction_in(message: Message) -> Compaction | None:
    """Give the compaction that a message holds, if it holds one."""
    parts = message.parts
    if len(parts) == 1 and type(parts[0]) is Text:
        return None
    return next((part for part in parts if isinstance(part, Compaction)), None)


def with_covers(
    new: Sequence[NewMessage], held: Sequence[Message], stored: Collection[str]
) -> tuple[NewMessage, ...]:
    """Note in new compactions what they stand for: all stored messages that the provider held when it made them.

    What stands in those messages through an earlier compaction is covered by the new one too.
    """
    if all(compaction_in(one.message) is None for one in new):
        return tuple(new)
    covers: list[str] = []
    for message in held:
        earlier = compaction_in(message)
        covers += earlier.covers if earlier is not None else ()
        covers += [message.id] if message.id in stored else []
    return tuple(_covering(one, tuple(covers)) for one in new)


def compactions_in(stored: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Give the messages that hold a compaction, in order."""
    return tuple(one for one in stored if compaction_in(one.message) is not None)


def covered_by_newest(
    made: Sequence[StoredMessage], known: Mapping[str, StoredMessage], *, provider: str, running: str = ""
) -> dict[str, str]:
    """Tell which messages are not sent because of the compactions `made`: id → reason.

    The newest one of this provider that may be used covers what it covers; every other compaction is left out
    itself. One of the turn that still runs is not looked at: in its turn the provider holds everything.
    """
    settled = [one for one in made if not running or one.turn_id != running]
    used = next((one for one in reversed(settled) if may_stand(one, known, provider)), None)
    left = {one.message.id: "wire-rule" for one in settled if one is not used}
    compaction = compaction_in(used.message) if used is not None else None
    left |= dict.fromkeys(compaction.covers if compaction is not None else (), "summarized")
    return {name: reason for name, reason in left.items() if name in known}


def may_stand(made: StoredMessage, known: Mapping[str, StoredMessage], provider: str) -> bool:
    """Tell whether a compaction may be sent in the place of what it covers."""
    compaction = compaction_in(made.message)
    if compaction is None or made.wire is None or made.wire.provider != provider or not compaction.covers:
        return False
    return all(_is_untouched(known.get(name), made) for name in compaction.covers)


def _is_untouched(covered: StoredMessage | None, made: StoredMessage) -> bool:
    """Tell whether a covered message is still in the chat, as it was, and need not be in every request."""
    if covered is None:
        return False
    message = covered.message
    must_stay = message.pinned or message.required or message.source in _ALWAYS_IN
    by_hand = bool(message.meta.get("manualExcluded"))
    return not (must_stay or by_hand or message.role in _SYSTEM_ROLES) and covered.changed <= made.changed


def _covering(new: NewMessage, covers: tuple[str, ...]) -> NewMessage:
    if compaction_in(new.message) is None:
        return new
    parts = tuple(
        replace(part, covers=covers) if isinstance(part, Compaction) and not part.covers else part
        for part in new.message.parts
    )
    return replace(new, message=replace(new.message, parts=parts))
