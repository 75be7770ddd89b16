"""The case runner itself: its checkers find what is wrong, and leave nothing of a case unread."""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import case_invariants as always
import case_turns_always as of_turns
import case_turns_cursors as of_cursors
from case_budgets import budgets, tokens
from case_checks import CHECKS, check_fields
from case_counting import Count, count_request, count_text
from case_covers import Waits, by, check_fact
from case_files import Case, Json, expand, missing, unknown_keys
from case_formats import WIRES
from case_groups import groups_of
from case_reading import setup_of
from case_run import Run
from case_runner import run_case
from case_setup import Setup
from case_steps import steps_of
from case_targets import check_conversion
from case_turns_checks import STORY_CHECKS, check_story_fields
from case_turns_covers import Partly, check_story_fact
from case_turns_plan import plan_of
from case_turns_play import play
from case_turns_runner import run_story
from case_turns_story import Story, Told
from case_viewers import views_of
from case_wire_chat import chat_faults
from case_wires import empty_contents
from trimtab import Fit
from trimtab.report import Diagnostic, Entry

TEXT = "The ferry was late, the crane was later, and nobody had brought the list. " * 3
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "31.4"}
QUESTION = {"role": "user", "content": "Well?"}


def case(messages: list[Json], expect: Json, *, format: str = "neutral", **settings: Any) -> Case:
    codec = WIRES[format].codec
    known = {"budget": {"max_input": 100_000}, "model": "any", "strategy": "truncate"}
    data = {
        "id": "made",
        "title": "",
        "area": "budget",
        "format": format,
        "needs": ["fit", f"codec:{codec}"],
        "settings": {**known, **settings},
        "messages": messages,
        "expect": expect,
    }
    return Case("made", "made.json", data)


def chat() -> list[Json]:
    return [
        {"id": "s", "role": "system", "content": "Be brief."},
        {"id": "m1", "role": "user", "content": TEXT},
        {
            "id": "a1",
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "t", "name": "f", "arguments": {}}],
        },
        {"id": "r1", "role": "tool", "content": TEXT, "tool_call_id": "t"},
        {"id": "u", "role": "user", "content": "Well?"},
    ]


def trimmed() -> Run:
    """A run that had to leave out one message."""
    (run,) = run_case(case(chat(), {"outcome": "ok"}, budget={"max_input": "count(all)-1"}))
    assert run.keys(run.fit.excluded) == ["m1"]
    return run


THINKS = {
    "role": "assistant",
    "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Late."}],
}


def thoughtful() -> Run:
    """A run on the Anthropic wire, of an answer that was thought about."""
    (run,) = run_case(case([QUESTION, THINKS, QUESTION], {"outcome": "ok"}, format="anthropic"))
    return run


def failed() -> Run:
    """A run in which what is protected did not fit."""
    (run,) = run_case(case(chat(), {"outcome": "error"}, budget={"max_input": 10}))
    return run


WRONG: dict[str, Json] = {
    "outcome": "error",
    "must_keep": ["m1"],
    "byte_identical_ids": ["m1"],
    "must_exclude": ["a1"],
    "must_exclude_any_of": ["s", "u"],
    "must_exclude_or_truncate": ["m1", "u"],
    "excluded": [],
    "truncated": ["a1"],
    "inserted": ["somebody"],
    "reasons": {"m1": ["manual"]},
    "must_not_split": [["m1", "a1"]],
    "byte_identical": True,
    "byte_identical_blocks": ["messages[1]"],
    "must_not_split_blocks": [["messages[0]", "messages[1]"]],
    "must_contain": ["The ferry was early"],
    "must_lack": ["Be brief."],
    "because": {"s": "pinned"},
    "named": {"wire-rule": ["u"]},
    "images": "exact",
    "max_tokens": 20,
    "max_tokens_rule": "<= max_output",
    "first_message": "m1",
    "first_role_in": ["user"],
    "last_role_in": ["assistant"],
    "order": ["u", "s"],
    "count_of_role": {"user": 2},
    "max_seconds": 0,
    "count_rule": {"message": "u", "between": [1000, 2000]},
    "provider_calls": 1,
    "must_not_raise": False,
    "no_lone_surrogates": False,
    "no_empty_content": False,
    "needs_trim": False,
    "idempotent": False,
    "report_partition": False,
    "input_unchanged": False,
}
"""Field → a value that does not hold for `trimmed()`; a flag has no other value than true."""
WRONG_OF_AN_ERROR: dict[str, Json] = {
    "outcome": "ok",
    "error_code": "INVALID_REQUEST",
    "error_code_any_of": ["INVALID_BUDGET"],
    "must_name": ["m1"],
    "must_not_raise": True,
}


@pytest.mark.parametrize("field", sorted(WRONG))
def test_a_field_that_does_not_hold_is_found(field: str) -> None:
    with pytest.raises(AssertionError):
        CHECKS[field](trimmed(), WRONG[field])


@pytest.mark.parametrize("field", sorted(WRONG_OF_AN_ERROR))
def test_a_field_of_an_error_that_does_not_hold_is_found(field: str) -> None:
    run = replace(failed(), expect={"outcome": "ok"})
    with pytest.raises(AssertionError):
        CHECKS[field](run, WRONG_OF_AN_ERROR[field])


def test_every_field_is_shown_to_fail() -> None:
    assert WRONG.keys() | WRONG_OF_AN_ERROR.keys() == CHECKS.keys()


def test_a_message_sent_with_another_text_is_not_kept() -> None:
    run = trimmed()
    changed = [{**message, "content": "X"} for message in run.messages]
    with pytest.raises(AssertionError, match="u was changed"):
        CHECKS["must_keep"](with_fit(run, messages=changed), ["u"])


def test_a_changed_input_is_found() -> None:
    run = trimmed()
    run.setup.messages[1]["content"] = "X"
    with pytest.raises(AssertionError, match="the input was changed"):
        CHECKS["input_unchanged"](run, True)


def test_lone_surrogates_that_go_out_are_found() -> None:
    run = trimmed()
    with pytest.raises(UnicodeEncodeError):
        CHECKS["no_lone_surrogates"](with_fit(run, messages=[{"role": "user", "content": "\ud83d"}]), True)


def test_a_blank_message_that_goes_out_is_found() -> None:
    run = trimmed()
    with pytest.raises(AssertionError):
        CHECKS["no_empty_content"](with_fit(run, messages=[{"role": "user", "content": " \n"}]), True)


def test_a_field_without_a_check_fails_the_run() -> None:
    (run,) = run_case(case(chat(), {"outcome": "ok", "must_shine": True}))
    with pytest.raises(KeyError, match="must_shine"):
        check_fields(run)


def test_settings_and_keys_that_nobody_reads_are_found() -> None:
    with pytest.raises(KeyError, match="lore_budget"):
        setup_of(case(chat(), {"outcome": "ok"}, lore_budget=3))
    assert unknown_keys(case(chat(), {}).with_data(lorebook=[])) == {"lorebook"}


def with_fit(run: Run, **changes: Any) -> Run:
    return replace(run, result=replace(run.fit, **changes))


def renamed(entry: Entry, **changes: Any) -> tuple[Entry, ...]:
    return (replace(entry, **changes),)


TAMPERINGS: dict[Callable[[Run], None], Callable[[Fit], dict[str, Any]]] = {
    always.every_message_is_accounted_for_once: lambda fit: {"kept": fit.kept[1:]},
    always.the_report_has_one_entry_for_each_message_sent: lambda fit: {"messages": fit.messages[1:]},
    always.the_figures_add_up: lambda fit: {"tokens_after": fit.tokens_after - 1},
    always.the_count_is_that_of_the_recipe: lambda fit: {"tokens_after": fit.tokens_after + 1},
    always.reasons_are_the_stable_ones: lambda fit: {"excluded": renamed(fit.excluded[0], reason="boring")},
    always.groups_leave_whole: lambda fit: {"excluded": renamed(fit.kept[1]), "kept": fit.kept[2:]},
    always.no_protected_message_leaves: lambda fit: {"kept": fit.kept[:-1], "excluded": renamed(fit.kept[-1])},
    always.no_more_leaves_than_must: lambda fit: {"tokens_after": 0},
    always.thinking_is_sent_with_its_prefix_only: lambda fit: {"kept": fit.kept[:0]},
    always.what_is_sent_is_valid: lambda fit: {"messages": [fit.messages[0], fit.messages[0]]},
    always.untouched_messages_are_sent_as_they_came: lambda fit: {"messages": fit.messages[:-1]},
}
"""Invariant → a change to a fit that breaks it."""


@pytest.mark.parametrize("check", always.INVARIANTS, ids=lambda check: check.__name__)
def test_an_invariant_that_is_broken_is_found(check: Callable[[Run], None]) -> None:
    run = thoughtful() if check is always.thinking_is_sent_with_its_prefix_only else trimmed()
    check(run)
    with pytest.raises(AssertionError):
        check(with_fit(run, **TAMPERINGS[check](run.fit)))


@pytest.mark.parametrize(
    ("messages", "fault"),
    [
        (["hello"], "no object"),
        ([{"role": "narrator", "content": "x"}], "role"),
        ([{"role": "user"}], "no content"),
        ([{"role": "user", "content": None}], "no content"),
        ([{"role": "assistant", "content": None}], "no content"),
        ([{"role": "user", "content": []}], "neither"),
        ([{"role": "user", "content": 7}], "neither"),
        ([{"role": "user", "content": [{"text": "x"}]}], "without type"),
        ([{"role": "user", "content": [{"type": "text"}]}], "without text"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "without its object"),
        ([{"role": "system", "content": [{"type": "image_url", "image_url": {}}]}], "on role system"),
        ([{"role": "user", "content": "x", "name": 3}], "name"),
        ([{"role": "user", "content": "x", "tool_calls": [CALL]}], "calls on role user"),
        ([{**ASKS, "tool_calls": []}], "no content"),
        ([{**ASKS, "content": "x", "tool_calls": None}], "no filled list"),
        ([{**ASKS, "tool_calls": [{**CALL, "id": ""}]}, RESULT], "without id"),
        ([{**ASKS, "tool_calls": [{**CALL, "type": None}]}, RESULT], "without type"),
        ([{**ASKS, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}]}, RESULT], "as text"),
        ([SYSTEM, RESULT], "no response"),
        ([ASKS], "followed by results"),
        ([ASKS, QUESTION, RESULT], "followed by results"),
        ([RESULT, ASKS], "no response"),
        ([ASKS, RESULT, RESULT], "followed by results"),
        ([ASKS, {**RESULT, "tool_call_id": "c2"}], "followed by results"),
        ([ASKS, {"role": "tool", "content": "x"}], "without tool_call_id"),
        (
            [{"role": "assistant", "function_call": {"name": "f", "arguments": ""}}, QUESTION],
            "without its function",
        ),
        ([{"role": "function", "name": "f", "content": "x"}], "without its function_call"),
        ([{"role": "function", "content": "x"}], "without name"),
    ],
)
def test_a_fault_on_the_wire_is_found(messages: list[Json], fault: str) -> None:
    assert any(fault in found for found in chat_faults(messages))


def test_a_valid_chat_has_no_faults() -> None:
    custom = {"id": "c2", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    messages = [
        SYSTEM,
        {"role": "developer", "content": [{"type": "text", "text": "x"}]},
        {"role": "user", "content": [picture, {"type": "text", "text": ""}], "name": "Wim"},
        {**ASKS, "tool_calls": [CALL, custom]},
        {**RESULT, "tool_call_id": "c2"},
        RESULT,
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": ""}},
        {"role": "function", "name": "f", "content": ""},
        QUESTION,
    ]
    assert chat_faults(messages) == []


def test_empty_contents_are_the_blank_ones_without_calls() -> None:
    blank = [
        {"role": "user", "content": " "},
        {"role": "assistant", "content": None},
        {"role": "user", "content": []},
    ]
    texts = [{"role": "user", "content": [{"type": "text", "text": "\t"}]}]
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    filled = [ASKS, {**RESULT, "content": ""}, QUESTION, {"role": "user", "content": [picture]}]
    assert empty_contents([*blank, *texts, *filled], "openai-chat") == [0, 1, 2, 3]


def grouped(messages: list[Json], form: str = "openai-chat") -> list[list[int]]:
    return groups_of(views_of(messages, form))


def test_groups_are_read_by_position_first() -> None:
    approval = {"approval_requests": [{"approval_id": "p", "tool_call_id": "c1"}]}
    answer = {"role": "user", "content": "Yes", "approval_responses": [{"approval_id": "p", "approved": True}]}
    thinks = {"role": "assistant", "content": None, "reasoning": "hm"}
    assert grouped([ASKS, QUESTION, RESULT, ASKS, RESULT]) == [[0, 2], [1], [3, 4]]
    assert grouped([{**ASKS, **approval}, answer, RESULT]) == [[0, 1, 2]]
    assert grouped([RESULT, ASKS, RESULT, RESULT]) == [[0], [1, 2], [3]]
    assert grouped([thinks, ASKS, RESULT, thinks, QUESTION]) == [[0, 1, 2], [3], [4]]


def counted(messages: list[Json], form: str = "openai-chat") -> Count:
    return count_request(views_of(messages, form), "o200k_base")


def test_the_independent_count_follows_the_recipe() -> None:
    named = {"role": "user", "content": "Well?", "name": "Wim"}
    expected = 3 + 3 + count_text("user") + count_text("Well?") + count_text("Wim") + 1
    assert counted([named]) == Count(expected, exact=True)
    call = 3 + count_text("assistant") + count_text("weigh") + count_text("{}")
    assert counted([ASKS]) == Count(3 + call, exact=True)
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {}}]}
    assert counted([picture]) == Count(3 + 3 + count_text("user"), exact=False)


def test_short_forms_are_expanded() -> None:
    short = [{"content": {"concat": ["a", {"repeat": ["b", 3]}]}, "other": {"repeat": ["", 1], "more": 2}}]
    assert expand(short) == [{"content": "abbb", "other": {"repeat": ["", 1], "more": 2}}]


def made_setup(**settings: Any) -> Setup:
    return setup_of(case(chat(), {"outcome": "ok"}, **settings))


def test_budget_expressions_are_worked_out() -> None:
    setup = made_setup()
    whole = tokens("count(all)", setup)
    assert whole == counted(chat()).tokens
    assert tokens(17, setup) == 17
    assert tokens("count(all)-1", setup) == whole - 1
    assert tokens("count(protected)", setup) == tokens("count(s,u)", setup) < whole
    assert tokens("count(s,u)+4", setup) == tokens("count(u,s)", setup) + 4
    with pytest.raises(ValueError, match="no budget expression"):
        tokens("about 12", setup)


def test_budgets_are_lists_sweeps_or_joined_by_and() -> None:
    setup = made_setup()
    low, high = tokens("count(s,u)", setup), tokens("count(all)", setup)
    assert budgets([5, "count(all)"], setup) == [5, high]
    assert budgets("count(all) and count(all)-1 and 7", setup) == [high, high - 1, 7]
    sweep = budgets("every value from count(s,u) to count(all) in steps of 10", setup)
    assert sweep[0] == low
    assert sweep[-1] == high
    assert {after - before for before, after in itertools.pairwise(sweep[:-1])} == {10}


def test_an_expression_leaves_room_for_the_margin() -> None:
    limit = tokens("count(all)", made_setup(model="claude-opus-4-5"))
    (run,) = run_case(case(chat(), {"outcome": "ok"}, model="claude-opus-4-5", budget={"max_input": "count(all)"}))
    assert run.setup.limit == limit
    assert run.fit.budget.available == run.fit.tokens_before


def test_every_variant_of_a_case_runs() -> None:
    expect = {"outcome": "ok", "for_each_budget": [100, 200], "for_each_strategy": ["truncate", "manual"]}
    assert [(run.setup.strategy, run.setup.limit) for run in run_case(case(chat(), expect))] == [
        ("truncate", 100),
        ("truncate", 200),
        ("manual", 100),
        ("manual", 200),
    ]


def test_what_a_case_lacks_is_told() -> None:
    assert missing(case(chat(), {})) == ()
    assert missing(case(chat(), {"steps": [{}]}, strategy="summarize")) == ()
    assert missing(case(chat(), {}, strategy="dream")) == ("strategy:dream",)
    assert missing(case(chat(), {}).with_data(needs=["fit", "page"])) == ("page",)


def test_a_cover_that_does_not_cover_is_found() -> None:
    runs = run_case(case(chat(), {"outcome": "ok"}))
    check_fact(by("outcome"), runs)
    with pytest.raises(AssertionError, match="there is no field order"):
        check_fact(by("order"), runs)
    with pytest.raises(AssertionError, match="is there now"):
        check_fact(Waits("strategy:truncate"), runs)


def test_steps_are_objects_or_known_sentences() -> None:
    first = "turn 1: fit m0..m15"
    following = (
        "turns 2 to 4: append the next two of n0..n5 (answer, then user) and fit again, with the carried edit"
    )
    assert steps_of([first, following]) == [{}, {"append": 2}, {"append": 2}, {"append": 2}]
    every = "turn k (1 to 3): fit m0..m9 and t0..t(2k-2), with the carried edit; then t(2k-1) is the answer"
    assert steps_of([every, {"pin": ["m1"]}]) == [{"append": 1}, {"append": 2}, {"append": 2}, {"pin": ["m1"]}]
    with pytest.raises(ValueError, match="no step"):
        steps_of(["fit it twice"])


def test_each_step_is_a_fit_of_what_there_is_by_then() -> None:
    steps: list[Json] = [
        {},
        {"append": 1, "pin": ["m1"]},
        {"unpin": ["m1"], "exclude": ["m1"]},
        {"include": ["m1"]},
    ]
    steps += [{"edit": {"m1": {"id": "m1", "role": "user", "content": "x"}}}, {"remove": ["m1"]}]
    later = [{"id": "n", "role": "user", "content": "Still there?"}]
    runs = run_case(case(chat(), {"outcome": "ok", "steps": steps}).with_data(append=later))
    assert [run.turn for run in runs] == [1, 2, 3, 4, 5, 6]
    assert [len(run.setup.messages) for run in runs] == [5, 6, 6, 6, 6, 5]
    assert [run.setup.pins for run in runs] == [(), ("m1",), (), (), (), ()]
    assert [run.setup.excluded for run in runs] == [(), (), ("m1",), (), (), ()]
    assert [len(run.messages) for run in runs] == [5, 6, 5, 6, 6, 5]
    with pytest.raises(AssertionError, match="nothing left to append"):
        run_case(case(chat(), {"outcome": "ok", "steps": [{"append": 1}]}))


def test_what_a_step_expects_is_added_to_what_the_case_expects() -> None:
    steps = [{"expect": {"max_tokens": 7}}, {}]
    first, second = run_case(case(chat(), {"outcome": "ok", "steps": steps}))
    assert first.expect == {"outcome": "ok", "max_tokens": 7}
    assert second.expect == {"outcome": "ok"}


def target_runs(**expect: Any) -> list[Run]:
    targets = ["anthropic-messages", "openai-responses", "gemini-interactions"]
    return run_case(case(chat(), {"outcome": "ok", "targets": targets, **expect}))


def test_names_are_those_of_the_messages_that_say_the_same_in_the_target() -> None:
    anthropic, responses, interactions = target_runs(must_keep=["s", "a1", "u"], must_not_split=[["a1", "r1"]])
    assert anthropic.expect["must_keep"] == ["system", 1, 3]
    assert anthropic.expect["must_not_split"] == [[1, 2]]
    assert responses.case.format == "responses"
    assert interactions.case.head == "Be brief."
    for run in (anthropic, responses, interactions):
        assert run.origin is not None
        check_conversion(run.origin, run.label)


def test_a_field_that_cannot_be_brought_along_is_found() -> None:
    with pytest.raises(KeyError, match="count_rule"):
        target_runs(count_rule={})


def test_a_message_that_a_conversion_loses_is_found() -> None:
    run = target_runs(must_keep=["a1"], must_not_split=[["a1", "r1"]])[0]
    assert run.origin is not None
    lost = replace(run.origin, places={**run.origin.places, "m1": ()})
    with pytest.raises(AssertionError, match="m1 is lost"):
        check_conversion(lost, "made")
    notes = (Diagnostic("unpaired", "left out", ("a1",)),)
    named = replace(run.origin.conversion, notes=notes)
    torn = replace(run.origin, conversion=named, places={**run.origin.places, "a1": ()})
    with pytest.raises(AssertionError, match="a1 did not arrive"):
        check_conversion(torn, "made")


def test_what_a_conversion_changes_in_its_input_is_found() -> None:
    run = target_runs()[0]
    assert run.origin is not None
    with pytest.raises(AssertionError, match="changed by the conversion"):
        check_conversion(replace(run.origin, before="[]"), "made")


def test_a_message_is_found_inside_the_one_it_was_packed_into() -> None:
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "31.4"}]}
    call = {"type": "tool_use", "id": "c1", "name": "weigh", "input": {}}
    asks = {"role": "assistant", "content": [call]}
    (run,) = run_case(case([QUESTION, asks, result, QUESTION], {"outcome": "ok"}, format="anthropic"))
    aside = {"type": "text", "text": "[plugin x]"}
    packed = [
        QUESTION,
        asks,
        {"role": "user", "content": [*result["content"], aside, {"type": "text", "text": "Well?"}]},
    ]
    assert with_fit(run, messages=packed).sent() == [0, 1, 2, None, 3]
    assert with_fit(run, messages=packed[:2]).sent() == [0, 1]


def test_thinking_leads_to_its_answer_and_the_calls_behind_that() -> None:
    thought = {"type": "reasoning", "id": "rs", "summary": []}
    calls = [{"type": "function_call", "call_id": one, "name": "f", "arguments": "{}"} for one in ("c1", "c2")]
    outputs = [{"type": "function_call_output", "call_id": one, "output": ""} for one in ("c2", "c1")]
    assert grouped([QUESTION, thought, *calls, *outputs, QUESTION], "responses") == [[0], [1, 2, 3, 4, 5], [6]]
    assert grouped([thought, thought, calls[0], outputs[1]], "responses") == [[0, 1, 2, 3]]
    assert grouped([thought, QUESTION, *calls, *outputs], "responses") == [[0], [1], [2, 5], [3, 4]]


BEFORE: Json = {"turn": 1, "n": 1}
STEPS: list[Json] = [
    {
        "do": "turn",
        "user": "Weigh it.",
        "provider_replies": [
            {"tool_calls": [{"id": "c1", "name": "weigh", "arguments": {}}]},
            {"text": "It weighs 31.4 kilos."},
        ],
        "tool_runs": [{"call": "c1", "result": "31.4"}],
    },
    {"do": "turn", "user": TEXT, "provider_replies": [{"status": 400, "error": {"message": "no"}}]},
    {
        "do": "parallel",
        "turns": [{"user": "Well?", "provider_replies": [{"text": "Heavy."}]}, {"user": "Now?"}],
    },
]


def turns(steps: list[Json], **expect: Any) -> Case:
    """A case whose steps run through turns, with a budget that the long text of `STEPS` and more fit in."""
    request = {"provider": "openai-compatible", "chat": {"system": "Be brief."}, "steps": steps}
    made = case([], {"outcome": "ok", **expect}, budget={"max_input": 110})
    data = {key: value for key, value in made.data.items() if key != "messages"}
    needs = ["turns", "codec:chat-completions"]
    return Case("made", "made.json", {**data, "format": "openai-chat", "needs": needs, "request": request})


@functools.cache
def told() -> Story:
    """A story of four turns: one with a tool, one that fails, one that runs while another one is refused."""
    with tempfile.TemporaryDirectory() as folder:
        (story,) = run_story(turns(STEPS), Path(folder))
    of_turns.check_always(story)
    check_story_fields(story)
    return story


def asked(**wanted: Json) -> Json:
    return [{"turn": 3, "n": 1, **wanted}]


WRONG_OF_A_STORY: dict[str, list[Json]] = {
    "outcome": ["error_in_stream", "error"],
    "provider": ["deepseek"],
    "turn_outcomes": [{"2": "turn_completed"}],
    "error_codes": [{"2": "PROVIDER_OVERLOADED"}],
    "parallel_error_code": ["TURN_FAILED"],
    "finish": [{"3": "length"}],
    "final_text": [{"1": "It weighs"}],
    "provider_calls": [5],
    "requests_per_turn": [{"1": 1}],
    "requests_per_turn_at_most": [{"1": 1}],
    "tool_runs": [2, {"weigh": 0}, {"weigh": 1, "lift": 1}],
    "provider_requests": [
        asked(must_have={"model": "gpt-4"}),
        asked(must_have_keys=["temperature"]),
        asked(must_not_have=["messages"]),
        asked(must_contain_text=["Now?"]),
        asked(must_not_contain_text=["Well?"]),
        asked(begins_with=BEFORE),
        asked(same_as=BEFORE),
        asked(model_sees=["Now?"]),
        asked(model_sees_not=["Well?"]),
        [{"turn": 3, "n": 2}],
    ],
    "must_have": [{"stream": False}],
    "must_contain": ["Now?"],
    "must_lack": ["Well?"],
    "must_keep": [["u1"]],
    "must_exclude": [["u3"]],
    "order": [["u3", "s"]],
    "reasons": [{"u1": ["manual"]}],
    "because": [{"s": "pinned"}],
    "inserted": [["summarize"]],
    "needs_trim": [False],
    "max_tokens": [20],
    "first_role_in": [["user"]],
    "audit": [
        {"3": ["decision continue_with_cursor"]},
        {"3": ["status failed"]},
        {"1": ["3 calls"]},
        {"3": ["cause nothing_stored"]},
        {"3": ["reason cursor_expired"]},
        {"3": ["cursor refused: cursor_expired"]},
        {"3": ["cursor refused: cursor_expired or cursor_invalid"]},
        {"3": ["one full replay"]},
    ],
    "degraded": [{"1": ["cursor_expired"]}],
    "cursors": [{"1": "a1"}],
    "stored_after": [
        {"user": "Now?"},
        {"assistant_starts_with": "Light"},
        {"order": ["s", "u1", "a1"]},
        {"incomplete": ["a1"]},
    ],
}
"""Field → values that do not hold for `told()`."""


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG_OF_A_STORY.items() for value in values]
)
def test_a_field_that_does_not_hold_for_a_story_is_found(field: str, value: Json) -> None:
    story = told()
    texts = ("must_contain", "must_lack")
    with pytest.raises(AssertionError):
        STORY_CHECKS[field](story, story.last, [value] if field in texts else value)


def test_every_field_of_stories_is_shown_to_fail() -> None:
    assert WRONG_OF_A_STORY.keys() == STORY_CHECKS.keys()


def test_what_a_turn_of_a_step_expects_is_checked_of_that_turn() -> None:
    story = told()
    first = replace(story.told[0], expect={"must_contain": ["Well?"]})
    with pytest.raises(AssertionError, match="is not sent"):
        check_story_fields(replace(story, told=(first, *story.told[1:])))


def last_turn(story: Story, **changes: Any) -> Story:
    """The story with its last turn changed."""
    return replace(story, told=tuple(replace(one, **changes) if one is story.last else one for one in story.told))


def with_audit(story: Story, **changes: Any) -> Story:
    return last_turn(story, audit=replace(story.last.the_audit, **changes))


def first_block(story: Story, **changes: Any) -> Story:
    first, *rest = story.last.the_audit.blocks
    return with_audit(story, blocks=(replace(first, **changes), *rest))


def unsent(story: Story) -> Story:
    """The story with a body that says nothing; the digest is that of the real one."""
    body = {"messages": [{"role": "tool"}]}
    return last_turn(story, sent=(replace(story.last.last_sent, body=body, seen=None),))


STORY_TAMPERINGS: dict[Callable[..., None], Callable[[Story], Story]] = {
    of_turns.servers_take_every_request: lambda story: replace(story, left=1),
    of_turns.nothing_stored_is_lost_or_doubled: lambda story: last_turn(story, stored=story.last.stored[1:]),
    of_turns.every_input_is_stored: lambda story: replace(story, known={}),
    of_turns.stored_messages_grow_in_number: lambda story: last_turn(story, stored=story.last.stored[::-1]),
    of_turns.a_turn_has_one_end: lambda story: last_turn(story, events=story.last.events * 2),
    of_turns.an_ended_turn_leaves_the_chat_free: lambda story: last_turn(
        story, chat=replace(story.last.chat, turn_id="x")
    ),
    of_turns.no_cursor_is_kept_where_there_is_none: lambda story: last_turn(
        story, chat=replace(story.last.chat, last_provider_state="{}")
    ),
    of_turns.the_audit_is_that_of_the_turn: lambda story: with_audit(story, status="prepared"),
    of_turns.the_audit_tells_what_was_sent: lambda story: with_audit(story, request_digest=""),
    of_turns.the_audit_accounts_for_the_branch: lambda story: with_audit(
        story, blocks=story.last.the_audit.blocks[1:]
    ),
    of_turns.the_figures_add_up: lambda story: with_audit(story, recount=story.last.the_audit.recount + 1),
    of_turns.reasons_are_the_stable_ones: lambda story: first_block(story, reason="boring"),
    of_turns.what_is_sent_is_valid: unsent,
}
"""What always holds → a change to a story that breaks it."""


@pytest.mark.parametrize(
    "check", [*of_turns.OF_STORIES, *of_turns.OF_TURNS], ids=lambda check: str(check.__name__)
)
def test_what_always_holds_is_found_when_it_does_not(check: Callable[..., None]) -> None:
    story = STORY_TAMPERINGS[check](told())
    told_of: list[tuple[Told, ...]] = [()] if check in of_turns.OF_STORIES else [(story.last,)]
    with pytest.raises(AssertionError):
        check(story, *told_of[0])


CURSOR_STEPS: list[Json] = [
    {"do": "turn", "user": "Weigh it.", "provider_replies": [{"id": "one", "text": "It weighs 31.4 kilos."}]},
    {"do": "forget"},
    {"do": "turn", "user": "Sure?", "provider_replies": [{"id": "two", "text": "Quite sure."}]},
    {"do": "turn", "user": "Well?", "provider_replies": [{"id": "three", "text": "Heavy."}]},
]


@functools.cache
def continued() -> Story:
    """A story with a provider that forgets the chat once; its last turn goes on by a cursor."""
    made = turns(CURSOR_STEPS)
    request = {**made.data["request"], "provider": "openai"}
    with tempfile.TemporaryDirectory() as folder:
        story = play(made.with_data(request=request, settings=ROOMY), Path(folder))
    of_turns.check_always(story)
    return story


ROOMY: Json = {"budget": {"max_input": 2000}, "model": "any", "strategy": "truncate"}


def seeing_more(story: Story) -> Story:
    """The story with a model that sees the first message twice."""
    sent = story.last.last_sent
    return last_turn(story, sent=(replace(sent, seen=[*sent.whole[:1], *sent.whole]),))


CURSOR_TAMPERINGS: dict[Callable[..., None], Callable[[Story], Story]] = {
    of_cursors.told_three_ways: lambda story: last_turn(story, log=("[continuation][degrade] reason=x",)),
    of_cursors.the_provider_sees_nothing_else: seeing_more,
    of_cursors.with_a_cursor_only_what_is_new_is_sent: lambda story: last_turn(
        story, sent=(replace(story.last.last_sent, body={"input": story.last.last_sent.whole}),)
    ),
    of_cursors.no_cursor_is_shown: lambda story: last_turn(story, log=tuple(story.answers)),
}
"""What always holds where a provider keeps the chat → a change to a story that breaks it."""


@pytest.mark.parametrize("check", of_cursors.OF_CURSORS, ids=lambda check: str(check.__name__))
def test_what_always_holds_of_cursors_is_found_when_it_does_not(check: Callable[..., None]) -> None:
    story = CURSOR_TAMPERINGS[check](continued())
    with pytest.raises(AssertionError):
        check(story, story.last)


def test_a_notice_that_is_missing_is_found() -> None:
    story, turn = continued(), continued().turn(2)
    (notice,) = of_cursors.notices_of(turn)
    kept = tuple(one for one in turn.stored if notice not in one.message.parts)
    silent = replace(turn, stored=kept)
    with pytest.raises(AssertionError):
        of_cursors.told_three_ways(replace(story, told=(story.told[0], silent)), silent)


def test_a_message_that_is_stored_twice_is_found() -> None:
    story = last_turn(told(), stored=told().last.stored * 2)
    with pytest.raises(AssertionError):
        of_turns.nothing_stored_is_lost_or_doubled(story)


def test_steps_with_words_nobody_reads_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="dance"):
        play(turns([{"do": "dance"}]), tmp_path)
    with pytest.raises(TypeError, match="loudly"):
        play(turns([{"do": "turn", "user": "Hi", "loudly": True}]), tmp_path)
    with pytest.raises(KeyError, match="mood"):
        play(turns([{"do": "turn", "user": "Hi", "provider_replies": [{"mood": "good"}]}]), tmp_path)
    with pytest.raises(KeyError, match="seconds"):
        play(turns([]).with_data(settings={**turns([]).settings, "seconds": 1}), tmp_path)
    with pytest.raises(ValueError, match="no sentence"):
        STORY_CHECKS["audit"](told(), told().last, {"3": ["all is well"]})


def test_a_reply_too_few_or_too_many_is_found(tmp_path: Path) -> None:
    none = play(turns([{"do": "turn", "user": "Hi"}]), tmp_path)
    two = play(turns([{"do": "turn", "user": "Hi", "provider_replies": [{"text": "Hi."}] * 2}]), tmp_path)
    for story in (none, two):
        with pytest.raises(AssertionError):
            of_turns.servers_take_every_request(story)


def test_a_repeated_step_counts() -> None:
    step = {"do": "turn", "repeat": 2, "user": "Go {n}", "provider_replies": [{"text": "{n}"}]}
    assert plan_of(turns([step])).steps == (
        {"do": "turn", "user": "Go 1", "provider_replies": [{"text": "1"}]},
        {"do": "turn", "user": "Go 2", "provider_replies": [{"text": "2"}]},
    )


def test_messages_become_turns_with_a_branch_where_a_parent_says_so() -> None:
    messages = [
        {"id": "s", "role": "system", "content": "Be brief."},
        {"id": "u1", "role": "user", "content": "One?", "parent": "s"},
        {"id": "a1", "role": "assistant", "content": "One.", "parent": "u1"},
        {"id": "u2", "role": "user", "content": "Two?", "parent": "a1"},
        {"id": "u3", "role": "user", "content": "Three?", "parent": "a1"},
    ]
    plan = plan_of(case(messages, {"outcome": "ok"}).with_data(needs=["turns"]))
    assert [(step["do"], step.get("user", step.get("to"))) for step in plan.steps] == [
        ("turn", "One?"),
        ("turn", "Two?"),
        ("branch", "a1"),
        ("turn", "Three?"),
    ]
    assert [step["provider_replies"][0]["status"] for step in plan.steps if step["do"] == "turn"] == [
        200,
        400,
        200,
    ]


def test_a_case_with_turns_runs_for_each_strategy_and_provider(tmp_path: Path) -> None:
    steps: list[Json] = [{"do": "turn", "user": "Hi", "provider_replies": [{"text": "Hi."}]}]
    each = {"for_each_strategy": ["truncate", "manual"], "for_each_provider": ["openai-compatible", "deepseek"]}
    stories = run_story(turns(steps, **each), tmp_path)
    ran = [(one.last.the_audit.provider, one.last.the_audit.strategy) for one in stories]
    assert ran == list(itertools.product(each["for_each_provider"], each["for_each_strategy"]))
    assert missing(turns(steps).with_data(request={"provider": "someone"})) == ("provider:someone",)


def test_a_fact_that_is_covered_in_part_says_what_it_waits_for() -> None:
    check_story_fact(Partly(lambda story: None, Waits("provider:nobody")), [told()])
    with pytest.raises(AssertionError, match="is there now"):
        check_story_fact(Partly(lambda story: None, Waits("turns")), [told()])
