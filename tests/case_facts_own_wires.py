"""The facts of the suite's own cases about formats, summaries on them, and conversations of several turns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import case_invariants as always
from case_counting import count_text
from case_covers import Cover, FactCheck, by
from case_facts_own import older_leaves_before
from case_facts_turns import (
    goes_on,
    images_are_said_to_be_counted,
    inserted_messages,
    there_is_one_summary_at_most,
    what_is_gone_is_covered_or_listed,
)
from case_facts_wires import NEARLY, origin_of
from case_files import Key, dump
from case_run import Run
from case_targets import reasons_on_the_way
from case_view_anthropic import blocks_in
from case_views import strings_in
from trimtab_sdk import TokenBudgetExceededError

LABEL = "[summary of earlier messages by plugin summarize]"


def thinking_yields_by_name(runs: Sequence[Run]) -> None:
    """Thinking goes out whole, or not at all; a message it was taken from is named."""
    outcomes = set()
    for run in runs:
        for at, message in enumerate(run.setup.messages):
            thinking = always.thinking_in(message)
            if not thinking:
                continue
            entry = run.entry(at)
            sent = {dump(block) in dump(run.messages) for block in thinking}
            gone = entry in run.fit.excluded
            assert len(sent) == 1, f"{run.label}: {at} keeps a part of its thinking"
            assert True in sent or gone or entry.id in run.named("wire-rule"), (
                f"{run.label}: {at} lost it in silence"
            )
            outcomes.add((True in sent, gone))
    assert len(outcomes) > 1


def nothing_is_named(runs: Sequence[Run]) -> None:
    for run in runs:
        assert {one.code for one in run.fit.diagnostics} <= {"approximate-tokenizer"}, run.label


def the_call_is_sent_alone(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [block["type"] for block in run.messages[-2]["content"]] == ["tool_use"]


def the_results_stand_in_call_order(runs: Sequence[Run]) -> None:
    (run,) = runs
    (call,) = [view for view in run.views if view.calls]
    (result,) = [view for view in run.views if view.answers]
    assert result.answers == tuple(one.id for one in call.calls)


def the_result_comes_first(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [block["type"] for block in run.messages[2]["content"]] == ["tool_result", "text"]


def the_words_beside_the_result_stay(runs: Sequence[Run]) -> None:
    spared = [run for run in runs if "Only the outside" in dump(run.messages) and not _answers(run)]
    assert spared
    assert all(run.fit.excluded for run in spared)


def _answers(run: Run) -> list[str]:
    return [answer for view in run.views for answer in view.answers]


def every_call_has_an_id_and_a_result_of_its_own(runs: Sequence[Run]) -> None:
    (run,) = runs
    calls = [call for view in run.views for call in view.calls]
    assert len({call.id for call in calls}) == len(calls) == 2
    assert [call.id for call in calls] == _answers(run)
    words = [view.words for view in run.views if view.answers]
    assert words == [("3.40 m",), ("3.55 m",)]


def approximate_counts(*keys: Key) -> FactCheck:
    """Make the check that the report marks the counts of these messages as approximate."""

    def check(runs: Sequence[Run]) -> None:
        for run in runs:
            assert all(run.entry(key).approximate and run.entry(key).tokens > 3 for key in keys), run.label

    return check


def phases_are_those_that_came(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [item.get("phase") for item in run.messages] == [None, "commentary", "final_answer", None]


def responses_follow_the_order_of_the_calls(runs: Sequence[Run]) -> None:
    sent = [run for run in runs if _answers(run)]
    assert sent
    for run in sent:
        (words,) = [view.words for view in run.views if view.answers]
        assert words[0].startswith("Seven hives"), run.label
        assert words[1].startswith("The clinker boat"), run.label


def the_picture_has_a_price(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert 50 < run.entry(0).tokens < 5000


def the_rest_of_the_body_comes_back(runs: Sequence[Run]) -> None:
    (run,) = runs
    body = dict(run.setup.body or {})
    assert body
    assert run.fit.request == {**body, "system": run.setup.head, "messages": run.messages}


def the_smallest_limit_is_enough(runs: Sequence[Run]) -> None:
    (run,) = runs
    error = run.error
    assert isinstance(error, TokenBudgetExceededError)
    assert error.smallest_limit is not None
    enough = run.again(limit=error.smallest_limit)
    assert enough.tokens_after == error.needed


def system_text_has_no_other_voice(runs: Sequence[Run]) -> None:
    for run in runs:
        said = [word for view in run.views if view.role in ("user", "assistant", "tool") for word in view.words]
        assert not [word for word in said if "answer in feet" in word or "the notebook" in word], run.label


def the_picture_is_in_its_result(runs: Sequence[Run]) -> None:
    for run in runs:
        (holder,) = [view for view in run.views if view.data]
        assert holder.answers, run.label
        assert "taken at noon" in holder.words, run.label


def only_anthropic_goes_without_the_greeting(runs: Sequence[Run]) -> None:
    for run in runs:
        arrived = bool(origin_of(run).places["a1"])
        assert arrived == (run.case.format != "anthropic"), run.label


def the_changed_call_is_named(runs: Sequence[Run]) -> None:
    for run in runs:
        assert [len(view.calls) for view in run.views if view.calls] == [1], run.label
        assert len(_answers(run)) == 1, run.label
        assert "wire-rule" in reasons_on_the_way(origin_of(run), 2), run.label


def low_detail_costs_the_base_price(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.entry(0).tokens - run.entry(2).tokens == 4 * 170


def documents_have_their_price(runs: Sequence[Run]) -> None:
    (run,) = runs
    text = " ".join(strings_in(run.given(0)["content"][0]["source"]["data"]))
    assert run.entry(0).tokens >= NEARLY * count_text(text)
    assert 100 < run.entry(2).tokens < 20_000
    assert run.entry(0).approximate
    assert run.entry(2).approximate


def tools_are_overhead(runs: Sequence[Run]) -> None:
    (run,) = runs
    body = dict(run.setup.body or {})
    tools = dump(body.pop("tools"))
    assert run.fit.overhead - run.again(body=body).overhead >= NEARLY * count_text(tools)


def no_label_stands_in_a_summary(runs: Sequence[Run]) -> None:
    for run in runs:
        for message in inserted_messages(run.fit):
            assert message["content"].startswith(LABEL), run.label
            assert message["content"].count("[summary") == message["content"].count("[end of") == 1, run.label


def the_pin_is_obeyed(runs: Sequence[Run]) -> None:
    assert [run.entry("m1").reason for run in runs[1:3]] == ["pinned", "pinned"]
    assert [run.entry("m1") in run.fit.excluded for run in (runs[0], runs[3])] == [True, True]


def each_request_begins_with_the_former(runs: Sequence[Run]) -> None:
    steps = [goes_on(one.messages, other.messages) for one, other in itertools.pairwise(runs)]
    assert all(steps), steps
    assert all(run.head == runs[0].head for run in runs)


def the_summary_leads_a_user_message(runs: Sequence[Run]) -> None:
    (run,) = runs
    key = "content" if run.case.format == "anthropic" else "parts"
    holders = [message for message in run.messages if LABEL in dump(message)]
    assert [message["role"] for message in holders] == ["user"]
    first = blocks_in(holders[0][key])[0]["text"]
    assert first.startswith(LABEL + "\n")
    assert first.endswith("[end of plugin summarize]")


def one_summary_leads_what_the_user_says(runs: Sequence[Run]) -> None:
    for run in runs:
        blocks = [block for message in run.messages for block in blocks_in(message["content"])]
        holders = [message for message in run.messages if LABEL in dump(message)]
        assert sum(LABEL in block.get("text", "") for block in blocks) == len(holders) <= 1, run.label
        assert all(blocks_in(one["content"])[0]["text"].startswith(LABEL) for one in holders), run.label
        assert all(one["role"] == "user" for one in holders), run.label


def the_system_text_does_not_move(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.head == run.setup.head


def the_summary_is_an_item_of_the_system(runs: Sequence[Run]) -> None:
    (run,) = runs
    (at,) = [at for at, item in enumerate(run.messages) if LABEL in dump(item)]
    assert run.messages[at]["role"] in ("system", "developer")
    assert at < len(run.messages) - 1


OWN_WIRES: Mapping[str, tuple[Cover, ...]] = {
    "own-anthropic-thinking-at-the-cut": (thinking_yields_by_name,),
    "own-anthropic-thinking-untouched": (nothing_is_named,),
    "own-anthropic-open-step-under-pressure": (the_call_is_sent_alone,),
    "own-anthropic-results-in-two-messages": (the_results_stand_in_call_order,),
    "own-anthropic-text-before-the-result": (the_result_comes_first,),
    "own-anthropic-mixed-message": (the_words_beside_the_result_stay, older_leaves_before([0, 1], [4])),
    "own-anthropic-one-id-in-every-turn": (every_call_has_an_id_and_a_result_of_its_own,),
    "own-responses-reasoning-at-the-cut": (thinking_yields_by_name,),
    "own-responses-hosted-items-stay": (approximate_counts(0, 2),),
    "own-responses-phase-is-kept": (phases_are_those_that_came,),
    "own-responses-encrypted-reasoning-is-no-text": (approximate_counts(1), by("must_keep")),
    "own-gemini-two-calls-of-one-name": (responses_follow_the_order_of_the_calls,),
    "own-gemini-thoughts-and-pictures": (the_picture_has_a_price,),
    "own-anthropic-users-in-a-row": (nothing_is_named,),
    "own-anthropic-cache-control-is-kept": (the_rest_of_the_body_comes_back,),
    "own-anthropic-system-alone-too-long": (the_smallest_limit_is_enough,),
    "own-system-in-the-middle-on-every-wire": (system_text_has_no_other_voice,),
    "own-picture-in-a-result-on-other-wires": (the_picture_is_in_its_result,),
    "own-greeting-on-other-wires": (only_anthropic_goes_without_the_greeting,),
    "own-broken-arguments-on-other-wires": (the_changed_call_is_named,),
    "own-anthropic-picture-by-its-size": (images_are_said_to_be_counted,),
    "own-chat-picture-by-its-size": (low_detail_costs_the_base_price,),
    "own-anthropic-documents": (documents_have_their_price,),
    "own-tools-are-overhead-on-anthropic": (tools_are_overhead,),
    "own-signatures-cost-nothing-as-text": (by("count_rule"),),
    "own-summaries-merge-over-turns": (
        there_is_one_summary_at_most,
        what_is_gone_is_covered_or_listed,
        no_label_stands_in_a_summary,
    ),
    "own-carried-edit-with-pins": (the_pin_is_obeyed,),
    "own-conversation-on-anthropic": (each_request_begins_with_the_former,),
    "own-conversation-on-responses": (each_request_begins_with_the_former,),
    "own-conversation-on-gemini": (each_request_begins_with_the_former,),
    "own-summaries-over-turns-on-anthropic": (
        one_summary_leads_what_the_user_says,
        what_is_gone_is_covered_or_listed,
    ),
    "own-summary-on-anthropic": (the_summary_leads_a_user_message, the_system_text_does_not_move),
    "own-summary-on-responses": (the_summary_is_an_item_of_the_system,),
    "own-summary-on-gemini": (the_summary_leads_a_user_message, the_system_text_does_not_move),
}
"""Case id → its covers, in the order of its facts. Cases that are not here have no facts."""
