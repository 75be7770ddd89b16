"""What the Anthropic wire demands of a conversation as a whole.

Every call has its result in the user message right behind it, results in front; ids of calls are unique; texts
are not blank; an answer is more than thinking; the user speaks first. Roles may repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from trimtab_plugins.codecs.anthropic_messages_foreign import settle_foreign
from trimtab_plugins.codecs.anthropic_messages_kept import (
    AnthropicKept,
    is_head,
    is_listed_system,
    is_system,
    is_written,
    only_thinks,
)
from trimtab_plugins.codecs.anthropic_messages_order import settle_order
from trimtab_plugins.codecs.anthropic_messages_pairs import settle_ids, settle_pairs
from trimtab_plugins.codecs.anthropic_messages_work import Work
from trimtab_plugins.codecs.message_kinds import is_blank_text
from trimtab_plugins.codecs.reading import is_blank
from trimtab_plugins.codecs.repairs import EMPTY
from trimtab_sdk import (
    Adapted,
    Compaction,
    Group,
    Message,
    Part,
    Repair,
    Text,
    ToolResult,
    link_groups,
)

_THINKING = "it holds thinking alone, which the wire takes only in front of an answer; unpin or exclude it"
_FIRST = (
    "it would be the first message, and on this wire the user speaks first; pin the user message in front of it "
    "too, or unpin or exclude it"
)


def adapt_conversation(messages: Sequence[Message], kept: AnthropicKept, protected: Collection[str]) -> Adapted:
    """Leave out what the wire refuses, put results where it wants them, and name everything that was mended.

    What is protected and cannot be carried stays and is `refused`. A second run changes nothing.
    """
    work = Work(messages, kept, protected)
    if not all(_is_plain(message) for message in messages):
        settle_foreign(work)
        work.prune()
        settle_pairs(work)
        _settle_blanks(work)
        work.prune()
        _settle_thinking(work)
        work.prune()
    _settle_first(work)
    work.prune()
    settle_ids(work)
    settle_order(work)
    repairs = (*_mended(work.messages, kept), *work.repairs)
    return Adapted(tuple(work.messages), work.left_out, repairs, work.refused)


def _is_plain(message: Message) -> bool:
    """Whether it is a text and nothing else, as most messages are: only the order of roles concerns it."""
    parts = message.parts
    if len(parts) != 1 or message.role == "tool" or message.name is not None:
        return False
    part = parts[0]
    return isinstance(part, Text) and not is_blank(part.text)


def _settle_blanks(work: Work) -> None:
    for at, message in enumerate(work.messages):
        if _is_plain(message):
            continue
        if _says_nothing(message):
            _settle_nothing(work, at, message)
            continue
        parts = [_without_blanks(part) for part in message.parts if not is_blank_text(part)]
        if len(parts) != len(message.parts) or any(
            one is not part for one, part in zip(parts, message.parts, strict=True)
        ):
            work.set_parts(at, parts)
            work.note("took out blank texts", message.id)


def _settle_nothing(work: Work, at: int, message: Message) -> None:
    """System text that is protected and blank adds nothing to its field, so it stays without being written.

    So does reasoning of another provider in front of the calls it led to: it has lost its parts, and stays.
    """
    if message.id in work.protected and _leads_to_more(work, at):
        return
    if not is_head(message, work.kept) or message.id not in work.protected:
        work.settle(message, "empty", EMPTY)
    elif (
        message.parts and message.id == work.kept.head and _is_list(work.kept.entries[message.id].wire["content"])
    ):
        work.set_parts(at, ())
        work.note("took out blank texts", message.id)


def _leads_to_more(work: Work, at: int) -> bool:
    """Tell whether a message without parts that is not from this wire has more of the same answer behind it."""
    message = work.messages[at]
    if message.parts or message.role != "assistant" or message.id in work.kept.entries:
        return False
    row = takewhile(lambda one: one.role == "assistant", work.messages[at:])
    return not all(map(_says_nothing, row))


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _says_nothing(message: Message) -> bool:
    return not any(is_written(part) and not is_blank_text(part) for part in message.parts)


def _without_blanks(part: Part) -> Part:
    if not isinstance(part, ToolResult) or isinstance(part.content, str):
        return part
    content = tuple(inner for inner in part.content if not is_blank_text(inner))
    return part if len(content) == len(part.content) else replace(part, content=content)


def _settle_thinking(work: Work) -> None:
    """Leave out answers of nothing but thinking; one message of it is packed with the others of its answer."""
    for answer in _assistant_rows(work):
        if all(only_thinks(message) for message in answer):
            for message in answer:
                work.settle(message, "wire-rule", _THINKING)


def _assistant_rows(work: Work) -> Iterator[list[Message]]:
    row: list[Message] = []
    for message in work.messages:
        if message.role == "assistant":
            row.append(message)
        elif row and (not is_system(message) or is_listed_system(message, work.kept)):
            yield row
            row = []
    if row:
        yield row


def _settle_first(work: Work) -> None:
    groups: dict[int, Group] = {}
    for at, message in enumerate(work.messages):
        if is_system(message) or message.id in work.left_out:
            continue
        if message.role != "assistant" or any(isinstance(part, Compaction) for part in message.parts):
            return
        groups = groups or {place: group for group in link_groups(work.messages) for place in group.positions}
        if not work.protected.isdisjoint(groups[at].ids):
            work.refused[message.id] = _FIRST
            return
        work.leave_group(groups[at], "wire-rule")


def _mended(messages: Sequence[Message], kept: AnthropicKept) -> tuple[Repair, ...]:
    if not kept.repairs:
        return ()
    return tuple(repair for message in messages for repair in kept.repairs.get(message.id, ()))
