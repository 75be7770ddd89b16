"""What the Gemini wires demand of a conversation as a whole.

A turn of function calls follows a user message or results, each call has its result, and all results of a turn
stand directly behind it, together. A message says something. User messages in a row are written as one, and a
call that no Gemini model made carries the signature that Google documents for that.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from trimtab_plugins.codecs.gemini_foreign import clear_foreign
from trimtab_plugins.codecs.gemini_ledger import Ledger
from trimtab_plugins.codecs.gemini_originals import Remembered, is_plain
from trimtab_plugins.codecs.gemini_runs import (
    SYSTEM_ROLES,
    answers,
    arranged,
    calls_functions,
    find_runs,
    homes_of,
    is_mixed,
)
from trimtab_plugins.codecs.gemini_values import SKIP_SIGNATURE
from trimtab_plugins.codecs.message_kinds import UNWRITTEN
from trimtab_plugins.codecs.reading import is_blank, shown, shown_list
from trimtab_plugins.codecs.repairs import EMPTY
from trimtab_sdk import (
    Adapted,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    link_groups,
    pair_calls,
)

_MERGED = "wrote user messages that stand in a row as one"
_SIGNED = f"signed calls that no Gemini model made with {SKIP_SIGNATURE}"
_ORPHAN = (
    "it is a function result, and no message before it has the call it answers; add the message with that call, "
    "or unpin or exclude the result"
)
_MOVED_FIRST = "moved in front of the first call, since the wire takes none before the user has spoken"
_FIRST = (
    "it calls functions, and no user message stands before it, which the wire demands; pin that message too, or "
    "unpin or exclude the call"
)
_TORN = (
    "it holds results for calls of different turns, or words of the user between results; give each result a "
    "message of its own, or unpin or exclude it"
)


def adapt_conversation(messages: Sequence[Message], read: Remembered, protected: Collection[str]) -> Adapted:
    """Leave out what the wire refuses, put results behind their calls, and name everything that was mended.

    What is protected and cannot be carried stays and is `refused`. A second run changes nothing.
    """
    ledger = Ledger(frozenset(protected))
    here = clear_foreign(messages, read, ledger)
    linked = has_steps(here)
    if linked:
        _judge_pairs(here, read, ledger)
    _judge_empty(here, read, ledger)
    here = ledger.staying(here)
    if linked:
        here = _with_calls_in_order(here, read, ledger)
    _name_merged(here, ledger)
    return ledger.adapted(here)


def has_steps(messages: Sequence[Message]) -> bool:
    """Tell whether any message holds a call or a result."""
    return any(
        isinstance(part, ToolCall | ToolResult)
        for message in messages
        if not is_plain(message)
        for part in message.parts
    )


def _judge_pairs(messages: Sequence[Message], read: Remembered, ledger: Ledger) -> None:
    pairing = pair_calls(messages)
    orphans = {at for at, _ in pairing.orphans if answers(messages[at]) and not read.continued}
    open_calls = {at for at, _ in pairing.open_calls if messages[at].id not in read.hosted}
    if not orphans and not open_calls:
        return
    for group in link_groups(messages):
        callers = [at for at in group.positions if at in open_calls]
        results = [at for at in group.positions if at in orphans]
        if callers:
            refusal = _open_calls_text(group.open_calls)
            ledger.leave(group.ids, "unpaired", culprit=messages[callers[0]].id, refusal=refusal)
        elif results:
            ledger.leave(group.ids, "unpaired", culprit=messages[results[0]].id, refusal=_ORPHAN)


def _open_calls_text(call_ids: Sequence[str]) -> str:
    return (
        f"it calls functions that have no result ({shown_list(call_ids)}); append a result for each (an error "
        "text will do), or unpin or exclude the message"
    )


def _judge_empty(messages: Sequence[Message], read: Remembered, ledger: Ledger) -> None:
    for message in messages:
        if message.id in ledger.left_out or _says_something(message):
            continue
        if message.id not in ledger.protected:
            ledger.left_out[message.id] = "empty"
        elif not _can_be_blank(message, read):
            ledger.refused.setdefault(message.id, EMPTY)


def _says_something(message: Message) -> bool:
    if is_plain(message):
        return not _says_nothing(message.parts[0])
    return not all(_says_nothing(part) for part in message.parts)


def _says_nothing(part: Part) -> bool:
    if isinstance(part, Text):
        return is_blank(part.text)
    if isinstance(part, Reasoning):
        return is_blank(part.text) and not part.opaque
    return isinstance(part, UNWRITTEN)


def _can_be_blank(message: Message, read: Remembered) -> bool:
    """Whether a protected message may say nothing: system text, blanks, thoughts, what only others could read."""
    if message.role in SYSTEM_ROLES or any(isinstance(part, Text) and part.text for part in message.parts):
        return True
    if message.role == "user":
        return False
    return not read.knows(message) or any(isinstance(part, Reasoning) for part in message.parts)


def _with_calls_in_order(messages: tuple[Message, ...], read: Remembered, ledger: Ledger) -> tuple[Message, ...]:
    _judge_torn(messages, read, ledger)
    here = ledger.staying(messages)
    runs = find_runs(here, read.hosted)
    order, away = arranged(here, homes_of(here, pair_calls(here), runs))
    for position in away:
        ledger.repair(_moved(here[position]), (here[position].id,))
    if away:
        here = tuple(here[position] for position in order)
    if not read.continued:
        here = ledger.staying(_with_input_first(here, read, ledger))
    return _signed(here, read, ledger)


def _moved(message: Message) -> str:
    call_id = next(part.call_id for part in message.parts if isinstance(part, ToolResult))
    return f"moved the result of {shown(call_id)} behind its call"


def _judge_torn(messages: Sequence[Message], read: Remembered, ledger: Ledger) -> None:
    """Leave out results that no order brings behind their calls: one message cannot stand in two places."""
    homes = homes_of(messages, pair_calls(messages), find_runs(messages, read.hosted))
    torn: set[int] = set()
    mixed: set[int] = set()
    for position, found in homes.items():
        if len(found) > 1:
            torn.add(position)
        elif is_mixed(messages[position]) and not read.knows(messages[position]):
            if not mixed.isdisjoint(found):
                torn.add(position)
            mixed |= found
    if torn:
        for group in link_groups(messages):
            culprits = [at for at in group.positions if at in torn]
            if culprits:
                ledger.leave(group.ids, "wire-rule", culprit=messages[culprits[0]].id, refusal=_TORN)


def _with_input_first(messages: tuple[Message, ...], read: Remembered, ledger: Ledger) -> tuple[Message, ...]:
    """Leave out calls that nothing but assistant messages stand before.

    A protected one is saved by the user message right behind its results, which moves in front of it. A user
    message that leaves with a call, since it approves it, stands before nothing.
    """
    first = _next_input(messages, 0, ledger)
    if not any(calls_functions(message, read.hosted) for message in messages[:first]):
        return messages
    groups = {member: group for group in link_groups(messages) for member in group.ids}
    saving = _start_of_steps(messages, 0, first, read)
    for at, message in enumerate(messages):
        if at == first:
            break
        if not calls_functions(message, read.hosted):
            continue
        group = groups[message.id]
        if first < len(messages) and at >= saving and not ledger.protected.isdisjoint(group.ids):
            start = group.positions[0]
            ledger.repair(_MOVED_FIRST, (messages[first].id,))
            return (*messages[:start], messages[first], *messages[start:first], *messages[first + 1 :])
        ledger.leave(group.ids, "wire-rule", culprit=message.id, refusal=_FIRST)
        if first < len(messages) and messages[first].id in ledger.left_out:
            behind = first + 1
            first = _next_input(messages, behind, ledger)
            start = _start_of_steps(messages, behind, first, read)
            saving = saving if start == behind else start
    return messages


def _next_input(messages: Sequence[Message], begin: int, ledger: Ledger) -> int:
    """Where the first staying user message from `begin` on stands that holds no results; the end without one."""
    for at in range(begin, len(messages)):
        message = messages[at]
        if message.role == "user" and not answers(message) and message.id not in ledger.left_out:
            return at
    return len(messages)


def _start_of_steps(messages: Sequence[Message], begin: int, end: int, read: Remembered) -> int:
    """Where the calls, results and thoughts begin that directly precede `end`, at `begin` or behind it."""
    start = end
    while start > begin and _is_of_a_step(messages[start - 1], read):
        start -= 1
    return start


def _is_of_a_step(message: Message, read: Remembered) -> bool:
    if message.role in SYSTEM_ROLES or answers(message) or calls_functions(message, read.hosted):
        return True
    return all(isinstance(part, Reasoning) for part in message.parts)


def _signed(messages: tuple[Message, ...], read: Remembered, ledger: Ledger) -> tuple[Message, ...]:
    signed = list(messages)
    for run in find_runs(messages, read.hosted).callers:
        message = messages[run[0]]
        if read.knows(message):
            continue
        first = next(index for index, part in enumerate(message.parts) if isinstance(part, ToolCall))
        if any(isinstance(part, Reasoning) for part in message.parts[:first]):
            continue
        parts = (*message.parts[:first], Reasoning(opaque=SKIP_SIGNATURE), *message.parts[first:])
        signed[run[0]] = replace(message, parts=parts)
        ledger.note(_SIGNED, message.id)
    return tuple(signed)


def _name_merged(messages: Sequence[Message], ledger: Ledger) -> None:
    spoken = (message for message in messages if message.role not in SYSTEM_ROLES)
    for role, row in groupby(spoken, key=attrgetter("role")):
        ids = [message.id for message in row] if role == "user" else []
        if len(ids) > 1:
            ledger.repair(_MERGED, ids)
