from __future__ import annotations

import pytest

from conformance.broken_plugins import BROKEN
from conformance.kit_runs import both_runs
from trimtab.conformance import StrategyContract
from trimtab.conformance.base import NOT_CLAIMED

STRATEGIES = [name for name, broken in BROKEN.items() if broken.contract is StrategyContract]
SOUND = [
    "TestTruncate",
    "TestTruncateThatShortens",
    "TestManual",
    "TestSummarize",
    "TestVectorRecall",
    "TestHeaviestFirst",
    "TestSound",
]


def rules(contract: type) -> set[str]:
    return {name for name in dir(contract) if name.startswith("test_")}


@pytest.mark.parametrize("contract", SOUND)
def test_a_sound_strategy_breaks_no_rule(contract: str) -> None:
    sound, _ = both_runs()

    assert sound.failed(contract) == {}
    assert sound.outcomes[contract].keys() == rules(StrategyContract)


@pytest.mark.parametrize("contract", SOUND[:-1])
def test_no_rule_goes_unjudged_but_those_that_are_not_claimed(contract: str) -> None:
    sound, _ = both_runs()
    skipped = [one.words for one in sound.outcomes[contract].values() if one.kind == "skipped"]

    assert [words for words in skipped if not words.startswith(NOT_CLAIMED)] == []


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_broken_strategy_fails_the_rule_it_breaks_and_no_other(name: str) -> None:
    _, broken = both_runs()
    failed = broken.failed(f"Test{name}")

    assert failed.keys() == {BROKEN[name].rule}
    assert BROKEN[name].words in failed[BROKEN[name].rule]


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_failure_begins_with_what_was_seen_and_ends_with_what_to_do(name: str) -> None:
    _, broken = both_runs()
    words = broken.failed(f"Test{name}")[BROKEN[name].rule]

    advice = (getattr(StrategyContract, BROKEN[name].rule).__doc__ or "").partition("\n")[0]
    assert f"What to do: {advice}" in words


def test_every_rule_of_a_strategy_has_a_plugin_that_breaks_it() -> None:
    broken = {BROKEN[name].rule for name in STRATEGIES}

    assert rules(StrategyContract) - broken == {
        "test_no_rule_was_dropped_or_rewritten",
        "test_lives_with_a_failing_service",
    }


def test_what_is_not_claimed_is_said_to_be_so() -> None:
    sound, _ = both_runs()
    outcomes = sound.outcomes["TestTruncate"]

    assert outcomes["test_spans_keep_pieces_of_texts"].words == "not claimed: shortens"
    assert outcomes["test_inserts_stay_within_their_share"].words == "not claimed: inserts or summarizes"
    assert sound.outcomes["TestTruncateThatShortens"]["test_spans_keep_pieces_of_texts"].kind == "passed"


def test_one_failing_answer_leaves_the_rules_about_edits_unjudged_and_says_so() -> None:
    _, broken = both_runs()

    assert "not judged: no answer was an edit" in broken.outcomes["TestADict"]["test_groups_leave_whole"].words
    assert "not judged: it is no plugin yet" in broken.outcomes["TestAClass"]["test_keeps_what_must_stay"].words


@pytest.mark.parametrize("contract", SOUND)
def test_the_report_shows_time_and_effect(contract: str) -> None:
    sound, _ = both_runs()
    outcomes = sound.outcomes[contract]
    times = outcomes["test_answers_ten_thousand_messages_in_time"].measures
    effect = outcomes["test_brings_the_total_down_to_the_target"].measures

    assert times.keys() == {"milliseconds_at_100", "milliseconds_at_1000", "milliseconds_at_10000"}
    assert all(float(value) > 0 for value in times.values())
    assert 0.3 < float(effect["share_of_budget_used"]) <= 1
    assert int(effect["messages_left_out"]) > 0
    assert (int(effect["texts_inserted"]) > 0) == (contract == "TestSummarize")
    assert int(outcomes["test_the_prefix_stays_the_same"].measures["turns"]) == 30
