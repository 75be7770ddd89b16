"""The facts of the copied cases about formats: what one wire does to messages, or to those of another format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import case_invariants as always
from case_counting import count_text
from case_covers import Always, Cover, FactCheck, by
from case_files import Key
from case_run import Origin, Run
from case_setup import fit
from case_targets import reasons_on_the_way
from case_turns_after import the_turn_after_that_works_too
from case_views import strings_in

NEARLY = 0.8
"""How much of an exact count an approximate one reaches at least."""


def each_result_answers_its_own_call(runs: Sequence[Run]) -> None:
    pages = {'{"page":1}': "page one", '{"page":2}': "page two"}
    for run in runs:
        calls = [call for view in run.views for call in view.calls]
        answers = [answer for view in run.views for answer in view.answers]
        words = [word for view in run.views if view.answers for word in view.words]
        assert answers == [call.id for call in calls], run.label
        for call, word in zip(calls, words, strict=True):
            assert word.startswith(pages[call.arguments.replace(" ", "")]), run.label


def repeated_ids_are_renamed_where_the_wire_wants_it(runs: Sequence[Run]) -> None:
    for run in runs:
        ids = [call.id for view in run.views for call in view.calls]
        renamed = run.case.format == "anthropic"
        assert len(set(ids)) == (2 if renamed else 1), run.label
        assert {"m2", "m4"} <= {
            name for note in origin_of(run).conversion.notes for name in note.ids
        } or not renamed


def origin_of(run: Run) -> Origin:
    """Give what the run was converted from."""
    assert run.origin is not None
    return run.origin


def leaves_last(step: Sequence[Key], first: Key) -> FactCheck:
    """Make the check that one token short, `first` leaves and the step stays, in the format of the case."""

    def check(runs: Sequence[Run]) -> None:
        setup = origin_of(runs[0]).setup
        whole = fit(setup)
        short = fit(replace(setup, limit=whole.tokens_after - 1))
        assert [setup.key_of(entry.index or 0) for entry in short.excluded] == [first]
        assert {setup.key_of(entry.index or 0) for entry in short.kept} >= set(step)
        assert short.kept[-1].reason == "current-input"

    return check


def results_alone_are_the_tools(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.entry(2).role == "tool"


def the_result_stands_behind_its_call(runs: Sequence[Run]) -> None:
    for run in runs:
        at = next(at for at, view in enumerate(run.views) if view.calls)
        assert run.views[at + 1].answers == tuple(call.id for call in run.views[at].calls), run.label
        assert any(
            "moved" in note.message and {"k1", "r1"} & set(note.ids) for note in origin_of(run).conversion.notes
        )


def the_only_result_is_the_real_one(runs: Sequence[Run]) -> None:
    for run in runs:
        assert [view.words for view in run.views if view.answers] == [("report ready: 3 pages",)], run.label


def nothing_is_inserted(runs: Sequence[Run]) -> None:
    for run in runs:
        assert run.fit.inserted == (), run.label
        assert origin_of(run).setup.strategy == "summarize"


def call_and_response_left_together(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.keys(run.fit.excluded) == [1, 2]


def every_kind_has_its_price(runs: Sequence[Run]) -> None:
    (run,) = runs
    for key in (0, 2):
        texts = [text for text in strings_in(run.given(key)) if " " in text]
        assert run.entry(key).tokens >= NEARLY * sum(map(count_text, texts)), run.entry(key)
    search = run.given(1)["content"][:2]
    assert run.entry(1).tokens > NEARLY * count_text("There is a recall.") + len(search)


def the_counts_are_said_to_be_approximate(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert all(run.entry(key).approximate for key in (0, 1, 2))


def empty_messages_are_left_out_by_name(names: Sequence[str]) -> FactCheck:
    """Make the check that the conversion leaves these out and names each of them."""

    def check(runs: Sequence[Run]) -> None:
        assert len(runs) == 3
        for run in runs:
            for name in names:
                assert origin_of(run).places[name] == (), run.label
                assert reasons_on_the_way(origin_of(run), name) <= {"empty", "wire-rule"}, run.label

    return check


def merged_users_are_named(runs: Sequence[Run]) -> None:
    for run in runs:
        origin = origin_of(run)
        places = [origin.places[name] for name in ("u1", "u3", "u4")]
        always.what_is_sent_is_valid(run)
        if len(set(places)) < 3:
            assert all("wire-rule" in reasons_on_the_way(origin, name) for name in ("u1", "u3", "u4")), run.label


def all_results_are_in_the_message_behind(runs: Sequence[Run]) -> None:
    (run,) = runs
    places = origin_of(run).places
    (call,) = places["a1"]
    assert isinstance(call, int)
    assert places["rA"] == places["rB"] == places["rC"] == (call + 1,)
    kinds = [block["type"] for block in run.given(call + 1)["content"]]
    assert kinds[:3] == ["tool_result"] * 3
    assert "tool_result" not in kinds[3:]


def the_next_user_message_follows(runs: Sequence[Run]) -> None:
    (run,) = runs
    places = origin_of(run).places
    (results,), (follows,) = places["rA"], places["u2"]
    assert isinstance(results, int)
    assert follows in (results, results + 1)


def the_picture_stays_in_its_result(runs: Sequence[Run]) -> None:
    (run,) = runs
    ((results,),) = {origin_of(run).places[name] for name in ("rA", "rB", "rC")}
    second, third = run.given(results)["content"][1:3]
    assert (second["tool_use_id"], third["tool_use_id"]) == ("B", "C")
    assert [inner["type"] for inner in second["content"]] == ["text", "image"]


def the_empty_result_is_sent(runs: Sequence[Run]) -> None:
    (run,) = runs
    (results,) = origin_of(run).places["rC"]
    assert not run.given(results)["content"][2].get("content")


WIRES: Mapping[str, tuple[Cover, ...]] = {
    "26": (
        each_result_answers_its_own_call,
        repeated_ids_are_renamed_where_the_wire_wants_it,
        by("must_keep", "must_not_raise"),
        leaves_last([2, 3, 4], first=1),
    ),
    "32": (
        Always(always.what_is_sent_is_valid),
        by("no_empty_content"),
        by("must_not_split"),
        results_alone_are_the_tools,
    ),
    "34": (
        the_result_stands_behind_its_call,
        the_only_result_is_the_real_one,
        nothing_is_inserted,
        the_turn_after_that_works_too,
    ),
    "35": (
        Always(always.what_is_sent_is_valid),
        call_and_response_left_together,
        Always(always.what_is_sent_is_valid),
        by("reasons"),
    ),
    "42": (every_kind_has_its_price, by("must_keep"), the_counts_are_said_to_be_approximate),
    "51": (
        empty_messages_are_left_out_by_name(["a1", "u2", "a2"]),
        empty_messages_are_left_out_by_name(["a3"]),
        merged_users_are_named,
    ),
    "53": (
        all_results_are_in_the_message_behind,
        the_next_user_message_follows,
        the_picture_stays_in_its_result,
        the_empty_result_is_sent,
        leaves_last(["a1", "rA", "rB", "rC"], first="u1"),
    ),
}
"""Case id → its covers, in the order of its facts."""
