"""What must be in every request, and what leaves last.

The rules are pure functions over messages and groups, so that a plugin, the host and `shift_context` read
a conversation alike.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trimtab_sdk.groups import Group
from trimtab_sdk.messages import Message, Notice

_ASIDES = frozenset({"persona", "character", "lorebook", "memory", "summary", "plugin"})
_NEVER_BY_SOURCE = frozenset({"summary", "plugin"})
_TALK = frozenset({"user", "assistant", "tool"})
_TALKED = frozenset({"history", "input", "template", "memory", "lorebook", "summary", "plugin"})
_WEAK_SYSTEM = frozenset({"summary", "plugin", "memory", "lorebook"})


@dataclass(frozen=True, slots=True)
class Tail:
    """How a conversation ends, as positions in it.

    - `inputs`: the current input.
    - `results`: the tool results it ends in; they make the open step.
    - `unanswered`: the tool results that only user messages follow.
    """

    inputs: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    unanswered: tuple[int, ...] = ()


def tail_of(messages: Sequence[Message]) -> Tail:
    """Read the end of a conversation; what stands long before it is not looked at.

    The current input are the user messages the conversation ends in, else its last user message. Personas,
    lorebook entries, memories, summaries, plugin texts and notices are passed over, whatever their role.
    """
    end = len(messages)
    users, before = _run_back(messages, end, "user")
    if users:
        results, _ = _run_back(messages, before, "tool")
        return Tail(inputs=users, unanswered=results)
    results, before = _run_back(messages, end, "tool")
    for at in range(before - 1, -1, -1):
        if messages[at].role == "user" and not is_aside(messages[at]):
            return Tail(inputs=(at,), results=results)
    return Tail(results=results)


def current_input(messages: Sequence[Message]) -> tuple[int, ...]:
    """Give the positions of the current input, as `tail_of` finds it."""
    return tail_of(messages).inputs


def open_step(messages: Sequence[Message], groups: Sequence[Group]) -> tuple[Group, ...]:
    """Give the groups of the tool results that the conversation ends in; nothing when it ends otherwise."""
    return _groups_at(groups, tail_of(messages).results)


def unanswered_step(messages: Sequence[Message], groups: Sequence[Group]) -> tuple[Group, ...]:
    """Give the groups of tool results that only user messages follow. They are not protected, but leave last."""
    return _groups_at(groups, tail_of(messages).unanswered)


def protection_reasons(
    messages: Sequence[Message],
    groups: Sequence[Group],
    *,
    pins: Collection[str] = (),
    tail: Tail | None = None,
) -> dict[str, str]:
    """Tell which messages are protected, and why.

    Gives id → one of `system developer character persona required pinned current-input open-step`. A group
    with one protected member is protected whole; the other members carry the reason of the first. `pins` are
    ids that the caller pinned, besides the messages whose `pinned` is set. A `summary` or `plugin` message is
    protected by a pin only. `tail` goes before what `tail_of` reads, for a list that others were taken out of.
    """
    reasons: dict[str, str] = {}
    end = tail_of(messages) if tail is None else tail
    inputs = set(end.inputs)
    steps = {at for group in _groups_at(groups, end.results) for at in group.positions}
    for position, message in enumerate(messages):
        reason = None
        if message.role not in _TALK or message.source not in _TALKED or message.required or message.pinned:
            reason = _own_reason(message, pinned=message.pinned or message.id in pins)
        elif pins and message.id in pins:
            reason = "pinned"
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


def is_aside(message: Message) -> bool:
    """Tell whether a message stands beside the talk: a persona, an entry, a memory, a summary, a notice."""
    if message.source in _ASIDES:
        return True
    parts = message.parts
    return bool(parts) and type(parts[0]) is Notice and all(type(part) is Notice for part in parts)


def _run_back(messages: Sequence[Message], end: int, role: str) -> tuple[tuple[int, ...], int]:
    """Give the positions of the messages of a role that end in front of `end`, and where their run begins."""
    found: list[int] = []
    begin = end
    for at in range(end - 1, -1, -1):
        if is_aside(messages[at]):
            continue
        if messages[at].role != role:
            break
        found.append(at)
        begin = at
    return tuple(reversed(found)), begin


def _groups_at(groups: Sequence[Group], positions: Sequence[int]) -> tuple[Group, ...]:
    wanted = set(positions)
    if not wanted:
        return ()
    return tuple(group for group in groups if not group.orphan and not wanted.isdisjoint(group.positions))
