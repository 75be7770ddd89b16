"""Calls and results that have lost each other, and ids that the wire refuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from trimtab_plugins.codecs.anthropic_messages_kept import holds_calls, is_written
from trimtab_plugins.codecs.anthropic_messages_work import Work
from trimtab_plugins.codecs.message_kinds import calls_one_of, is_blank_text
from trimtab_plugins.codecs.reading import shown, shown_list
from trimtab_plugins.codecs.unpaired import ORPHAN, open_calls_refusal
from trimtab_sdk import Group, Message, Part, Place, ToolCall, ToolResult, link_groups, pair_calls

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NO_ID = re.compile(r"[^a-zA-Z0-9_-]")


def settle_pairs(work: Work) -> None:
    """Take out results without a call; leave out groups whose calls have no result."""
    pairing = pair_calls(work.messages)
    if pairing.orphans:
        _take_orphans(work, pairing.orphans)
        work.prune()
        pairing = pair_calls(work.messages)
    if not pairing.open_calls:
        return
    for group in link_groups(work.messages):
        if group.open_calls:
            _settle_open(work, group)
    work.prune()


def _take_orphans(work: Work, orphans: Sequence[Place]) -> None:
    by_message: dict[int, set[int]] = {}
    for at, index in orphans:
        by_message.setdefault(at, set()).add(index)
    for at, indexes in by_message.items():
        message = work.messages[at]
        rest = [part for index, part in enumerate(message.parts) if index not in indexes]
        if not any(_says_something(part) for part in rest):
            work.settle(message, "unpaired", ORPHAN)
        else:
            work.set_parts(at, rest)
            parts = [message.parts[index] for index in sorted(indexes)]
            lost = [part.call_id for part in parts if isinstance(part, ToolResult)]
            work.note(f"took out tool results that answer no call: {shown_list(lost)}", message.id)


def _says_something(part: Part) -> bool:
    return is_written(part) and not is_blank_text(part)


def _settle_open(work: Work, group: Group) -> None:
    if work.protected.isdisjoint(group.ids):
        work.leave_group(group, "unpaired")
        return
    callers = [work.messages[at] for at in group.positions if calls_one_of(work.messages[at], group.open_calls)]
    work.refused[callers[0].id] = open_calls_refusal(group.open_calls)


def settle_ids(work: Work) -> None:
    """Rename calls, each with its result, whose id an earlier call has or the wire does not take."""
    calls = list(_calls(work.messages))
    names = _Names(call.call_id for _, call in calls)
    renamed = {
        place: (call.call_id, new) for place, call in calls if (new := names.give(call.call_id)) != call.call_id
    }
    if not renamed:
        return
    result_of = {call: result for result, call in pair_calls(work.messages).call_of.items()}
    changes: dict[Place, str] = {}
    for call, (old, new) in renamed.items():
        places = [place for place in (call, result_of.get(call)) if place is not None]
        changes |= dict.fromkeys(places, new)
        why = "ids of calls must be unique" if _ID.fullmatch(old) else "such ids are of letters, digits, _ and -"
        touched = dict.fromkeys(work.messages[at].id for at, _ in places)
        work.note(f"renamed the call {shown(old)} and its result to {new}, for {why}", *touched)
    _rename(work, changes)


def _calls(messages: Sequence[Message]) -> Iterator[tuple[Place, ToolCall]]:
    for at, message in enumerate(messages):
        if holds_calls(message):
            for index, part in enumerate(message.parts):
                if isinstance(part, ToolCall):
                    yield (at, index), part


def _rename(work: Work, changes: Mapping[Place, str]) -> None:
    for at in {at for at, _ in changes}:
        parts = [_renamed(part, changes.get((at, index))) for index, part in enumerate(work.messages[at].parts)]
        work.set_parts(at, parts)


def _renamed(part: Part, new: str | None) -> Part:
    return replace(part, call_id=new) if new and isinstance(part, ToolCall | ToolResult) else part


class _Names:
    """Hands out ids, each once; the first call that has an id the wire takes keeps it."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = set(wanted)
        self._given: set[str] = set()
        self._numbers: dict[str, int] = {}

    def give(self, old: str) -> str:
        """Give the id of the next call, which has the id `old`."""
        base = _NO_ID.sub("_", old) or "call"
        new = old if old == base and old not in self._given else self._new(base)
        self._given.add(new)
        return new

    def _new(self, base: str) -> str:
        candidate, number = base, self._numbers.get(base, 1)
        while candidate in self._wanted or candidate in self._given:
            number += 1
            candidate = f"{base}-{number}"
        self._numbers[base] = number
        return candidate
