"""What the Chat Completions wire demands of a conversation as a whole.

A tool message stands right behind the assistant message that called it, every call has its result, and a
message says something. Roles may repeat, and any of them may be the first or the last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.chat_completions_foreign import clear_foreign
from trimtab_plugins.codecs.chat_completions_runs import call_runs
from trimtab_plugins.codecs.message_kinds import UNWRITTEN, calls_one_of, has_call, has_step, is_plain
from trimtab_plugins.codecs.misplaced import clear_all
from trimtab_plugins.codecs.originals import Entry, Kept
from trimtab_plugins.codecs.reading import is_blank, shown
from trimtab_plugins.codecs.repairs import EMPTY, mended_in, repairs_of
from trimtab_plugins.codecs.unpaired import ORPHAN, open_calls_refusal, without_strays
from trimtab_sdk import (
    Adapted,
    Message,
    Pairing,
    Reasoning,
    Repair,
    Text,
    ToolResult,
    link_groups,
    pair_calls,
)


def adapt_conversation(messages: Sequence[Message], kept: Kept, protected: Collection[str]) -> Adapted:
    """Leave out what the wire refuses, move results behind their calls, and name everything that was mended.

    Of messages from another wire, parts that have no place here are taken out first. What is protected and
    cannot be carried stays and is `refused`. A second run changes nothing.
    """
    left_out: dict[str, str] = {}
    refused: dict[str, str] = {}
    keep = frozenset(protected)
    cleared, clearings = clear_all(messages, kept.entries, clear_foreign)
    notable = [message for message in cleared if not is_plain(message)]
    linked = has_step(notable)
    pairing = pair_calls(cleared) if linked else _NO_PAIRS
    if pairing.orphans or pairing.open_calls:
        strays = without_strays(cleared, pairing, kept.entries.keys())
        cleared, clearings = strays.messages, (*clearings, *strays.repairs)
        notable = [message for message in cleared if not is_plain(message)]
        _judge_pairs(cleared, keep, left_out, refused)
    for message in notable:
        entry = kept.entries.get(message.id)
        if message.id not in left_out and _says_nothing(message, entry):
            _judge_empty(message, entry, keep, left_out, refused)
    staying = cleared
    if left_out:
        staying = tuple(message for message in staying if message.id not in left_out)
    if left_out or clearings:
        pairing = pair_calls(staying) if linked else _NO_PAIRS
    staying, moves = _with_results_behind_calls(staying, pairing, kept.entries.keys())
    silenced = [name for name, why in left_out.items() if why == "empty"]
    repairs = (*mended_in(staying, kept.repairs), *repairs_of(clearings, staying, silenced), *moves)
    return Adapted(staying, left_out, repairs, refused)


def results_behind_calls(messages: Sequence[Message], known: Collection[str]) -> tuple[Message, ...]:
    """Give messages that each hold one tool result at most in the order the wire wants them in.

    Results stand behind the last call of the run of answers that `call_runs` finds.
    """
    return _with_results_behind_calls(tuple(messages), pair_calls(messages), known)[0]


_NO_PAIRS = Pairing({}, (), ())


def _judge_pairs(
    messages: Sequence[Message],
    protected: Collection[str],
    left_out: dict[str, str],
    refused: dict[str, str],
) -> None:
    for group in link_groups(messages):
        if not group.orphan and not group.open_calls:
            continue
        if not any(member in protected for member in group.ids):
            left_out.update(dict.fromkeys(group.ids, "unpaired"))
        elif group.orphan:
            refused.update((messages[at].id, ORPHAN) for at in group.positions if messages[at].role == "tool")
        else:
            caller = next(
                messages[at].id for at in group.positions if calls_one_of(messages[at], group.open_calls)
            )
            refused[caller] = open_calls_refusal(group.open_calls)


def _says_nothing(message: Message, entry: Entry | None) -> bool:
    for part in message.parts:
        if isinstance(part, Text):
            if not is_blank(part.text):
                return False
        elif isinstance(part, Reasoning):
            # Reasoning of another wire is not written, so it says nothing here.
            if entry is not None and not (is_blank(part.text) and not part.opaque):
                return False
        elif not isinstance(part, UNWRITTEN):
            return False
    return True


def _judge_empty(
    message: Message,
    entry: Entry | None,
    protected: Collection[str],
    left_out: dict[str, str],
    refused: dict[str, str],
) -> None:
    if message.id not in protected:
        left_out[message.id] = "empty"
    elif message.role == "tool" or (entry is not None and entry.wire.get("content") in (None, [])):
        refused[message.id] = EMPTY


def _with_results_behind_calls(
    messages: tuple[Message, ...],
    pairing: Pairing,
    known: Collection[str],
) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
    homes = _homes(messages, pairing, known)
    if not homes:
        return messages, ()
    results: dict[int, list[int]] = {}
    for position, home in homes.items():
        results.setdefault(home, []).append(position)
    order: list[int] = []
    for position in range(len(messages)):
        if position not in homes:
            order.append(position)
            order.extend(results.get(position, ()))
    away = [
        position
        for home, answers in results.items()
        for place, position in enumerate(answers, start=home + 1)
        if position != place
    ]
    if not away:
        return messages, ()
    return tuple(messages[position] for position in order), tuple(_move(messages[position]) for position in away)


def _homes(messages: Sequence[Message], pairing: Pairing, known: Collection[str]) -> dict[int, int]:
    """The position behind which each message of results belongs: of its last call, or of the run that is in."""
    if not pairing.call_of:
        return {}
    ends = {at: last for first, last in call_runs(messages, known) for at in range(first, last)}
    homes: dict[int, int] = {}
    for (position, _), (call, _) in pairing.call_of.items():
        answer = messages[position]
        if answer.role != "assistant" and messages[call].role != "tool" and not has_call(answer):
            homes[position] = max(ends.get(call, call), homes.get(position, 0))
    return homes


def _move(message: Message) -> Repair:
    call_id = next(part.call_id for part in message.parts if isinstance(part, ToolResult))
    return Repair((message.id,), f"moved the result of {shown(call_id)} behind its call")
