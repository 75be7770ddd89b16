"""The cases of the folder `cases`, each with every field and every fact of its `expect`."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from case_checks import CHECKS, check_fields
from case_covers import check_fact
from case_facts import FACTS
from case_files import Case, load_cases, missing, unknown_keys
from case_http_facts import HTTP_CHECKS, HTTP_FACTS, check_http_fact, check_http_fields
from case_http_play import HttpStory, play_http
from case_invariants import check_invariants
from case_run import Run
from case_runner import VARIANTS, run_case
from case_turns_always import check_always
from case_turns_checks import STORY_CHECKS, check_story_fields
from case_turns_covers import check_story_fact
from case_turns_facts import STORY_FACTS
from case_turns_runner import STORY_VARIANTS, run_story
from case_turns_story import Story

ALL = load_cases()
READY = tuple(case for case in ALL if not missing(case))
FITS = tuple(case for case in READY if not case.has_turns)
TURNS = tuple(case for case in READY if case.has_turns and not case.is_http)
HTTP = tuple(case for case in READY if case.is_http)
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
    "47",
    "51",
    "53",
    "54",
    "55",
    "58",
    "60",
    "61",
    "64",
    "65",
    "68",
    "69",
    "71",
    "73",
    "79",
    "82",
    "84",
    "87",
    "88",
]
WAITING = {
    "13": ("complete",),
    "74": ("lorebook",),
    "75": ("lorebook",),
    "78": ("lorebook",),
}
AREAS = {"budget", "pairing", "counting", "cursor", "plugin", "replay", "storage", "stream"}
OWN_AT_LEAST = 167


@functools.cache
def runs_of(case_id: str) -> tuple[Run, ...]:
    return tuple(run_case(BY_ID[case_id]))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the stores of all stories are."""
    return tmp_path_factory.mktemp("stories")


@functools.cache
def stories_of(case_id: str, folder: Path) -> tuple[Story, ...]:
    return tuple(run_story(BY_ID[case_id], folder))


@pytest.mark.parametrize("case", FITS, ids=lambda case: case.id)
def test_every_field_of_the_case_holds(case: Case) -> None:
    runs = runs_of(case.id)
    assert runs
    for run in runs:
        check_invariants(run)
        check_fields(run)


@pytest.mark.parametrize(
    ("case_id", "number"),
    [(case.id, number) for case in FITS for number in range(len(FACTS.get(case.id, ())))],
)
def test_every_fact_of_the_case_holds(case_id: str, number: int) -> None:
    check_fact(FACTS[case_id][number], runs_of(case_id))


@pytest.mark.parametrize("case", TURNS, ids=lambda case: case.id)
def test_every_field_of_the_turns_holds(case: Case, folder: Path) -> None:
    stories = stories_of(case.id, folder)
    assert stories
    for story in stories:
        check_always(story)
        check_story_fields(story)


@pytest.mark.parametrize(
    ("case_id", "number"),
    [(case.id, number) for case in TURNS for number in range(len(STORY_FACTS.get(case.id, ())))],
)
def test_every_fact_of_the_turns_holds(case_id: str, number: int, folder: Path) -> None:
    check_story_fact(STORY_FACTS[case_id][number], stories_of(case_id, folder))


@functools.cache
def http_stories_of(case_id: str, folder: Path) -> tuple[HttpStory, ...]:
    return tuple(play_http(BY_ID[case_id], folder))


@pytest.mark.parametrize("case", HTTP, ids=lambda case: case.id)
def test_every_field_holds_over_http(case: Case, folder: Path) -> None:
    stories = http_stories_of(case.id, folder)
    assert stories
    for story in stories:
        check_http_fields(story)


@pytest.mark.parametrize(
    ("case_id", "number"), [(case.id, number) for case in HTTP for number in range(len(HTTP_FACTS[case.id]))]
)
def test_every_fact_holds_over_http(case_id: str, number: int, folder: Path) -> None:
    check_http_fact(HTTP_FACTS[case_id][number], http_stories_of(case_id, folder))


def test_every_fact_has_its_cover() -> None:
    facts = {case.id: len(case.facts) for case in READY if case.facts}
    covers = {**FACTS, **STORY_FACTS, **HTTP_FACTS}
    assert facts == {case_id: len(listed) for case_id, listed in covers.items() if listed}


def test_every_field_has_its_check() -> None:
    for case in FITS:
        fields = {*case.expect, *_inner_fields(case, "runs"), *_inner_fields(case, "steps")}
        assert fields - CHECKS.keys() - {"facts", "max_input", *VARIANTS} == set(), case.file
        assert unknown_keys(case) == set(), case.file


def test_every_field_of_turns_has_its_check() -> None:
    for case in TURNS:
        steps = case.data.get("request", {}).get("steps", ())
        fields = {*case.expect, *(field for step in steps for field in step.get("expect", ()))}
        assert fields - STORY_CHECKS.keys() - {"facts", *STORY_VARIANTS} == set(), case.file
        assert unknown_keys(case) == set(), case.file


def test_every_field_over_http_has_its_check() -> None:
    for case in HTTP:
        assert case.expect.keys() - HTTP_CHECKS.keys() - {"facts", "steps"} == set(), case.file
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
    assert {case.data["area"] for case in own} == AREAS
    assert all(case.file == f"{case.id}.json" for case in own)


def test_the_two_runs_of_a_case_differ_in_what_they_expect() -> None:
    for case in READY:
        if case.expect["outcome"] == "two_runs":
            first, second = case.expect["runs"]
            assert first != second, case.file
