"""What must be in every request, and what leaves last.

The rules are pure functions over messages and groups, so that a plugin, the host and `shift_context` read
a conversation alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_sdk.groups import Group
from trimtab_sdk.messages import Message, Notice

_ASIDES = frozenset({"persona", "character", "lorebook", "memory", "summary", "plugin"})
_NEVER_BY_SOURCE = frozenset({"summary", "plugin"})
_WEAK_SYSTEM = frozenset({"summary", "plugin", "memory", "lorebook"})


def current_input(messages: Sequence[Message]) -> tuple[int, ...]:
    """Give the positions of the current input.

    That is the user messages the conversation ends in, else its last user message. Personas, lorebook
    entries, memories, summaries and plugin texts are no input, whatever their role.
    """
    turns = _turns(messages)
    trailing = _trailing(messages, turns, "user")
    if trailing:
        return trailing
    for at in reversed(turns):
        if messages[at].role == "user":
            return (at,)
    return ()


def open_step(messages: Sequence[Message], groups: Sequence[Group]) -> tuple[Group, ...]:
    """Give the groups of the tool results that the conversation ends in; nothing when it ends otherwise."""
    return _groups_at(groups, _trailing(messages, _turns(messages), "tool"))


def unanswered_step(messages: Sequence[Message], groups: Sequence[Group]) -> tuple[Group, ...]:
    """Give the groups of tool results that only user messages follow. They are not protected, but leave last."""
    turns = _turns(messages)
    users = _trailing(messages, turns, "user")
    if not users:
        return ()
    return _groups_at(groups, _trailing(messages, turns[: len(turns) - len(users)], "tool"))


def protection_reasons(
    messages: Sequence[Message],
    groups: Sequence[Group],
    *,
    pins: Collection[str] = (),
) -> dict[str, str]:
    """Tell which messages are protected, and why.

    Gives id → one of `system developer character persona required pinned current-input open-step`. A group
    with one protected member is protected whole; the other members carry the reason of the first. `pins` are
    ids that the caller pinned, besides the messages whose `pinned` is set. A `summary` or `plugin` message is
    protected by a pin only.
    """
    reasons: dict[str, str] = {}
    inputs = set(current_input(messages))
    steps = {at for group in open_step(messages, groups) for at in group.positions}
    for position, message in enumerate(messages):
        reason = _own_reason(message, pinned=message.pinned or message.id in pins)
        if reason is None and position in inputs:
            reason = "current-input"
        if reason is None and position in steps:
            reason = "open-step"
        if reason is not None:
            reasons[message.id] = reason
    for group in groups:
        if len(group.ids) > 1:
            _close_over(group, reasons)
    return reasons


def _own_reason(message: Message, *, pinned: bool) -> str | None:
    source = message.source
    if source in _NEVER_BY_SOURCE:
        return "pinned" if pinned else None
    if source == "persona" or source == "character":
        return source
    if message.required:
        return "required"
    if source not in _WEAK_SYSTEM:
        if message.role == "system":
            return "system"
        if message.role == "developer":
            return "developer"
    return "pinned" if pinned else None


def _close_over(group: Group, reasons: dict[str, str]) -> None:
    known = [reasons[member] for member in group.ids if member in reasons]
    if known:
        for member in group.ids:
            reasons.setdefault(member, known[0])


def _turns(messages: Sequence[Message]) -> list[int]:
    return [at for at, message in enumerate(messages) if not is_aside(message)]


def is_aside(message: Message) -> bool:
    """Tell whether a message stands beside the talk: a persona, an entry, a memory, a summary, a notice."""
    if message.source in _ASIDES:
        return True
    parts = message.parts
    return bool(parts) and type(parts[0]) is Notice and all(type(part) is Notice for part in parts)


def _trailing(messages: Sequence[Message], turns: Sequence[int], role: str) -> tuple[int, ...]:
    first = len(turns)
    while first and messages[turns[first - 1]].role == role:
        first -= 1
    return tuple(turns[first:])


def _groups_at(groups: Sequence[Group], positions: Sequence[int]) -> tuple[Group, ...]:
    wanted = set(positions)
    if not wanted:
        return ()
    return tuple(group for group in groups if not group.orphan and not wanted.isdisjoint(group.positions))
