"""The facts of the copied cases that fit one conversation again and again, or insert a summary."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from case_counting import count_text
from case_covers import Cover, by
from case_files import Json, dump
from case_plugins import drop_oldest, strategy
from case_reading import setup_of
from case_run import Run
from case_steps import run_steps
from trimtab import Fit

SAME_PREFIX_AT_LEAST = 9
_LABEL = "[summary of earlier messages by plugin summarize]"


def inserted_messages(fitted: Fit) -> list[Json]:
    """Give the messages of a neutral fit that a plugin inserted."""
    ids = {entry.id for entry in fitted.inserted}
    messages: list[Json] = list(fitted.messages)
    return [message for message in messages if message["id"] in ids]


def the_system_text_is_not_in_the_summary(runs: Sequence[Run]) -> None:
    system = runs[0].given("m0")["content"]
    clauses = [clause.strip() for sentence in system.split(".") for clause in sentence.split(",") if clause]
    summaries = [message["content"] for run in runs for message in inserted_messages(run.fit)]
    assert summaries
    assert not [clause for clause in clauses for summary in summaries if clause in summary]


def there_is_one_summary_at_most(runs: Sequence[Run]) -> None:
    for run in runs:
        ids = [message["id"] for message in run.messages]
        summaries = [ids.index(message["id"]) for message in inserted_messages(run.fit)]
        inputs = [ids.index(entry.id) for entry in run.fit.kept if entry.reason == "current-input"]
        assert len(summaries) <= 1, run.label
        assert all(0 < at < inputs[0] for at in summaries), f"{run.label}: {ids}"


def what_is_gone_is_covered_or_listed(runs: Sequence[Run]) -> None:
    """Where the wire wants the user first, an answer behind the cut leaves by its rule."""
    for run in runs:
        reasons = {entry.reason for entry in run.fit.excluded}
        by_the_wire = {"wire-rule"} if run.case.format == "anthropic" else set()
        assert reasons <= {"summarized", "context-shift", *by_the_wire}, f"{run.label}: {reasons}"
        assert ("summarized" in reasons) == bool(run.fit.inserted), run.label


def the_first_turn_cuts_to_the_target(runs: Sequence[Run]) -> None:
    first = runs[0]
    assert first.setup.target is not None
    assert first.fit.tokens_after <= first.setup.target * first.fit.budget.available


def the_prefix_stays(runs: Sequence[Run]) -> None:
    same = sum(goes_on(one.messages, other.messages) for one, other in itertools.pairwise(runs))
    assert len(runs) == 12
    assert same >= SAME_PREFIX_AT_LEAST


def goes_on(before: Sequence[Json], after: Sequence[Json]) -> bool:
    """Tell whether a request is the former one, byte for byte, with new messages behind it."""
    return len(after) > len(before) and dump(after[: len(before)]) == dump(before)


def the_strategy_is_called_only_when_the_carried_edit_does_not_fit(runs: Sequence[Run]) -> None:
    first = runs[0]
    counted = strategy(drop_oldest)
    setup = replace(setup_of(first.case), strategy="counted", plugins=(("strategy", "counted", counted),))
    steps = first.case.expect["steps"]
    calls = []
    again = []
    for run in run_steps(setup, "counted", first.expect, steps):
        calls.append(len(counted.requests))
        again.append(run)
    slid = [not goes_on(one.messages, other.messages) for one, other in itertools.pairwise(again)]
    called = [after > before for before, after in itertools.pairwise(calls)]
    assert calls[0] == 1
    assert called == slid


def the_summary_is_labelled_and_counted(runs: Sequence[Run]) -> None:
    (run,) = runs
    summed = run.again(strategy="summarize")
    (message,) = inserted_messages(summed)
    (entry,) = summed.inserted
    assert message["role"] == "system"
    assert message["content"].split("\n")[0] == _LABEL
    assert entry.tokens == 3 + count_text("system") + count_text(message["content"])


def nothing_comes_twice_and_the_order_stays(runs: Sequence[Run]) -> None:
    (run,) = runs
    sent = run.sent()
    given = [key for key in run.setup.keys if key in sent]
    assert sent == given
    assert run.fit.inserted == ()


def images_are_said_to_be_counted(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.fit.tokenizer.images in ("exact", "approximate")


TURNS: Mapping[str, tuple[Cover, ...]] = {
    "08": (
        by("must_keep", "first_message"),
        by("count_of_role"),
        the_system_text_is_not_in_the_summary,
        there_is_one_summary_at_most,
        what_is_gone_is_covered_or_listed,
    ),
    "16": (
        the_first_turn_cuts_to_the_target,
        the_prefix_stays,
        the_strategy_is_called_only_when_the_carried_edit_does_not_fit,
        by("max_tokens"),
    ),
    "39": (by("count_rule"), images_are_said_to_be_counted, by("inserted"), by("must_keep")),
    "79": (nothing_comes_twice_and_the_order_stays, by("report_partition")),
}
"""Case id → its covers, in the order of its facts."""
