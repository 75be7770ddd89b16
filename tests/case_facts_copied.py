"""The facts of the copied cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import case_invariants as always
from case_budgets import recount, tokens
from case_counting import count_request, count_text
from case_covers import Always, Cover, by
from case_facts_turns import the_summary_is_labelled_and_counted
from case_files import Json, dump
from case_plugins import drop_oldest, strategy, watcher
from case_run import Run
from case_setup import fit
from case_viewers import views_of
from trimtab import Fit
from trimtab_sdk import MARKER, TokenBudgetExceededError, TrimtabError, plain_text

OTHER_MODELS = ("gpt-4o", "gpt-4", "deepseek-chat", "claude-opus-4-5", "gemini-2.5-flash")


def the_details_say_what_stays_and_which_limit_would_do(runs: Sequence[Run]) -> None:
    (run,) = runs
    error = run.error
    assert isinstance(error, TokenBudgetExceededError)
    assert error.protected.keys() == {"m0", "m1", "m2", "m4"}
    assert all(cost > 0 for cost in error.protected.values())
    assert error.needed == error.overhead + sum(error.protected.values())
    assert error.needed == tokens("count(m0,m1,m2,m4)", run.setup)
    assert error.allowed == run.setup.budget
    assert error.smallest_limit == error.needed
    assert run.again(limit=error.smallest_limit).tokens_after == error.needed
    assert error.details["smallestLimit"] == error.smallest_limit


def the_current_input_is_not_blamed(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert isinstance(run.error, TokenBudgetExceededError)
    assert run.error.protected["m4"] < 20
    assert "m4" not in str(run.error)
    assert "m3" not in dump(run.error.to_dict())


def count_all_is_the_full_request(runs: Sequence[Run]) -> None:
    whole = runs[0]
    assert count_request(whole.given_views, "o200k_base").tokens == whole.setup.limit == whole.fit.tokens_after
    assert runs[1].setup.limit == whole.setup.limit - 1


def what_is_cut_says_something(runs: Sequence[Run]) -> None:
    """At every budget a truncated message has words left besides the marker."""
    (run,) = runs
    least, most = tokens("count(m0,m5)", run.setup), tokens("count(all)", run.setup)
    for limit in range(least, most):
        fitted = run.again(limit=limit)
        texts = {message["id"]: message["content"] for message in objects(fitted)}
        for entry in fitted.truncated:
            assert texts[entry.id].replace(MARKER, "").strip(), f"{limit}: {entry}"
        assert fitted.tokens_after <= limit


def the_strategy_does_not_run(runs: Sequence[Run]) -> None:
    (run,) = runs
    counted = strategy(drop_oldest)
    run.again(strategy="counted", plugins=(("strategy", "counted", counted),))
    assert counted.requests == []


def all_trailing_user_messages_are_the_input(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [run.entry(key).reason for key in (3, 4)] == ["current-input"] * 2
    assert run.keys(run.fit.excluded)[0] == 1


def the_empty_list_is_answered(runs: Sequence[Run]) -> None:
    empty = runs[0].result
    assert isinstance(empty, TrimtabError) or (empty.messages == [] and empty.kept == ())


def nothing_leaves_beside_the_system_message(runs: Sequence[Run]) -> None:
    assert runs[1].keys(runs[1].fit.kept) == ["m0"]
    assert runs[1].fit.excluded == ()


def no_connection_is_made(runs: Sequence[Run]) -> None:
    assert [run.connections for run in runs] == [0, 0]


def a_dropped_pair_is_one_group(runs: Sequence[Run]) -> None:
    for run in runs:
        excluded = run.keys(run.fit.excluded)
        for call, result in ((2, 3), (6, 7)):
            if call in excluded:
                assert excluded.index(result) == excluded.index(call) + 1
                assert run.entry(call).reason == run.entry(result).reason
    assert any(2 in run.keys(run.fit.excluded) for run in runs)


def the_repair_is_named(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert run.entry(2).reason == "unpaired"
    assert "m2" in run.named("unpaired")


def one_more_user_message_works(runs: Sequence[Run]) -> None:
    (run,) = runs
    more = {"id": "more", "role": "user", "content": "Count them <|endoftext|> again."}
    if run.case.format != "neutral":
        del more["id"]
    again = run.again(messages=[*run.setup.messages, more])
    assert objects(again)[-1] == more
    assert again.tokens_after > run.fit.tokens_after


def both_last_user_messages_are_the_input(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [run.entry(key).reason for key in (5, 6)] == ["current-input"] * 2


def control_token_text_costs_more_than_one_token_each(runs: Sequence[Run]) -> None:
    (run,) = runs
    for text in ("<|endoftext|>", "<|im_start|>", "<|fim_prefix|>", "<|im_end|>"):
        assert _text_cost(run, text, "gpt-4o") == count_text(text) > 1


def every_counter_takes_them_as_text(runs: Sequence[Run]) -> None:
    (run,) = runs
    profiles = set()
    for model in OTHER_MODELS:
        again = run.again(model=model)
        profiles.add(again.tokenizer.profile)
        assert dump(again.messages) == dump(run.setup.messages), model
        assert _text_cost(run, "<|endoftext|>", model) > 1, model
    assert len(profiles) == 4


def every_call_is_counted(runs: Sequence[Run]) -> None:
    whole = runs[0]
    assert whole.setup.limit == whole.fit.tokens_after
    for key, words in ((2, '{"sku":"PX-1"}'), (4, "{}"), (6, '{"sku":"PX-3"}')):
        at_least = count_text("assistant") + count_text("stock") + count_text(words)
        assert whole.entry(key).tokens >= at_least, whole.entry(key)


def the_empty_result_stays_with_its_call(runs: Sequence[Run]) -> None:
    assert 5 in runs[0].keys(runs[0].fit.kept)


def the_wire_gets_arguments_as_text(runs: Sequence[Run]) -> None:
    whole = runs[0]
    calls = {call["id"]: call["function"] for message in whole.messages for call in message.get("tool_calls", ())}
    assert calls["k2"]["arguments"] == "{}"
    assert isinstance(calls["k3"]["arguments"], str)
    assert {"m4", "m6"} <= whole.named("wire-rule")


def each_insert_is_counted_or_said_to_have_left(runs: Sequence[Run]) -> None:
    (run,) = runs
    inserted = {entry.plugin: entry for entry in run.fit.inserted}
    texts = [message["content"] for message in run.messages]
    for listed in run.case.settings["interceptors"]:
        name, text = listed["name"], listed["insert"]["text"]
        sent = any(text in content for content in texts)
        assert sent == (name in inserted)
        assert sent or (name, "final-budget") in run.blamed(), name
        if sent:
            assert inserted[name].tokens > count_text(text)


def inserts_leave_before_history(runs: Sequence[Run]) -> None:
    (run,) = runs
    bare = fit(run.setup.without_plugins())
    chosen = {entry.index for entry in bare.kept}
    assert not run.fit.inserted or chosen <= {entry.index for entry in run.fit.kept}


def no_insert_speaks_as_user_or_assistant(runs: Sequence[Run]) -> None:
    (run,) = runs
    for limit in (run.setup.limit, 10 * run.setup.limit):
        roomy = run.again(limit=limit)
        ids = {entry.id for entry in roomy.inserted}
        assert {message["role"] for message in objects(roomy) if message["id"] in ids} <= {"system"}
        assert objects(roomy)[0] == run.given("m0")
    assert len(ids) == 3


def the_plugin_is_named_with_its_code(runs: Sequence[Run]) -> None:
    for run in runs:
        if "returns None" in run.label:
            continue
        code = "PLUGIN_CRASHED" if "raises" in run.label else "PLUGIN_REJECTED"
        assert ("faulty-plugin", code) in run.blamed(), run.label
        error = error_of(run, config={**run.setup.config, "on_violation": "error"})
        assert error.code == code, run.label
        assert "faulty-plugin" in str(error)


def the_next_fit_works(runs: Sequence[Run]) -> None:
    for run in runs:
        good = run.again(strategy="good", plugins=(("strategy", "good", strategy(drop_oldest)),))
        assert good.excluded, run.label
        assert not [one for one in good.diagnostics if one.plugin], run.label


def none_is_an_empty_edit(runs: Sequence[Run]) -> None:
    empty = next(run for run in runs if "returns None" in run.label)
    assert {entry.reason for entry in empty.fit.excluded} <= {"final-budget", "context-shift"}


def the_strategy_runs(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert [len(plugin.requests) for kind, _, plugin in run.setup.plugins if kind == "strategy"] == [1]
    assert run.fit.tokens_before == run.setup.budget + 1


def the_plugin_tried_to_change_what_it_was_given(runs: Sequence[Run]) -> None:
    """Its answer is used, so it got to the end of its attempts."""
    (run,) = runs
    assert run.entry("m1").reason == "context-shift"


def the_original_texts_are_sent(runs: Sequence[Run]) -> None:
    (run,) = runs
    originals = {key: run.given(key)["content"] for key in ("m0", "m2", "m3")}
    assert {message["id"]: message["content"] for message in run.messages} == originals


def the_next_plugin_gets_clean_messages(runs: Sequence[Run]) -> None:
    (run,) = runs
    looking = watcher()
    plugins = (*run.setup.plugins, ("interceptor", "watcher", looking))
    run.again(plugins=plugins, config={"interceptors": ["watcher"]})
    (request,) = looking.requests
    texts = {message.id: plain_text(message) for message in request.messages}
    assert texts == {key: run.given(key)["content"] for key in ("m0", "m2", "m3")}


def nothing_is_added(runs: Sequence[Run]) -> None:
    (run,) = runs
    assert None not in run.sent()
    assert len(run.messages) == len(run.fit.kept)


def the_marker_is_counted(runs: Sequence[Run]) -> None:
    (run,) = runs
    cut = run.again(settings={"shorten_messages": True})
    (entry,) = cut.truncated
    text = next(message["content"] for message in objects(cut) if message["id"] == entry.id)
    assert text.endswith(MARKER)
    assert entry.tokens == 3 + count_text(entry.role) + count_text(text)
    assert (
        count_request(views_of(objects(cut), run.case.format), "o200k_base").tokens
        == cut.tokens_after
        <= run.setup.budget
    )


def objects(fitted: Fit) -> list[Json]:
    """Give the messages of a fit as the JSON objects they are."""
    return list(fitted.messages)


def _text_cost(run: Run, text: str, model: str) -> int:
    def whole(content: str) -> int:
        return recount(replace(run.setup, model=model), [{"id": "x", "role": "user", "content": content}])

    return whole(text) - whole("")


def error_of(run: Run, **changes: Any) -> TrimtabError:
    """Fit once more with something changed, and give the error that comes."""
    try:
        run.again(**changes)
    except TrimtabError as error:
        return error
    raise AssertionError(f"{run.label}: no error came")


COPIED: Mapping[str, tuple[Cover, ...]] = {
    "01": (
        the_details_say_what_stays_and_which_limit_would_do,
        by("provider_calls"),
        the_current_input_is_not_blamed,
    ),
    "03": (count_all_is_the_full_request, Always(always.the_figures_add_up)),
    "05": (by("outcome", "max_seconds"), what_is_cut_says_something),
    "06": (by("must_keep", "byte_identical"), by("byte_identical"), the_strategy_does_not_run),
    "07": (by("must_keep"), all_trailing_user_messages_are_the_input),
    "17": (the_empty_list_is_answered, nothing_leaves_beside_the_system_message, no_connection_is_made),
    "21": (Always(always.what_is_sent_is_valid), a_dropped_pair_is_one_group),
    "27": (),
    "28": (
        Always(always.what_is_sent_is_valid),
        the_repair_is_named,
        by("input_unchanged"),
        one_more_user_message_works,
        both_last_user_messages_are_the_input,
        by("reasons"),
    ),
    "36": (
        control_token_text_costs_more_than_one_token_each,
        by("byte_identical_ids"),
        one_more_user_message_works,
        every_counter_takes_them_as_text,
    ),
    "41": (every_call_is_counted, the_empty_result_stays_with_its_call, the_wire_gets_arguments_as_text),
    "46": (
        Always(always.the_figures_add_up),
        each_insert_is_counted_or_said_to_have_left,
        inserts_leave_before_history,
        no_insert_speaks_as_user_or_assistant,
    ),
    "82": (
        the_plugin_is_named_with_its_code,
        by("input_unchanged"),
        the_next_fit_works,
        none_is_an_empty_edit,
    ),
    "84": (
        the_strategy_runs,
        the_plugin_tried_to_change_what_it_was_given,
        the_original_texts_are_sent,
        the_next_plugin_gets_clean_messages,
    ),
    "87": (nothing_is_added, the_summary_is_labelled_and_counted, the_marker_is_counted),
}
"""Case id → its covers, in the order of its facts."""
