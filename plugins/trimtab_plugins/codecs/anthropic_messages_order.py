"""Where tool results stand: together, in front, in the message right behind the answer that calls.

An answer is a stretch of assistant messages that nothing but system text interrupts, for the server takes
them as one turn. A result that stands elsewhere is moved: a message of nothing but results as a whole, and
out of any other message the result alone, into the user message behind the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from trimtab_plugins.codecs.anthropic_messages_kept import (
    holds_calls,
    holds_only_results,
    is_listed_system,
    is_system,
    is_written,
    only_thinks,
)
from trimtab_plugins.codecs.anthropic_messages_work import Work
from trimtab_plugins.codecs.message_kinds import has_result
from trimtab_plugins.codecs.reading import shown_list
from trimtab_sdk import Message, Part, Place, ToolResult, pair_calls


@dataclass(slots=True)
class _Answer:
    """Assistant messages in a row, by the positions of the first that calls and the last that results follow.

    `behind` is the position of the user message that ends the row, `results` those of messages that belong here.
    """

    first_call: int
    last_call: int
    behind: int | None = None
    results: list[int] = field(default_factory=list)


def settle_order(work: Work) -> None:
    """Move results behind their calls and in front of whatever else their message says."""
    if not any(has_result(message) for message in work.messages):
        return
    _move_messages(work)
    _move_parts(work)
    _move_system(work)
    for at, message in enumerate(work.messages):
        _put_results_first(work, at, message)


def _answers(messages: Sequence[Message]) -> dict[int, _Answer]:
    """Give the answer for the position of each assistant message that calls."""
    found: dict[int, _Answer] = {}
    running: _Answer | None = None
    for at, message in enumerate(messages):
        if is_system(message):
            continue
        if message.role != "assistant":
            if running is not None:
                running.behind = at
            running = None
        elif holds_calls(message):
            running = running or _Answer(at, at)
            running.last_call = at
            found[at] = running
        elif running is not None and only_thinks(message):
            # Behind a result it would stand alone.
            running.last_call = at
    return found


def _answer_of(messages: Sequence[Message]) -> dict[Place, _Answer]:
    """Give the answer that each result belongs to, by the place of the result."""
    answers = _answers(messages)
    pairs = pair_calls(messages).call_of.items()
    return {result: answers[call] for result, (call, _) in pairs if call in answers}


def _move_messages(work: Work) -> None:
    """Move each message of nothing but results behind the last answer it holds results of."""
    messages = work.messages
    homes: dict[int, _Answer] = {}
    for (at, _), answer in _answer_of(messages).items():
        if at not in homes or homes[at].last_call < answer.last_call:
            homes[at] = answer
    homes = {at: answer for at, answer in homes.items() if holds_only_results(messages[at])}
    for at in sorted(homes):
        homes[at].results.append(at)
    away: dict[int, _Answer] = {}
    for answer in homes.values():
        for at in _away(messages, answer) if answer.last_call not in away else ():
            away[answer.last_call] = answer
            work.note(f"moved the result of {_named(messages[at])} behind its call", messages[at].id)
    if away:
        _reorder(work, {at: answer.results for at, answer in away.items()})


def _away(messages: Sequence[Message], answer: _Answer) -> list[int]:
    """The results of an answer that others stand in front of; text that goes elsewhere does not count."""
    own = set(answer.results)
    for at in range(answer.last_call + 1, answer.results[-1]):
        if at not in own and not is_system(messages[at]):
            return [result for result in answer.results if result > at]
    return []


def _named(message: Message) -> str:
    return shown_list(part.call_id for part in message.parts if isinstance(part, ToolResult))


def _reorder(work: Work, behind: Mapping[int, Sequence[int]]) -> None:
    """Put messages, by their positions, directly behind others."""
    moved = {at for positions in behind.values() for at in positions}
    order: list[int] = []
    for at in range(len(work.messages)):
        if at not in moved:
            order.append(at)
            order += behind.get(at, ())
    work.messages = [work.messages[at] for at in order]


def _move_parts(work: Work) -> None:
    """Move the results that are still away into the message behind the answer."""
    messages = work.messages
    arriving: dict[int, list[Part]] = {}
    leaving: dict[int, set[int]] = {}
    zones: dict[int, frozenset[int]] = {}
    for (at, index), answer in sorted(_answer_of(messages).items(), key=lambda item: item[0]):
        behind = answer.behind
        if behind is None:
            continue
        if behind not in zones:
            zones[behind] = _zone(messages, behind)
        if at not in zones[behind]:
            part = messages[at].parts[index]
            arriving.setdefault(behind, []).append(part)
            leaving.setdefault(at, set()).add(index)
            what = _named(replace(messages[at], parts=(part,)))
            work.note(
                f"moved the result of {what} into the message behind its call",
                messages[at].id,
                messages[behind].id,
            )
    for at in sorted(leaving.keys() | arriving.keys()):
        gone = leaving.get(at, set())
        parts = [part for index, part in enumerate(messages[at].parts) if index not in gone]
        front = next((i for i, part in enumerate(parts) if not isinstance(part, ToolResult)), len(parts))
        work.set_parts(at, [*parts[:front], *arriving.get(at, ()), *parts[front:]])


def _zone(messages: Sequence[Message], behind: int) -> frozenset[int]:
    """The messages from `behind` on that are packed into one: those of nothing but results, and the next one."""
    zone: set[int] = set()
    for at in range(behind, len(messages)):
        if is_system(messages[at]):
            continue
        if messages[at].role == "assistant":
            break
        zone.add(at)
        if not holds_only_results(messages[at]):
            break
    return frozenset(zone)


def _move_system(work: Work) -> None:
    """Move system messages of the list that stand inside a step behind it."""
    messages = work.messages
    listed = [at for at, message in enumerate(messages) if is_listed_system(message, work.kept)]
    if not listed:
        return
    ends: dict[int, int] = {}
    for (at, _), answer in _answer_of(messages).items():
        ends[answer.first_call] = max(at, ends.get(answer.first_call, at))
    behind: dict[int, list[int]] = {}
    steps = sorted(ends.items(), reverse=True)
    for at in listed:
        while steps and steps[-1][1] < at:
            steps.pop()
        if steps and steps[-1][0] < at:
            behind.setdefault(steps[-1][1], []).append(at)
            work.note("moved it behind the tool results, which follow their calls at once", messages[at].id)
    _reorder(work, behind)


def _put_results_first(work: Work, at: int, message: Message) -> None:
    parts = message.parts
    seen = False
    for part in parts:
        if seen and isinstance(part, ToolResult):
            break
        seen = seen or (is_written(part) and not isinstance(part, ToolResult))
    else:
        return
    results = [part for part in parts if isinstance(part, ToolResult)]
    work.set_parts(at, [*results, *(part for part in parts if not isinstance(part, ToolResult))])
    work.note("put the tool results in front of everything else in their message", message.id)
