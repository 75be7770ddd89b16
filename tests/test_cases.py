"""The cases of the folder `cases`, each with every field and every fact of its `expect`."""

from __future__ import annotations

import functools

import pytest

from case_checks import CHECKS, check_fields
from case_covers import check_fact
from case_facts import FACTS
from case_files import Case, load_cases, missing, unknown_keys
from case_invariants import check_invariants
from case_run import Run
from case_runner import VARIANTS, run_case

ALL = load_cases()
READY = tuple(case for case in ALL if not missing(case))
BY_ID = {case.id: case for case in READY}

RAN = [
    "01",
    "03",
    "05",
    "06",
    "07",
    "08",
    "16",
    "17",
    "21",
    "26",
    "27",
    "28",
    "32",
    "34",
    "35",
    "36",
    "39",
    "41",
    "42",
    "46",
    "51",
    "53",
    "79",
    "82",
    "84",
    "87",
]
WAITING = {
    "13": ("complete",),
    "47": ("turns",),
    "54": ("turns",),
    "55": ("turns", "cursor:openai"),
    "58": ("turns", "cursor:openai"),
    "60": ("turns", "cursor:openai"),
    "61": ("turns", "cursor:gemini"),
    "64": ("turns", "cursor:openai"),
    "65": ("turns",),
    "68": ("turns", "http"),
    "69": ("turns", "http"),
    "71": ("turns",),
    "73": ("turns", "http"),
    "74": ("lorebook",),
    "75": ("lorebook",),
    "78": ("lorebook",),
    "88": ("turns", "http"),
}
OWN_AT_LEAST = 135


@functools.cache
def runs_of(case_id: str) -> tuple[Run, ...]:
    return tuple(run_case(BY_ID[case_id]))


@pytest.mark.parametrize("case", READY, ids=lambda case: case.id)
def test_every_field_of_the_case_holds(case: Case) -> None:
    runs = runs_of(case.id)
    assert runs
    for run in runs:
        check_invariants(run)
        check_fields(run)


@pytest.mark.parametrize(
    ("case_id", "number"),
    [(case_id, number) for case_id in sorted(BY_ID) for number in range(len(FACTS.get(case_id, ())))],
)
def test_every_fact_of_the_case_holds(case_id: str, number: int) -> None:
    check_fact(FACTS[case_id][number], runs_of(case_id))


def test_every_fact_has_its_cover() -> None:
    facts = {case.id: len(case.facts) for case in READY if case.facts}
    assert facts == {case_id: len(covers) for case_id, covers in FACTS.items() if covers}


def test_every_field_has_its_check() -> None:
    for case in READY:
        fields = {*case.expect, *_inner_fields(case, "runs"), *_inner_fields(case, "steps")}
        assert fields - CHECKS.keys() - {"facts", "max_input", *VARIANTS} == set(), case.file
        assert unknown_keys(case) == set(), case.file


def _inner_fields(case: Case, name: str) -> set[str]:
    """The fields of the runs of a case, or of what its steps expect."""
    inner = [one for one in case.expect.get(name, ()) if isinstance(one, dict)]
    return {field for one in inner for field in (one if name == "runs" else one.get("expect", ()))}


def test_the_copied_cases_ran_or_wait_for_what_is_listed() -> None:
    assert [case.id for case in READY if not case.is_own] == RAN
    assert {case.id: missing(case) for case in ALL if missing(case)} == WAITING


def test_ids_are_unique_and_own_cases_are_many() -> None:
    ids = [case.id for case in ALL]
    assert len(set(ids)) == len(ids)
    own = [case for case in READY if case.is_own]
    assert len(own) >= OWN_AT_LEAST
    assert {case.data["area"] for case in own} == {"budget", "pairing", "counting", "plugin", "replay"}
    assert all(case.file == f"{case.id}.json" for case in own)


def test_the_two_runs_of_a_case_differ_in_what_they_expect() -> None:
    for case in READY:
        if case.expect["outcome"] == "two_runs":
            first, second = case.expect["runs"]
            assert first != second, case.file
