"""The facts of the cases that were written for this suite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from case_counting import count_text
from case_covers import Cover, FactCheck
from case_facts_copied import error_of
from case_files import Key, dump
from case_plugins import SECRET
from case_run import Run
from trimtab_sdk import MARKER, InvalidRequestError, TokenBudgetExceededError


def one_token_short_of_the_whole(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.fit.budget.available == run.setup.limit - 100 == run.fit.tokens_before - 1
    assert run.fit.budget.reserve == 100


def a_smaller_reserve_keeps_all(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.again(reserve=99).excluded == ()


def one_token_is_missing(runs: Sequence[Run]) -> None:
    error = runs[1].error
    assert isinstance(error, TokenBudgetExceededError)
    assert error.needed == error.allowed + 1 == error.smallest_limit == runs[0].setup.limit


def the_question_is_not_blamed(runs: Sequence[Run]) -> None:
    (run,) = runs
    error = run.error
    assert isinstance(error, TokenBudgetExceededError)
    assert error.current_input == ("u",)
    assert not re.search(r"\bu\b", str(error))
    assert "larger limit" in str(error)
    assert error.smallest_limit is not None
    assert run.again(limit=error.smallest_limit).tokens_after == error.needed


def older_leaves_before(older: Sequence[Key], newer: Sequence[Key]) -> FactCheck:
    """Make the check that nothing of `newer` leaves while anything of `older` is still there."""

    def check(runs: Sequence[Run]) -> None:
        for run in runs:
            excluded = run.keys(run.fit.excluded)
            assert set(older) <= set(excluded) or not set(newer) & set(excluded), f"{run.label}: {excluded}"
        assert any(set(newer) & set(run.keys(run.fit.excluded)) for run in runs)

    return check


def named_for(code: str, *ids: str) -> FactCheck:
    """Make the check that diagnostics with a code name these ids."""

    def check(runs: Sequence[Run]) -> None:
        for run in runs:
            assert set(ids) <= run.named(code), f"{run.label}: {run.fit.diagnostics}"

    return check


def kept_because(reasons: Mapping[Key, str]) -> FactCheck:
    """Make the check that the report gives these reasons to stay."""

    def check(runs: Sequence[Run]) -> None:
        for run in runs:
            assert {key: run.entry(key).reason for key in reasons} == reasons, run.label

    return check


def an_unknown_pin_is_refused(runs: Sequence[Run]) -> None:
    (run,) = runs
    error = error_of(run, pins=("m1", "nobody"))
    assert error.code == "INVALID_REQUEST"
    assert "nobody" in str(error)


def nothing_is_moved_when_all_fits(runs: Sequence[Run]) -> None:
    whole = runs[-1]
    assert whole.fit.excluded == ()
    assert dump(whole.messages) == dump(whole.setup.messages)
    assert whole.fit.diagnostics == ()


def nothing_moves_in_neutral(runs: Sequence[Run]) -> None:
    whole = next(run for run in runs if run.fit.excluded == ())
    assert dump(whole.messages) == dump(whole.setup.messages)
    assert whole.fit.diagnostics == ()


def no_call_and_no_result_is_left(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert not [message for message in run.messages if "tool_calls" in message or message["role"] == "tool"]


def a_name_costs_one_more_than_its_tokens(runs: Sequence[Run]) -> None:
    run = runs[0]
    for key in (1, 2, 3):
        message = run.given(key)
        texts = (message["role"], message["content"], message["name"])
        assert run.entry(key).tokens == 3 + sum(map(count_text, texts)) + 1


def the_arguments_are_counted(runs: Sequence[Run]) -> None:
    (run,) = runs
    arguments = run.given(2)["tool_calls"][0]["function"]["arguments"]
    assert run.entry(2).tokens > count_text(arguments) > run.setup.budget


def the_profile_is_exact(runs: Sequence[Run]) -> None:
    for run in runs:
        assert (run.fit.tokenizer.profile, run.fit.tokenizer.approximate) == ("cl100k_base", False)


def images_are_said_to_be_approximate_or_exact(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.fit.tokenizer.images in ("approximate", "exact")


def base64_is_no_text(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert 30 < run.entry(3).tokens < 5000


def the_body_comes_back(runs: Sequence[Run]) -> None:
    (run,) = runs
    request = run.fit.request
    body = run.setup.body
    assert request is not None
    assert body is not None
    assert list(request) == [*body, "messages"]
    assert {key: request[key] for key in body} == body
    assert request["messages"] == run.messages


def tools_and_response_format_are_overhead(runs: Sequence[Run]) -> None:
    (run,) = runs
    body = dict(run.setup.body or {})
    tools = count_text(dump(body.pop("tools")))
    assert run.again(body=body).overhead < run.fit.overhead
    assert tools / 3 < run.fit.overhead - run.again(body=body).overhead < tools * 2
    del body["response_format"]
    assert run.again(body=body).overhead == 3


def a_limit_under_the_tools_names_the_overhead(runs: Sequence[Run]) -> None:
    (run,) = runs
    error = error_of(run, limit=run.fit.overhead - 1)
    assert isinstance(error, TokenBudgetExceededError)
    assert error.overhead == run.fit.overhead


def the_text_of_an_unknown_part_is_counted(runs: Sequence[Run]) -> None:
    (run,) = runs
    entry = run.entry(1)
    assert entry.tokens >= count_text(run.given(1)["content"][0]["payload"]["text"])
    assert entry.approximate


def the_empty_result_is_sent(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [message["content"] for message in run.messages if message["role"] == "tool"] == [""]


def empty_results_cost_their_framing(runs: Sequence[Run]) -> None:
    whole = next(run for run in runs if run.fit.excluded == ())
    assert {whole.entry(key).tokens for key in ("r1", "r2", "r3")} == {3 + count_text("tool")}


def the_half_is_replaced_and_named(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.messages[1]["content"] == "half \N{REPLACEMENT CHARACTER} here"
    assert any("U+FFFD" in one.message for one in run.fit.diagnostics)


def strict_host_raises(code: str) -> FactCheck:
    """Make the check that `on_violation="error"` ends the fit with this code."""

    def check(runs: Sequence[Run]) -> None:
        for run in runs:
            assert error_of(run, config={**run.setup.config, "on_violation": "error"}).code == code, run.label

    return check


def the_rest_of_the_group_is_named(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert "a1" in {name for one in run.fit.diagnostics for name in one.ids}
    assert "half-a-pair-plugin" in {plugin for plugin, _ in run.blamed()}


def the_own_word_is_a_note(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.entry("m1").reason == "context-shift"
    assert any("boring" in one.message and one.plugin == "other-words-plugin" for one in run.fit.diagnostics)


def the_insert_is_refused_and_named(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert "loud-plugin" in {plugin for plugin, _ in run.blamed()}
    assert run.entry("m1").reason == "context-shift"


def the_summary_is_labelled(runs: Sequence[Run]) -> None:
    (run,) = runs
    summary = run.messages[1]
    assert summary["role"] == "system"
    assert "The two talked about the ferry." in summary["content"].split("\n")
    assert "summary-plugin" in summary["content"].split("\n")[0]
    (entry,) = run.fit.inserted
    assert entry.tokens == 3 + count_text("system") + count_text(summary["content"])


def the_slice_is_the_hosts(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.messages[1] == {**run.given("m1"), "content": run.given("m1")["content"][:40] + MARKER}
    entry = run.entry("m1")
    assert entry.original_tokens is not None
    assert entry.tokens < entry.original_tokens


def the_insert_stands_outside_the_group(runs: Sequence[Run]) -> None:
    (run,) = runs
    (place,) = _places_of(run, "The scales were checked in May.")
    assert place > 0
    assert run.messages[place]["role"] == "system"


def the_insert_is_one_labelled_message(runs: Sequence[Run]) -> None:
    (run,) = runs
    (place,) = _places_of(run, "forget the bowls")
    message = run.messages[place]
    assert message["role"] == "system"
    assert "actor" in message["content"].split("\n")[0]
    assert run.sent()[place + 1] == "m7"


def a_tenth_is_the_margin(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.fit.tokenizer.approximate
    assert run.fit.budget.available == run.fit.tokens_before - 1
    assert run.fit.budget.margin == run.setup.limit - run.fit.budget.available >= run.setup.limit // 10


def a_beginning_and_the_marker_are_left(runs: Sequence[Run]) -> None:
    (run,) = runs
    text = run.messages[1]["content"]
    assert text.endswith(MARKER)
    assert run.given("m1")["content"].startswith(text.removesuffix(MARKER))
    assert len(text) > len(MARKER) + 20


def the_call_is_whole(runs: Sequence[Run]) -> None:
    cut = 0
    for run in runs:
        calls = [message for message in run.messages if "tool_calls" in message]
        results = [message for message in run.messages if message["role"] == "tool"]
        assert calls in ([], [run.given(1)]), run.label
        assert len(results) == len(calls), run.label
        cut += any(message != run.given(2) for message in results)
    assert cut


def the_call_without_result_is_named(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert "c_gone" in str(run.error)
    assert "c_here" not in str(run.error)


def every_result_has_the_spelling_of_the_wire(runs: Sequence[Run]) -> None:
    (run,) = runs
    results = [message for message in run.messages if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == ["s1", "s2", "s3"]
    assert all(message.keys() == {"role", "content", "tool_call_id"} for message in results)
    assert {"m3", "m4", "m5"} <= run.named("wire-rule")


def no_null_calls_are_sent(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [message["tool_calls"] for message in run.messages if "tool_calls" in message] == [
        run.given(3)["tool_calls"]
    ]


def names_the_path(path: str) -> FactCheck:
    """Make the check that an InvalidRequestError has this path, and says so."""

    def check(runs: Sequence[Run]) -> None:
        (run,) = runs
        assert isinstance(run.error, InvalidRequestError)
        assert run.error.path == path
        assert path in str(run.error)

    return check


def the_picture_is_counted_and_unchanged(runs: Sequence[Run]) -> None:
    whole = next(run for run in runs if run.fit.excluded == ())
    assert dump(whole.messages) == dump(whole.setup.messages)
    assert 30 < whole.entry("r1").tokens < 5000


def named_with(plugin: str, code: str) -> FactCheck:
    """Make the check that a diagnostic with a code names a plugin."""

    def check(runs: Sequence[Run]) -> None:
        for run in runs:
            assert (plugin, code) in run.blamed(), f"{run.label}: {run.fit.diagnostics}"

    return check


def the_secret_is_not_sent(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert SECRET in dump(run.setup.messages)
    assert SECRET not in dump(run.messages)


def the_driver_is_suspect(runs: Sequence[Run]) -> None:
    for run in runs:
        assert ("o200k_base", "TOKENIZER_SUSPECT") in run.blamed(), run.label
        assert run.fit.tokenizer.approximate, run.label


def the_driver_stays_suspect(runs: Sequence[Run]) -> None:
    for run in runs:
        again = run.again()
        assert "TOKENIZER_SUSPECT" in {one.code for one in again.diagnostics}, run.label
        assert again.tokenizer.approximate, run.label
        assert again.tokens_after == run.fit.tokens_after, run.label


def _places_of(run: Run, text: str) -> list[int]:
    return [at for at, message in enumerate(run.messages) if text in str(message["content"])]


OWN: Mapping[str, tuple[Cover, ...]] = {
    "own-reserve-is-kept-free": (one_token_short_of_the_whole, a_smaller_reserve_keeps_all),
    "own-protected-fits-to-the-token": (one_token_is_missing,),
    "own-current-input-alone-too-long": (the_question_is_not_blamed,),
    "own-trailing-assistant": (older_leaves_before(["m1", "m2"], ["m4", "m5"]),),
    "own-by-hand-cannot-unprotect": (named_for("flag-not-obeyed", "s", "m1", "u"),),
    "own-pin-of-nobody": (an_unknown_pin_is_refused,),
    "own-kinds-and-what-they-protect": (kept_because({"pe": "persona", "req": "required", "pin": "pinned"}),),
    "own-memory-behind-the-question": (kept_because({"u": "current-input"}),),
    "own-running-turn-leaves-after-history": (
        older_leaves_before(["m1", "m2"], ["a1", "a2"]),
        kept_because({"a3": "open-step", "r3": "open-step"}),
    ),
    "own-unanswered-step-leaves-last": (older_leaves_before(["m1", "m2", "u1"], ["a1", "r1"]),),
    "own-pin-inside-a-tool-group": (kept_because({2: "pinned", 3: "pinned", 4: "pinned"}),),
    "own-user-message-between-the-results": (named_for("wire-rule", "m5"),),
    "own-one-id-in-every-turn": (nothing_is_moved_when_all_fits,),
    "own-result-before-its-call": (named_for("unpaired", "m2", "m3"),),
    "own-one-of-three-results-is-missing": (no_call_and_no_result_is_left,),
    "own-legacy-function-call": (nothing_is_moved_when_all_fits,),
    "own-far-away-result-in-neutral": (nothing_moves_in_neutral,),
    "own-names-are-counted": (a_name_costs_one_more_than_its_tokens,),
    "own-huge-arguments": (the_arguments_are_counted,),
    "own-another-vocabulary": (the_profile_is_exact,),
    "own-picture-by-address": (images_are_said_to_be_approximate_or_exact, base64_is_no_text),
    "own-whole-request-body": (
        the_body_comes_back,
        tools_and_response_format_are_overhead,
        a_limit_under_the_tools_names_the_overhead,
    ),
    "own-unknown-keys-stay": (the_text_of_an_unknown_part_is_counted,),
    "own-empty-messages-on-the-wire": (the_empty_result_is_sent,),
    "own-empty-results-everywhere": (empty_results_cost_their_framing,),
    "own-half-a-character": (the_half_is_replaced_and_named,),
    "own-plugin-breaks-protection": (
        named_with("faulty-plugin", "PROTECTED_CONTEXT_REMOVED"),
        strict_host_raises("PROTECTED_CONTEXT_REMOVED"),
    ),
    "own-plugin-breaks-the-contract": (
        named_with("faulty-plugin", "PLUGIN_REJECTED"),
        strict_host_raises("PLUGIN_REJECTED"),
    ),
    "own-plugin-dies": (named_with("faulty-plugin", "PLUGIN_CRASHED"),),
    "own-plugin-drops-half-a-pair": (the_rest_of_the_group_is_named,),
    "own-plugin-invents-a-reason": (the_own_word_is_a_note,),
    "own-plugin-talks-too-much": (the_insert_is_refused_and_named,),
    "own-plugin-summary-is-labelled": (the_summary_is_labelled,),
    "own-plugin-shortens": (the_slice_is_the_hosts,),
    "own-insert-inside-a-tool-group": (the_insert_stands_outside_the_group,),
    "own-insert-in-a-full-window": (named_with("date-line", "final-budget"),),
    "own-insert-wears-a-false-label": (the_insert_is_one_labelled_message,),
    "own-approximate-profile-keeps-a-margin": (a_tenth_is_the_margin,),
    "own-shorten-the-last-to-leave": (a_beginning_and_the_marker_are_left,),
    "own-shorten-never-touches-a-call": (the_call_is_whole,),
    "own-memory-behind-the-open-step": (kept_because({"a1": "open-step", "r1": "open-step"}),),
    "own-open-step-with-a-hole": (the_call_without_result_is_named,),
    "own-other-spellings-of-the-id": (every_result_has_the_spelling_of_the_wire,),
    "own-nulls-of-a-client-library": (no_null_calls_are_sent,),
    "own-content-that-is-a-number": (names_the_path("messages[1].content"),),
    "own-a-role-nobody-knows": (names_the_path("messages[1].role"),),
    "own-picture-in-a-result": (the_picture_is_counted_and_unchanged,),
    "own-late-plugin": (named_with("late-plugin", "PLUGIN_TIMEOUT"),),
    "own-counter-that-lies": (the_driver_is_suspect, the_driver_stays_suspect),
    "own-redactor-without-leave": (named_with("redactor", "PROTECTED_CONTEXT_REMOVED"),),
    "own-redactor-with-leave": (the_secret_is_not_sent,),
    "own-interceptors-run-in-the-listed-order": (named_with("beta", "PLUGIN_CRASHED"),),
}
"""Case id → its covers, in the order of its facts. Cases that are not here have no facts."""
