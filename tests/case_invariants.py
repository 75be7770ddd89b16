"""What holds for every run of every case, whatever the case says."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from case_budgets import PROTECTED_REASONS
from case_checks import CHECKS
from case_counting import count_request
from case_files import Json, dump
from case_formats import HEAD
from case_groups import groups_of
from case_run import Run
from case_targets import check_conversion
from case_view_anthropic import blocks_in
from case_wires import faults_of

LEAVING_REASONS = frozenset(
    {
        "manual",
        "context-shift",
        "running-turn",
        "final-budget",
        "low-relevance",
        "summarized",
        "interceptor",
        "wire-rule",
        "unpaired",
        "disabled",
        "empty",
        "model-mismatch",
    }
)
STAYING_REASONS = PROTECTED_REASONS | {"recent", "relevant"}
BUDGET_REASONS = frozenset({"context-shift", "running-turn", "final-budget"})
_ASIDES = frozenset({"persona", "character", "lorebook", "memory", "summary"})
_BINDING = frozenset({"anthropic", "responses"})
_THINKING = frozenset({"thinking", "redacted_thinking", "reasoning"})
MINIMAL_STRATEGIES = frozenset({"truncate", "manual"})


def check_invariants(run: Run) -> None:
    """Check what holds always; after an error, that the input is unchanged and the error complete."""
    CHECKS["input_unchanged"](run, True)
    assert run.connections == 0, run.label
    if run.origin is not None:
        check_conversion(run.origin, run.label)
    if isinstance(run.result, Exception):
        assert run.error.to_dict().keys() == {"code", "message", "details"}, run.label
        return
    for check in INVARIANTS:
        check(run)


def every_message_is_accounted_for_once(run: Run) -> None:
    CHECKS["report_partition"](run, True)


def the_report_has_one_entry_for_each_message_sent(run: Run) -> None:
    """Where the wire packs messages, there may be more entries than messages."""
    fit = run.fit
    entries = len(fit.kept) + len(fit.truncated) + len(fit.inserted)
    sent = len(fit.messages) + (run.head is not None)
    assert sent <= entries if run.setup.wire.packs else sent == entries, run.label


def the_figures_add_up(run: Run) -> None:
    fit = run.fit
    entries = (*fit.kept, *fit.truncated, *fit.inserted)
    assert sum(entry.tokens for entry in entries) + fit.overhead == fit.tokens_after, run.label
    assert fit.tokens_after <= fit.budget.available <= run.setup.budget, run.label


def the_count_is_that_of_the_recipe(run: Run) -> None:
    fit = run.fit
    if fit.tokenizer.approximate:
        return
    independent = count_request(run.views, fit.tokenizer.profile)
    assert independent.tokens <= fit.tokens_after, f"{run.label}: {independent}, {fit.tokens_after} reported"
    if independent.exact and not run.has_extras and not run.setup.wire.packs:
        assert independent.tokens == fit.tokens_after, f"{run.label}: {independent}, {fit.tokens_after} reported"


def reasons_are_the_stable_ones(run: Run) -> None:
    assert {entry.reason for entry in run.fit.excluded} <= LEAVING_REASONS, run.label
    assert {entry.reason for entry in run.fit.kept} <= STAYING_REASONS, run.label


def groups_leave_whole(run: Run) -> None:
    """Of a message that also says something else, only the results may leave, by name."""
    excluded = {entry.index for entry in run.fit.excluded if entry.id not in stripped(run)}
    sent = {answer for view in run.views for answer in view.answers}
    torn = run.named("wire-rule")
    for group in groups_of(run.given_views):
        gone = [at for at in group if at in excluded]
        rest = [run.entry(run.setup.key_of(at)).id for at in group if gone and at not in excluded]
        spared = set(rest) <= torn and sent.isdisjoint(one for at in group for one in run.given_views[at].answers)
        assert not rest or spared or set(rest) <= stripped(run), (
            f"{run.label}: of the group {group} only {gone} left"
        )


def stripped(run: Run) -> set[str]:
    """Give the ids of messages that left alone of their group, since the wire binds reasoning to its prefix."""
    bound = {name for one in run.fit.diagnostics if "reasoning left out" in one.message for name in one.ids}
    return {entry.id for entry in run.fit.excluded if entry.reason == "wire-rule"} & bound


def no_protected_message_leaves(run: Run) -> None:
    kept = {run.key(entry) for entry in run.fit.kept if entry.reason in PROTECTED_REASONS}
    if "may_redact_protected" in run.setup.config:
        kept |= {run.key(entry) for entry in run.fit.truncated}
    for key in (*run.setup.pins, *_always_protected(run)):
        assert key in kept or run.entry(key).reason in ("empty", "unpaired"), f"{run.label}: {run.entry(key)}"


def _always_protected(run: Run) -> list[str | int]:
    """System and developer text of no other source, and the messages of the user that the list ends in."""
    messages = run.setup.messages
    talk = [at for at, message in enumerate(messages) if message.get("kind") not in _ASIDES]
    roles = {at: run.given_views[at].role for at in talk}
    ends = itertools.takewhile(lambda at: roles[at] == "user", reversed(talk))
    always = {*ends, *(at for at in talk if roles[at] in ("system", "developer"))}
    return [*map(run.setup.key_of, always), *([] if run.setup.head is None else [HEAD])]


def no_more_leaves_than_must(run: Run) -> None:
    """Adding back the group that left last would exceed the budget. A conversation cuts down further.

    Where the wire took more for its sake (an answer that would come first, reasoning whose prefix has left), it is
    added back as the strategy saw it, with all that stands behind it.
    """
    fit = run.fit
    if run.setup.strategy not in MINIMAL_STRATEGIES or fit.truncated or run.setup.plugins or run.turn:
        return
    cost = {entry.index: entry.tokens for entry in fit.excluded if entry.reason in BUDGET_REASONS}
    late = {entry.index for entry in fit.excluded if entry.reason == "running-turn"}
    gone = [group for group in groups_of(run.given_views) if group[0] in cost]
    if not gone:
        return
    last = max(gone, key=lambda group: (group[0] in late, group[0]))
    older = [one.tokens for one in fit.excluded if one.index not in last and (one.index or 0) < last[0]]
    with_last = fit.tokens_after + sum(cost.get(at, 0) for at in last)
    as_seen = fit.tokens_before - sum(older) if _wire_took_more(run, last[0]) else 0
    assert max(with_last, as_seen) > fit.budget.available, f"{run.label}: {last}"


def _wire_took_more(run: Run, behind: int) -> bool:
    taken = [one for one in run.fit.excluded if one.reason == "wire-rule" and (one.index or 0) > behind]
    return bool(taken) or any("reasoning left out" in one.message for one in run.fit.diagnostics)


def thinking_is_sent_with_its_prefix_only(run: Run) -> None:
    """Where the wire binds reasoning to what stands before it, it goes out only as long as nothing there is gone.

    What a conversation got later may have been thought on a shortened prefix, and is passed over.
    """
    if run.case.format not in _BINDING:
        return
    kept = set(run.keys(run.fit.kept))
    broken = run.head != run.setup.head or bool(run.fit.truncated)
    for at, message in enumerate(run.setup.messages[: len(run.case.messages)]):
        for block in thinking_in(message):
            assert not broken or dump(block) not in dump(run.messages), f"{run.label}: thinking of {at} is sent"
        broken = broken or run.setup.key_of(at) not in kept


def thinking_in(message: Json) -> list[Json]:
    """Give the reasoning of a message as it stands there: blocks of it, or the item itself."""
    blocks = [message, *blocks_in(message.get("content") if "role" in message else None)]
    return [block for block in blocks if isinstance(block, dict) and block.get("type") in _THINKING]


def what_is_sent_is_valid(run: Run) -> None:
    CHECKS["no_lone_surrogates"](run, True)
    assert faults_of(run.messages, run.case.format, run.head) == [], run.label


def untouched_messages_are_sent_as_they_came(run: Run) -> None:
    named = {name for diagnostic in run.fit.diagnostics for name in diagnostic.ids}
    places = {entry.index for entry in (*run.fit.kept, *run.fit.excluded) if entry.id in named}
    spoken_of = {at for group in groups_of(run.given_views) if places & set(group) for at in group}
    sent = run.sent()
    for entry in run.fit.kept:
        if entry.id not in named and entry.index not in spoken_of:
            assert run.key(entry) in sent, f"{run.label}: {entry} was changed without a word"


INVARIANTS: tuple[Callable[[Run], None], ...] = (
    every_message_is_accounted_for_once,
    the_report_has_one_entry_for_each_message_sent,
    the_figures_add_up,
    the_count_is_that_of_the_recipe,
    reasons_are_the_stable_ones,
    groups_leave_whole,
    no_protected_message_leaves,
    no_more_leaves_than_must,
    thinking_is_sent_with_its_prefix_only,
    what_is_sent_is_valid,
    untouched_messages_are_sent_as_they_came,
)
