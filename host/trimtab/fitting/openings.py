"""Where the user must speak first, what is protected may need a user message in front of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trimtab_sdk.groups import Group
from trimtab_sdk.messages import Message
from trimtab_sdk.protection import is_aside


def with_opening(
    messages: Sequence[Message], groups: Sequence[Group], protected: Mapping[str, str]
) -> dict[str, str]:
    """Give the protection (id → reason) with one more user message, when the wire would refuse it otherwise.

    When the first protected turn is the model's or a tool's, the nearest user message before it is protected
    too, with its whole group, for the same reason. Where there is none, the wire decides.
    """
    closed = dict(protected)
    opening: Message | None = None
    for message in messages:
        if message.role in ("system", "developer") or is_aside(message):
            continue
        if message.id in protected:
            if message.role != "user" and opening is not None:
                _protect(opening, groups, closed, protected[message.id])
            return closed
        if message.role == "user" and message.parts:
            opening = message
    return closed


def _protect(message: Message, groups: Sequence[Group], closed: dict[str, str], reason: str) -> None:
    for group in groups:
        if message.id in group.ids:
            for member in group.ids:
                closed.setdefault(member, reason)
