"""What holds for every turn with a provider that keeps the conversation, and the words of cases about that."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from case_turns_fakes import Sent
from case_turns_story import Story, Told, core, says
from trimtab.continuation.notices import SENTENCES
from trimtab_sdk import Notice

_KEEPS = frozenset({"responses", "interactions"})


def notices_of(told: Told) -> list[Notice]:
    """Give the notices about cursors that the active branch holds after a turn."""
    parts = (part for one in told.stored for part in one.message.parts)
    return [part for part in parts if isinstance(part, Notice) and part.kind == "continuation_transition"]


def new_notices(story: Story, told: Told) -> list[Notice]:
    """Give the notices that a turn added."""
    before = [one for one in story.told[: story.told.index(told)] if one.error is None]
    return notices_of(told)[len(notices_of(before[-1])) if before else 0 :]


def degradations(told: Told) -> list[str]:
    """Give the reasons why a turn did not use a cursor, as its events tell them."""
    return [str(one.to_dict()["reason"]) for one in told.events if one.kind == "continuation_degraded"]


def told_three_ways(story: Story, told: Told) -> None:
    """Each degradation is a notice on the stream, one in the chat, and a line of the log; nothing else is."""
    reasons, where = degradations(told), f"{story.label} turn {told.name}"
    shown = [one.to_dict() for one in told.events if one.kind == "fallback_notice"]
    assert [one["reason"] for one in shown] == reasons, where
    assert [one["message"] for one in shown] == [SENTENCES[reason] for reason in reasons], where  # type: ignore[index]
    lines = [line.partition("reason=")[2].split()[0] for line in told.log if "[continuation][degrade]" in line]
    assert lines == reasons, f"{where}: {told.log}"
    stored = new_notices(story, told)
    ended_well = told.outcome == "turn_completed"
    assert [(one.data["reason"], one.data["recovered"]) for one in stored] == [
        (reason, ended_well) for reason in reasons
    ], f"{where}: {stored}"


def the_provider_sees_nothing_else(story: Story, told: Told) -> None:
    """What is held and what is sent are together the blocks of the audit, in their order."""
    if not _keeps(told):
        return
    audit = told.the_audit
    if any(block.change is not None for block in audit.blocks):
        return
    listed = [core(says(one.message)) for block in audit.blocks if (one := told.message(block.id)) is not None]
    seen = [core(view) for view in told.last_sent.views]
    assert seen == listed, f"{story.label} turn {told.name}: {seen} and not {listed}"


def with_a_cursor_only_what_is_new_is_sent(story: Story, told: Told) -> None:
    """The request has the messages that the audit does not say to be behind the cursor."""
    if not _keeps(told):
        return
    behind = sum(block.behind_cursor for block in told.the_audit.blocks)
    sent = told.last_sent
    assert bool(behind) == sent.has_cursor, f"{story.label} turn {told.name}: {behind} behind the cursor"
    assert len(sent.whole) - len(sent.messages) == behind, f"{story.label} turn {told.name}"


def no_cursor_is_shown(story: Story, told: Told) -> None:
    """The ids of answers are in no event, no notice, no log line, and no audit."""
    said = [repr(one.to_dict()) for one in told.events]
    said += [*told.log, repr([one.data for one in notices_of(told)]), repr(told.audit)]
    shown = [one for one in story.answers if any(one in text for text in said)]
    assert shown == [], f"{story.label} turn {told.name}"


def _keeps(told: Told) -> bool:
    forms = {sent.form for sent in told.sent}
    return bool(forms & _KEEPS) and not told.was_killed and told.last_sent.seen is not None


OF_CURSORS: tuple[Callable[[Story, Told], None], ...] = (
    told_three_ways,
    the_provider_sees_nothing_else,
    with_a_cursor_only_what_is_new_is_sent,
    no_cursor_is_shown,
)
"""What holds for each turn."""


def was_refused(told: Told) -> bool:
    """Tell whether the provider refused a cursor in a turn."""
    return any(call.error_code == "PROVIDER_CURSOR_LOST" for call in told.the_audit.calls)


def decided(told: Told) -> set[str]:
    """Give the decisions of a turn: the last one, and the one before when its cursor was refused."""
    last = {str(told.the_audit.continuation["decision"])}
    return last | {"continue_with_cursor"} if was_refused(told) else last


def refused_as(told: Told, *reasons: str) -> bool:
    """Tell whether the provider refused a cursor in a turn, and the turn says so with one of these reasons."""
    return was_refused(told) and told.the_audit.continuation.get("reason") in reasons


def replayed_once(told: Told) -> bool:
    """Tell whether exactly one request of a turn went out without a cursor, the last one."""
    return [sent.has_cursor for sent in told.sent][-2:] == [True, False] and _whole(told.sent) == 1


def _whole(sent: Sequence[Sent]) -> int:
    return sum(not one.has_cursor for one in sent)
