"""What holds for every story of turns, whatever its case says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from hashlib import sha256

from case_counting import count_request
from case_files import dump
from case_invariants import LEAVING_REASONS, STAYING_REASONS
from case_turns_cursors import OF_CURSORS
from case_turns_story import Story, Told, core, is_notice, says
from case_wires import faults_of
from trimtab.turns.events import LAST_KINDS

_TAKES_AWAY = frozenset({"branch", "remove"})


def check_always(story: Story) -> None:
    """Check what holds for every story, and for each of its turns."""
    for check in OF_STORIES:
        check(story)
    for told in story.told:
        for check_turn in (*OF_TURNS, *OF_CURSORS):
            check_turn(story, told)


def servers_take_every_request(story: Story) -> None:
    assert story.faults == (), story.label
    assert story.left == 0, f"{story.label}: {story.left} replies were not asked for"


def nothing_stored_is_lost_or_doubled(story: Story) -> None:
    """What is active stays so, unless somebody branched; a cut answer goes when its turn is tried again."""
    assert set(story.known) == set(story.ids.values()), story.label
    steps = story.case.data.get("request", {}).get("steps", ())
    branches = "active_leaf" in story.case.data or any(step["do"] in _TAKES_AWAY for step in steps)
    for told in story.told:
        ids = [one.message.id for one in told.stored]
        assert len(set(ids)) == len(ids), f"{story.label} turn {told.name}"
    for before, after in itertools.pairwise(story.told):
        whole = [one.message.id for one in before.stored if one.status == "complete"]
        kept = [one.message.id for one in after.stored if one.message.id in whole]
        assert branches or kept == whole, f"{story.label} turn {after.name}: of {whole} only {kept} are there"


def every_input_is_stored(story: Story) -> None:
    for told in story.told:
        if told.error is None and told.turn is not None:
            assert set(told.turn.input_ids) <= story.known.keys(), f"{story.label} turn {told.name}"


def stored_messages_grow_in_number(story: Story, told: Told) -> None:
    numbers = [one.seq for one in told.stored]
    assert numbers == sorted(set(numbers)), f"{story.label} turn {told.name}"
    for before, after in itertools.pairwise(told.stored):
        assert after.parent == before.message.id, f"{story.label} turn {told.name}"


def a_turn_has_one_end(story: Story, told: Told) -> None:
    if told.was_killed or told.error is not None:
        assert told.events == (), f"{story.label} turn {told.name}"
        return
    kinds = [event.kind for event in told.events]
    assert kinds[0] == "turn_started", f"{story.label}: {kinds}"
    assert [kind for kind in kinds if kind in LAST_KINDS] == kinds[-1:], f"{story.label}: {kinds}"


def an_ended_turn_leaves_the_chat_free(story: Story, told: Told) -> None:
    if told.was_killed or told.error is not None:
        return
    assert told.chat.turn_id is None, f"{story.label} turn {told.name}"
    assert told.turn is not None
    assert f"turn_{told.turn.state}" == told.outcome, f"{story.label} turn {told.name}: {told.turn.state}"
    assert told.turn.loop_state is None, f"{story.label} turn {told.name}"


def no_cursor_is_kept_where_there_is_none(story: Story, told: Told) -> None:
    if told.audit is not None and told.audit.continuation.get("cause") == "stateless":
        assert told.chat.last_provider_state is None, f"{story.label} turn {told.name}"


def the_audit_is_that_of_the_turn(story: Story, told: Told) -> None:
    """One that made a request has one of its own, ended as the turn did."""
    if not _made_requests(told):
        return
    audit = told.the_audit
    assert told.turn is not None
    assert (audit.turn_id, audit.status) == (told.turn.id, told.turn.state), f"{story.label} turn {told.name}"
    assert told.matches is True, f"{story.label} turn {told.name}: the audit does not lead to what was sent"


def the_audit_tells_what_was_sent(story: Story, told: Told) -> None:
    if not _made_requests(told):
        return
    where = f"{story.label} turn {told.name}"
    audit = told.the_audit
    assert audit.request_digest == sha256(told.last_sent.raw).hexdigest(), where
    sent = [core(view) for view in told.last_sent.views]
    shown = told.last_sent.seen is not None
    for block in audit.blocks:
        stored = told.message(block.id)
        if block.change is None and (shown or not block.behind_cursor):
            assert stored is not None, f"{where}: {block}"
            assert core(says(stored.message)) in sent, f"{where}: {block}"


def the_audit_accounts_for_the_branch(story: Story, told: Told) -> None:
    if not _made_requests(told):
        return
    audit = told.the_audit
    named = {block.id for block in audit.blocks} | {one.id for one in audit.left_out}
    made = {block.id for block in audit.blocks if block.change is not None and block.change.kind == "inserted"}
    branch = [one.message.id for one in told.stored if not is_notice(one)]
    rest = [one for one in branch if one not in named]
    # What came of the last request is behind it.
    assert rest == branch[len(branch) - len(rest) :], f"{story.label} turn {told.name}: {rest}"
    assert named - made <= set(branch), f"{story.label} turn {told.name}: {named - made - set(branch)}"


def the_figures_add_up(story: Story, told: Told) -> None:
    if not _made_requests(told):
        return
    where = f"{story.label} turn {told.name}"
    audit = told.the_audit
    assert sum(block.tokens for block in audit.blocks) + audit.overhead == audit.recount, where
    assert audit.recount <= audit.budget.available, where
    if audit.tokenizer.profile not in ("o200k_base", "cl100k_base"):
        return
    own = count_request(told.last_sent.views, audit.tokenizer.profile)
    assert own.tokens <= audit.recount, f"{where}: {own}"
    if own.exact and not told.last_sent.body.get("tools"):
        assert own.tokens == audit.recount, f"{where}: {own}, {audit.recount} in the audit"


def reasons_are_the_stable_ones(story: Story, told: Told) -> None:
    if told.audit is None:
        return
    inserted = {block.reason for block in told.audit.blocks if block.change is not None}
    assert {block.reason for block in told.audit.blocks} - inserted <= STAYING_REASONS, story.label
    assert {one.reason for one in told.audit.left_out} <= LEAVING_REASONS, story.label


def what_is_sent_is_valid(story: Story, told: Told) -> None:
    for sent in told.sent:
        if sent.has_cursor and sent.seen is None:
            continue
        faults = faults_of(sent.whole, sent.form, sent.head)
        assert faults == [], f"{story.label} turn {told.name}: {faults} {dump(sent.whole)}"


def _made_requests(told: Told) -> bool:
    return bool(told.sent) and not told.was_killed


OF_STORIES: tuple[Callable[[Story], None], ...] = (
    servers_take_every_request,
    nothing_stored_is_lost_or_doubled,
    every_input_is_stored,
)
OF_TURNS: tuple[Callable[[Story, Told], None], ...] = (
    stored_messages_grow_in_number,
    a_turn_has_one_end,
    an_ended_turn_leaves_the_chat_free,
    no_cursor_is_kept_where_there_is_none,
    the_audit_is_that_of_the_turn,
    the_audit_tells_what_was_sent,
    the_audit_accounts_for_the_branch,
    the_figures_add_up,
    reasons_are_the_stable_ones,
    what_is_sent_is_valid,
)
