"""The example plugins: installed from wheels, run confined and trusted, and tried by their own tests."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import cast

import pytest

from examples.projects import EXAMPLES, own_tests, project_of
from install.fresh_environment import (
    FreshEnvironment,
    Json,
    calls_of,
    diagnosed,
    run,
    same_fit,
    settings,
)

STRATEGIES = {"heaviest-first": "trimtab-heaviest", "keep-questions": "trimtab-keep-questions"}
WITH_TESTS = ("trimtab-heaviest", "trimtab-keep-questions", "trimtab-redact")
MALICIOUS = EXAMPLES / "trimtab-malicious"
KEY = "sk-proj-4fT8xQ2mZr9LkV7nB3wYc6HdJ1sPa5Ge"
TALK = [
    {"role": "system", "content": f"The key is {KEY}."},
    {"role": "user", "content": f"Is it {KEY}?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "Go on."},
]
ROW = re.compile(r"^\| ([a-z-]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_each_is_listed_ready_and_imported_by_nobody(environment: FreshEnvironment) -> None:
    rows = environment.rows()
    names = {
        name for place in EXAMPLES.iterdir() for kind in project_of(place)["entries"].values() for name in kind
    }
    assert names == {"heaviest-first", "keep-questions", "redact", "malicious"} == rows.keys()
    assert {(row["status"], row["trust"]) for row in rows.values()} == {("ready", "unprotected-install")}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_makes_the_same_fit_confined_and_trusted(
    environment: FreshEnvironment, tmp_path: Path, name: str
) -> None:
    confined = environment.fit("--strategy", name)
    trusted = environment.fit(
        "--strategy", name, "--config", settings(tmp_path, f"trusted = ['{STRATEGIES[name]}']")
    )
    assert (calls_of(confined)[name]["confined"], calls_of(trusted)[name]["confined"]) == (True, False)
    assert cast("int", calls_of(confined)[name]["dropped"]) > 0
    assert "rejected" not in calls_of(confined)[name]
    assert same_fit(confined, trusted)


def test_confined_the_redactor_cuts_what_may_leave_and_tells_of_the_rest(
    environment: FreshEnvironment, tmp_path: Path
) -> None:
    sent, report = redacted(environment, tmp_path, "interceptors = ['redact']")
    assert calls_of(report)["redact"]["confined"] is True
    assert sent[:2] == [f"The key is {KEY}.", "Is it sk-proj-[…]?"]
    ((code, message),) = diagnosed(report)
    assert (code, message.startswith("1 protected messages keep")) == ("note", True)


def test_trusted_and_allowed_it_cuts_what_must_stay_as_well(environment: FreshEnvironment, tmp_path: Path) -> None:
    config = """
    trusted = ["trimtab-redact>=1,<2"]
    interceptors = [{ name = "redact", settings = { protected = true } }]
    may_redact_protected = ["redact"]
    """
    sent, report = redacted(environment, tmp_path, config)
    assert calls_of(report)["redact"]["confined"] is False
    assert sent[:2] == ["The key is sk-proj-[…].", "Is it sk-proj-[…]?"]
    assert diagnosed(report) == []


def redacted(environment: FreshEnvironment, folder: Path, config: str) -> tuple[list[str], Json]:
    """Fit a talk with a key in it; give what is sent, and the report."""
    chat, out = folder / "chat.json", folder / "out.json"
    chat.write_text(json.dumps(TALK), encoding="utf-8")
    words = ("--model", "gpt-4o", "--json", "--config", settings(folder, config), "--out", out)
    report = environment.trimtab("fit", chat, *words).json
    return [message["content"] for message in json.loads(out.read_text(encoding="utf-8"))], report


@pytest.mark.parametrize("name", WITH_TESTS)
def test_its_own_tests_pass_with_the_kit_of_the_wheel(
    environment: FreshEnvironment, tmp_path: Path, name: str
) -> None:
    place = tmp_path / name
    shutil.copytree(EXAMPLES / name, place, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    ended = own_tests(environment, place)
    assert ended.code == 0, ended.out + ended.err
    assert "passed" in ended.out
    assert not re.search(r"failed|error|xfailed", ended.out.splitlines()[-1])


@pytest.mark.parametrize("name", WITH_TESTS)
def test_every_setting_and_entry_of_a_project_is_on_its_page(name: str) -> None:
    page = (EXAMPLES / name / "README.md").read_text(encoding="utf-8")
    entries = [entry for kind in project_of(EXAMPLES / name)["entries"].values() for entry in kind]
    assert [entry for entry in entries if entry not in page] == []


def test_the_smallest_one_is_small() -> None:
    place = EXAMPLES / "trimtab-heaviest"
    files = [place / "pyproject.toml", *place.glob("*.py"), *place.glob("tests/*.py")]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 40


def test_what_became_of_each_malicious_attempt_stands_on_its_page(environment: FreshEnvironment) -> None:
    told = run(environment.python, MALICIOUS / "demonstration" / "try_it.py", "--json").json
    confined, trusted = (cast("dict[str, str]", told[mode]) for mode in ("confined", "trusted"))
    assert shown_outcomes() == {attempt: [confined[attempt], trusted[attempt]] for attempt in confined}
    # Judged from outside: confined it left no file behind, and nobody connected.
    assert told["canaries"] == {"folder": "diary", "connections": "0"}


def test_every_malicious_attempt_is_made() -> None:
    source = (MALICIOUS / "trimtab_malicious.py").read_text(encoding="utf-8")
    assert set(re.findall(r'^    "([a-z-]+)": _', source, re.MULTILINE)) == shown_outcomes().keys()


def shown_outcomes() -> dict[str, list[str]]:
    """Read the table of the page: attempt → what came of it confined, and trusted."""
    page = (MALICIOUS / "README.md").read_text(encoding="utf-8")
    rows = [list(found) for found in ROW.findall(page)]
    return {attempt: outcomes for attempt, *outcomes in rows[2:]}
