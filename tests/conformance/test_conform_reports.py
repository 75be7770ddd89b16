"""From the lines that a child tells to what people and programs read."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.publishing import HEAVIEST, publish
from trimtab.config import Config
from trimtab.conformance.asking import Asker, Reply
from trimtab.conformance.badge import badge_line
from trimtab.conformance.confined_subject import ConfinedStrategy, UnloadedSubject, confined_subject
from trimtab.conformance.corpus import chat_named
from trimtab.conformance.orders import Order
from trimtab.conformance.reporting import Judgement, Report, read_judgement, report_lines
from trimtab.conformance.requests import case_at
from trimtab.loading.plugins import SHIFT, Plugin, make_plugin
from trimtab.loading.worker.calling import load_confined
from trimtab.loading.worker.pool import worker_pool
from trimtab.loading.worker.spec import WorkerSpec, bounds_of
from trimtab_sdk.edit import Edit
from trimtab_sdk.errors import Origin, PluginCrashedError, PluginLoadError

ENDED: dict[str, object] = {"ended": 0}


def row(rule: str, outcome: str, **more: object) -> dict[str, object]:
    return {"rule": f"test_{rule}", "outcome": outcome, "seconds": 0.1, **more}


def judged(*rows: dict[str, object], late: bool = False, printed: str = "") -> Judgement:
    told = "".join(json.dumps(one) + "\n" for one in rows)
    return read_judgement(told, late=late, printed=printed, seconds=2.0)


def report(judgement: Judgement, **claims: object) -> Report:
    order = Order("trimtab.strategies", "recap", "strategy", confined=True, claims=claims)
    return Report(order, "trimtab-recap", "1.2", 1, judgement)


def shown(judgement: Judgement) -> list[str]:
    return [line for line, _ in report_lines(report(judgement))]


def test_a_run_passes_when_it_came_to_its_end_and_broke_nothing() -> None:
    kept, skipped = row("a", "passed"), row("b", "not-claimed", words="shortens")

    assert judged(kept, skipped, ENDED).passed
    assert not judged(kept, skipped).passed
    assert not judged(kept, skipped, {"ended": 3}).passed
    assert not judged(skipped, ENDED).passed
    assert not judged(kept, row("c", "not-run"), ENDED).passed
    assert not judged(kept, row("c", "failed", words="no"), {"ended": 1}).passed
    assert not judged(late=True).passed


def test_the_worst_that_came_of_a_rule_stands_and_one_that_was_only_begun_has_failed() -> None:
    told = judged(
        row("a", "not-run"),
        row("b", "not-run"),
        row("c", "not-run"),
        row("a", "began"),
        row("a", "passed"),
        row("a", "failed", words="its teardown failed"),
        row("b", "began"),
        late=True,
    )

    assert [(one.title, one.outcome) for one in told.rules] == [("a", "failed"), ("b", "failed"), ("c", "not-run")]
    assert told.rules[0].faults == ("its teardown failed",)
    assert told.ending == "time-limit"


def test_a_line_that_the_child_could_not_finish_is_passed_over() -> None:
    text = json.dumps(row("a", "passed")) + '\n{"rule": "test_b", "outco'

    assert [one.rule for one in read_judgement(text, late=True, printed="", seconds=1).rules] == ["test_a"]


def test_words_of_a_plugin_steer_no_terminal() -> None:
    words = "\x1b[2J\x9b31m first \u202e\nsecond\x07"

    told = judged(row("a", "failed", words=words, advice="Mend it."), {"ended": 1})

    assert told.rules[0].faults == (" [2J 31m first", "second")
    assert [line for line in shown(told) if not line.isprintable()] == []


def test_what_is_unclaimed_is_told_as_options_of_the_command() -> None:
    words = "it inserts; write `inserts = True` in your contract class\nit shortens; write `shortens = True` there"

    told = judged(row("does_only_what_it_claims", "failed", words=words, advice="Claim it."), {"ended": 1})

    assert told.rules[0].advice.startswith("Run it again with --claim inserts --claim shortens, so that")


def test_people_read_the_broken_rules_first_and_the_advice_before_the_fault() -> None:
    told = judged(
        row("a_rule", "passed", measures={"milliseconds_at_100": 0.5, "claims": []}),
        row("b_rule", "failed", words="it is wrong", advice="Mend it."),
        row("c_rule", "expected-failure", words="next week"),
        row("d_rule", "not-claimed", words="inserts or shortens"),
        row("e_rule", "not-judged", words="nobody can see it"),
        {"ended": 1},
    )

    assert shown(told) == [
        "recap (strategy of trimtab-recap 1.2), StrategyContract level 1, in a confined worker",
        "FAILED: 1 rule kept, 1 broken, in 2.0 s",
        "",
        "broken: b rule",
        "  what to do: Mend it.",
        "  it is wrong",
        "",
        "expected to fail:",
        "  c rule (next week)",
        "",
        "not claimed, so not tried:",
        "  --claim inserts or shortens: d rule",
        "",
        "not judged:",
        "  nobody can see it: e rule",
        "",
        "measured: milliseconds at 100: 0.5",
    ]


def test_a_run_that_broke_off_shows_what_it_printed() -> None:
    lines = shown(judged(row("a", "passed"), printed="INTERNALERROR> oh\x1b[0m\n"))

    assert "FAILED: 1 rule kept, 0 broken, in 2.0 s, broke off" in lines
    assert lines[-1] == "  INTERNALERROR> oh [0m"


def test_the_badge_names_level_versions_claims_and_what_is_not_kept_yet() -> None:
    told = judged(row("a", "passed"), row("b", "expected-failure", words="soon"), ENDED)

    line = badge_line(report(told, inserts=True, settings={"words": 3}))

    assert line.startswith(
        "**Trimtab StrategyContract level 1**: `recap` of `trimtab-recap 1.2` keeps 1 rule, claims inserts, "
        "1 not kept yet (`trimtab conform` "
    )
    assert "http" not in line


@pytest.fixture
def strategy(tmp_path: Path) -> Callable[[str], ConfinedStrategy]:
    """Makes a confined subject of a strategy's hook."""

    def make(inside: str) -> ConfinedStrategy:
        source = HEAVIEST.replace("return Edit(drop=drop)", inside)
        publish(tmp_path, "trimtab-heaviest", source)
        spec = WorkerSpec(Origin("heaviest"), "trimtab_heaviest", "", SHIFT, (str(tmp_path),))
        traits = load_confined(worker_pool(), spec, bounds_of(Config(), "heaviest")).traits
        subject = confined_subject(Plugin(Origin("heaviest"), {}, traits, spec), Config())
        assert isinstance(subject, ConfinedStrategy)
        return subject

    return make


def asked(subject: object, times: int = 1) -> list[Reply]:
    plugin = make_plugin(subject, Origin("subject"), hook=SHIFT)
    asker = Asker(plugin, SHIFT, {}, frozenset({"count", "embed"}), 30.0)
    return [asker.ask(case_at(chat_named("a talk"), 0.35)) for _ in range(times)]


def test_a_confined_subject_is_a_plugin_with_the_traits_and_answers_of_its_worker(
    strategy: Callable[[str], ConfinedStrategy],
) -> None:
    subject = strategy("return Edit(drop=drop, notes=[str(len(services.embed(['a', 'b'])))])")

    (reply,) = asked(subject)

    assert "words" in str(make_plugin(subject, Origin("subject"), hook=SHIFT).traits.settings_schema)
    assert isinstance(reply.edit, Edit)
    assert (len(reply.edit.drop) > 0, reply.edit.notes) == (True, ["2"])
    assert asked(pickle.loads(pickle.dumps(subject)))[0].edit == reply.edit
    subject.close()


def test_what_it_keeps_from_one_call_to_the_next_shows(strategy: Callable[[str], ConfinedStrategy]) -> None:
    subject = strategy("global calls; calls = globals().get('calls', 0) + 1; return Edit(notes=[str(calls)])")

    assert [reply.edit.notes for reply in asked(subject, 2) if reply.edit is not None] == [["1"], ["2"]]
    subject.close()


def test_an_answer_of_another_type_is_told_as_the_type_it_has(strategy: Callable[[str], ConfinedStrategy]) -> None:
    subject = strategy("return {'drop': drop}")

    (reply,) = asked(subject)

    assert (type(reply.answer).__name__, reply.error, reply.edit) == ("dict", None, None)
    subject.close()


def test_a_plugin_that_only_ends_its_process_is_not_started_for_ever(
    strategy: Callable[[str], ConfinedStrategy],
) -> None:
    subject = strategy("import os; os._exit(3)")

    replies = asked(subject, 8)

    assert {type(reply.error) for reply in replies} == {PluginCrashedError}
    assert len({id(reply.error) for reply in replies}) == 5
    subject.close()


def test_who_looks_for_the_hooks_of_what_could_not_be_loaded_is_told_why() -> None:
    error = PluginLoadError("was not there", origin=Origin("heaviest"))

    with pytest.raises(PluginLoadError, match="was not there"):
        make_plugin(confined_subject(error, Config()), Origin("subject"), hook=SHIFT)
    assert isinstance(confined_subject(error, Config()), UnloadedSubject)
