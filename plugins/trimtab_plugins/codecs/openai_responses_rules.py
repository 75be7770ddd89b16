"""What the Responses wire demands of a conversation as a whole.

A result stands somewhere behind its call, every call has its result, reasoning has the answer it led to right
behind it, and a message says something. Roles may repeat, and any of them may be the first or the last.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from trimtab_plugins.codecs.call_names import tell_calls_apart
from trimtab_plugins.codecs.message_kinds import calls_one_of, has_result, has_step, is_blank_text, is_plain
from trimtab_plugins.codecs.misplaced import clear_all
from trimtab_plugins.codecs.openai_responses_foreign import clear_foreign
from trimtab_plugins.codecs.openai_responses_kinds import CALLS
from trimtab_plugins.codecs.openai_responses_originals import KeptItems
from trimtab_plugins.codecs.repairs import EMPTY, mended_in, repairs_of
from trimtab_plugins.codecs.unpaired import ORPHAN, Strays, open_calls_refusal, without_strays
from trimtab_sdk import (
    Adapted,
    ApprovalRequest,
    ApprovalResponse,
    Group,
    Message,
    Notice,
    Repair,
    link_groups,
    pair_calls,
)

_LONE_REASONING = (
    "it is reasoning, and the answer it led to does not stand right behind it; add that answer, or unpin or "
    "exclude the reasoning"
)
_SILENT = ApprovalRequest | ApprovalResponse | Notice


def adapt_conversation(messages: Sequence[Message], kept: KeptItems, protected: Collection[str]) -> Adapted:
    """Leave out what the wire refuses, and name everything that was mended.

    Of messages from another format, parts that have no place here are taken out first. What is protected and
    cannot be carried stays and is `refused`. A second run changes nothing.
    """
    adapting = _Adapting(kept, frozenset(protected))
    cleared, clearings = clear_all(messages, kept.entries, clear_foreign)
    cleared, strays = adapting.judge_pairs(cleared)
    cleared, names = tell_calls_apart(cleared, kept.entries)
    adapting.judge_empty(cleared)
    staying = adapting.staying(cleared)
    adapting.judge_reasoning(staying)
    staying = adapting.staying(staying)
    repairs = (*mended_in(staying, kept.repairs), *repairs_of((*clearings, *strays, *names), staying))
    return Adapted(staying, adapting.left_out, repairs, adapting.refused)


class _Adapting:
    """One run of the rules; each `judge` adds to `left_out` or, for what is protected, to `refused`."""

    def __init__(self, kept: KeptItems, protected: frozenset[str]) -> None:
        self._kept = kept
        self._protected = protected
        self.left_out: dict[str, str] = {}
        self.refused: dict[str, str] = {}

    def staying(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Give the messages that were not left out."""
        if not self.left_out:
            return messages
        return tuple(message for message in messages if message.id not in self.left_out)

    def judge_pairs(self, messages: tuple[Message, ...]) -> tuple[tuple[Message, ...], tuple[Repair, ...]]:
        """Leave out groups with a result whose call is not there, or with a call that has no result.

        Of messages from another format that say something else too, only the results leave.
        """
        if not has_step(messages):
            return messages, ()
        pairing = pair_calls(messages)
        if not pairing.orphans and not pairing.open_calls:
            return messages, ()
        referring = self._kept.refers([message.id for message in messages])
        outside = referring or self._kept.continues
        strays = Strays(messages, ()) if outside else without_strays(messages, pairing, self._kept.entries.keys())
        for group in link_groups(strays.messages):
            if group.orphan and not outside:
                self._judge_orphan(group, strays.messages)
            elif group.open_calls and not referring:
                self._judge_open(group, strays.messages)
        return strays

    def _judge_orphan(self, group: Group, messages: Sequence[Message]) -> None:
        if self._protected.isdisjoint(group.ids):
            self.left_out.update(dict.fromkeys(group.ids, "unpaired"))
        else:
            self.refused.update((messages[at].id, ORPHAN) for at in group.positions if has_result(messages[at]))

    def _judge_open(self, group: Group, messages: Sequence[Message]) -> None:
        callers = [messages[at] for at in group.positions if self._needs_result(messages[at], group.open_calls)]
        if not callers:
            return
        if self._protected.isdisjoint(group.ids):
            self.left_out.update(dict.fromkeys(group.ids, "unpaired"))
        else:
            self.refused[callers[0].id] = open_calls_refusal(group.open_calls)

    def _needs_result(self, message: Message, call_ids: Collection[str]) -> bool:
        kind = self._kept.kind(message.id)
        if isinstance(kind, str) and kind in CALLS and not CALLS[kind].needs_result:
            return False
        return calls_one_of(message, call_ids)

    def judge_empty(self, messages: Sequence[Message]) -> None:
        """Leave out messages that say nothing."""
        for message in messages:
            if is_plain(message) or message.id in self.left_out or not self._says_nothing(message):
                continue
            if message.id not in self._protected:
                self.left_out[message.id] = "empty"
            elif self._has_no_content(message):
                self.refused[message.id] = EMPTY

    def _says_nothing(self, message: Message) -> bool:
        if self._kept.kind(message.id) not in ("message", None):
            return False
        return all(isinstance(part, _SILENT) or is_blank_text(part) for part in message.parts)

    def _has_no_content(self, message: Message) -> bool:
        if self._kept.kind(message.id) is None:
            return message.role == "tool"
        return self._kept.entries[message.id].wire.get("content") in (None, [])

    def judge_reasoning(self, messages: Sequence[Message]) -> None:
        """Leave out reasoning that no part of an answer follows."""
        leads = False
        for message in reversed(messages):
            if self._kept.kind(message.id) != "reasoning":
                leads = message.role == "assistant"
            elif not leads and message.id in self._protected:
                self.refused[message.id] = _LONE_REASONING
            elif not leads:
                self.left_out[message.id] = "wire-rule"
