from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import trimtab
from conformance.broken_plugins import Sound
from conformance.kit_runs import run_source
from trimtab.conformance.asking import Asker
from trimtab.conformance.base import Contract, advice_of, dropped_rules
from trimtab.conformance.corpus import Chat, corpus
from trimtab.conformance.generated import check_generated
from trimtab.conformance.requests import SUBJECT, Case, case_at, over_budget
from trimtab.conformance.shape import shape_faults
from trimtab.conformance.strategy import StrategyContract
from trimtab.loading.plugins import SHIFT, make_plugin
from trimtab_sdk import Edit, Insert, Message, Origin

ROOT = Path(trimtab.__file__).parent
FIRST_RUN = """
import pytest
from trimtab.conformance import StrategyContract
from trimtab_strategies import truncate

class TestMine(StrategyContract):
    @pytest.fixture
    def subject(self): return truncate
"""


def test_a_first_run_takes_three_lines(tmp_path: Path) -> None:
    run = run_source(tmp_path, FIRST_RUN, "-k", "plugin or traits or whole or spans")

    assert run.code == 0, run.printed
    assert {one.kind for one in run.outcomes["TestMine"].values()} == {"passed", "skipped"}
    assert "not claimed: shortens" in run.printed


def test_a_contract_without_a_subject_says_what_is_missing(tmp_path: Path) -> None:
    source = "from trimtab.conformance import StrategyContract\nclass TestMine(StrategyContract): pass\n"
    run = run_source(tmp_path, source, "-k", "is_a_plugin")

    assert run.code == 1
    assert "write a fixture `subject` that returns it" in run.printed


def test_importing_a_contract_runs_nothing(tmp_path: Path) -> None:
    run = run_source(tmp_path, "from trimtab.conformance import StrategyContract\ndef test_own(): pass\n")

    assert run.code == 0, run.printed
    assert [name for tests in run.outcomes.values() for name in tests] == ["test_own"]


def test_a_deleted_or_rewritten_rule_is_caught_and_an_honest_xfail_is_not(tmp_path: Path) -> None:
    source = (
        FIRST_RUN
        + """
    test_groups_leave_whole = None
    def test_keeps_what_must_stay(self): pass
    @pytest.mark.skip(reason="later")
    def test_answers_an_edit_or_none(self): pass
    @pytest.mark.xfail(strict=True)
    def test_is_a_plugin(self): assert False
    @pytest.mark.xfail(reason="not yet", strict=True)
    def test_words_are_short_and_plain(self, asker): assert False
    @pytest.mark.xfail(reason="kept by now", strict=True)
    def test_works_when_nothing_can_leave(self, asker): super().test_works_when_nothing_can_leave(asker)
"""
    )
    run = run_source(tmp_path, source, "-k", "no_rule or words or nothing_can")

    words = run.failed("TestMine")["test_no_rule_was_dropped_or_rewritten"]
    assert "test_groups_leave_whole is deleted" in words
    assert "test_keeps_what_must_stay is overridden without" in words
    assert "test_answers_an_edit_or_none is overridden without" in words
    assert "test_is_a_plugin is overridden without" in words
    assert "test_words_are_short_and_plain" not in words
    assert "mark the test as xfail(reason=..., strict=True)" in words
    assert run.outcomes["TestMine"]["test_words_are_short_and_plain"].words == "not yet"
    assert "kept by now" in run.failed("TestMine")["test_works_when_nothing_can_leave"]


def test_an_xfail_that_lets_a_pass_go_by_is_no_honest_one() -> None:
    class Lax(StrategyContract):
        @pytest.mark.xfail(reason="maybe", strict=False)
        def test_is_a_plugin(self, subject: object) -> None: ...

    assert list(dropped_rules(Lax, strict=True)) == [
        "test_is_a_plugin is overridden without @pytest.mark.xfail(reason=..., strict=True)"
    ]


def test_an_xfail_is_as_strict_as_pytest_is_configured() -> None:
    class NotYet(StrategyContract):
        @pytest.mark.xfail(reason="not yet")
        def test_is_a_plugin(self, subject: object) -> None: ...

    assert list(dropped_rules(NotYet, strict=True)) == []
    assert len(list(dropped_rules(NotYet, strict=False))) == 1


def test_the_rule_about_the_rules_cannot_be_replaced() -> None:
    with pytest.raises(TypeError, match="replaces test_no_rule_was_dropped_or_rewritten"):
        type("Sly", (StrategyContract,), {"test_no_rule_was_dropped_or_rewritten": lambda self: None})


def test_every_rule_begins_with_what_to_do() -> None:
    for contract in (StrategyContract, trimtab_interceptor()):
        rules = {name: getattr(contract, name) for name in dir(contract) if name.startswith("test_")}
        assert [name for name, rule in rules.items() if len(advice_of(rule)) < 30] == []


def trimtab_interceptor() -> type[Contract]:
    from trimtab.conformance import InterceptorContract

    return InterceptorContract


def test_the_corpus_is_two_dozen_conversations_of_unique_ids() -> None:
    assert len(corpus()) >= 24
    assert max(len(chat.messages) for chat in corpus()) == 2000
    for chat in corpus():
        ids = [message.id for message in chat.messages]
        assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("chat", corpus(), ids=lambda chat: chat.name)
def test_the_wire_input_of_a_conversation_is_the_same_conversation(chat: Chat) -> None:
    report = trimtab.fit(chat.wire, model="kit", context_limit=10_000_000, format="neutral", config=config())

    assert [entry.id for entry in report.kept] == [message.id for message in chat.messages]
    assert report.messages == chat.wire
    assert report.tokens_before == case_at(chat, 1.0).budget


def config() -> trimtab.Config:
    return trimtab.Config(models={"kit": {"encoding": "approximate-v1", "context_limit": 1_000_000}})


def test_a_case_is_what_a_host_hands_to_a_strategy() -> None:
    (case, *_) = over_budget(corpus()[5])
    request = case.request(hook=SHIFT, settings={"words": 3})

    assert request.total > request.budget >= request.target
    assert request.settings == {"words": 3}
    assert sum(request.tokens.values()) + request.overhead == request.total


def test_generated_conversations_are_the_same_ones_in_every_run() -> None:
    def drawn() -> list[str]:
        seen: list[str] = []
        check_generated(lambda case: seen.append(repr(case)), most=1.5, examples=10)
        return seen

    first = drawn()
    assert len(first) == 10
    assert drawn() == first


def test_a_generated_case_that_fails_is_told_small() -> None:
    def check(case: Case) -> None:
        assert not any(message.role == "tool" for message in case.chat.messages), repr(case)

    with pytest.raises(AssertionError, match="'generated': m0 tool ToolResult, ") as caught:
        check_generated(check, most=1.5, examples=50)
    assert "and 8 more" not in str(caught.value)


class Text(str):
    pass


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"drop": {}}, "answered a dict"),
        (Edit(drop=[("m0", "context-shift")]), "drop is a list"),  # type: ignore[arg-type]
        (Edit(drop={"m0": Text("context-shift")}), "a reason in drop is a Text"),
        (Edit(drop={1: "context-shift"}), "an id in drop is a int"),  # type: ignore[dict-item]
        (Edit(shorten={"m0": [(0, 1)]}), "a key of shorten is a str"),  # type: ignore[dict-item]
        (Edit(shorten={("m0", (True,)): [(0, 1)]}), "a path in shorten is (True,)"),
        (Edit(shorten={("m0", (0,)): [(0, 1.5)]}), "a span in shorten is (0, 1.5)"),  # type: ignore[list-item]
        (Edit(insert=["hello"]), "an insert is a str"),  # type: ignore[list-item]
        (Edit(insert=[Insert("half \ud800")]), "half a surrogate pair"),
        (Edit(insert=iter([Insert("hello")])), "insert is a list_iterator"),  # type: ignore[arg-type]
        (Edit(notes=[None]), "an element of notes is a NoneType"),  # type: ignore[list-item]
    ],
)
def test_an_answer_of_the_wrong_types_is_told_in_the_authors_terms(answer: object, words: str) -> None:
    assert words in "; ".join(shape_faults(answer))


def test_a_late_answer_is_not_waited_for() -> None:
    class Endless(Sound):
        def answer(self, request: object, services: object) -> Edit:
            while not done:
                pass
            return Edit()

    done: list[bool] = []
    plugin = make_plugin(Endless(), Origin(SUBJECT), hook=SHIFT)
    reply = Asker(plugin, SHIFT, {}, frozenset(), 0.05).ask(case_at(corpus()[5], 0.5))
    done.append(True)

    assert reply.late
    assert reply.edit is None


def test_conversations_of_the_authors_own_are_tried_too() -> None:
    class Own(StrategyContract):
        more_conversations = ([Message("mine", "user"), *corpus()[5].messages],)

    assert any("your own 0" in repr(case) for case in Own().cases())


def test_only_the_command_that_runs_it_knows_the_kit() -> None:
    guilty = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if path.relative_to(ROOT).parts[0] not in ("conformance", "data")
        and path.name != "conform.py"
        and imports_kit(path)
    ]
    assert guilty == []


def imports_kit(path: Path) -> bool:
    named = [
        name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names])
    ]
    return any(name.startswith("trimtab.conformance") for name in named)


def test_naming_the_kit_loads_neither_pytest_nor_hypothesis() -> None:
    code = "import json, sys, trimtab.conformance; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert not {"pytest", "hypothesis", "pydantic"} & set(json.loads(done.stdout))


def test_the_kit_imports_nothing_of_these_tests() -> None:
    tests = {path.stem for path in Path(__file__).parent.parent.iterdir()}
    for path in (ROOT / "conformance").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] not in tests - {"trimtab"}
