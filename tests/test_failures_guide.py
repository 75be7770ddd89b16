"""The guide to failures has a row for all that can fail, in the words of the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

import pytest

import trimtab_sdk
from trimtab.continuation.decision import DegradeToReplay
from trimtab.continuation.log import log_lines
from trimtab.continuation.notices import ABORT_SENTENCES, SENTENCES
from trimtab.continuation.persistence import ClearState
from trimtab.continuation.recovery import AbortTurn
from trimtab.continuation.words import AbortCode, ClearCause, DegradeReason, LogWord, ReplayCause
from trimtab.turns.codes import INTERNAL_ERROR
from trimtab.turns.faults import provider_error
from trimtab_sdk.errors import NotFoundError, Sought
from trimtab_sdk.provider import Fault, FaultCode

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/failures.md").read_text()
LOG_WORDS = frozenset({"debug", "info", "warning", "error"})
NEVER_RAISED = {"TRIMTAB_ERROR", "PLUGIN_FAILED", "TURN_FAILED"}


def rows() -> Iterator[Mapping[str, str]]:
    """All rows of the page's tables, each cell by the head of its column."""
    for table in re.findall(r"(?:^\|.*\|\n)+", PAGE, re.MULTILINE):
        head, _, *body = (re.split(r"\s*\|\s*", line.strip().strip("|").strip()) for line in table.splitlines())
        for line in body:
            assert len(line) == len(head), line
            yield dict(zip(head, line, strict=True))


def words_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def row_of(column: str, word: str) -> Mapping[str, str]:
    (found,) = (row for row in rows() if word in words_in(row.get(column, "")))
    return found


def own_codes() -> set[str]:
    """The codes of all errors of the sdk, but those of classes that only others derive from."""
    errors = [getattr(trimtab_sdk, name) for name in trimtab_sdk.__all__ if name.endswith("Error")]
    codes = {error.code for error in errors if issubclass(error, trimtab_sdk.TrimtabError)}
    return (codes - NEVER_RAISED) | {NotFoundError(kind, "x").code for kind in get_args(Sought)}


def templates() -> dict[str, re.Pattern[str]]:
    """Each line that anything of the host or of a driver logs → what it matches, with … for what differs."""
    sources = [path for room in ("host", "plugins") for path in (ROOT / room).rglob("*.py")]
    logged = {text for path in sources for text in _logged(ast.parse(path.read_text()))} - {"%s"}
    return {text: re.compile("…".join(map(re.escape, re.split(r"%[sdgr]", text)))) for text in logged}


def _logged(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[ast.Constant(value=str(text)), *_]
            ):
                if attr in LOG_WORDS and name.lower().strip("_") in ("log", "logger"):
                    yield text


def continuation_lines() -> list[str]:
    """The lines of continuation, with … for what differs."""
    reasons: tuple[DegradeReason, ...] = tuple(SENTENCES)
    causes: tuple[ClearCause, ...] = get_args(ClearCause)
    aborts: tuple[AbortCode, ...] = get_args(AbortCode)
    outcomes: list[DegradeToReplay | ClearState | AbortTurn] = [
        *(DegradeToReplay(reason) for reason in reasons),
        *(ClearState(cause) for cause in causes),
        *(AbortTurn(code, "cursor_expired") for code in aborts),
    ]
    lines = [str(line) for outcome in outcomes for line in log_lines(outcome)]
    malformed = log_lines(DegradeToReplay("envelope_malformed", detail="keys"))[0]
    return [
        *(line.replace("=cursor_expired code", "=… code") for line in lines),
        str(malformed).replace("keys", "…"),
    ]


@pytest.mark.parametrize("reason", SENTENCES)
def test_a_reason_has_the_sentence_that_people_read_and_its_log_line(reason: DegradeReason) -> None:
    row = row_of("reason", reason)

    assert row["what you see"] == SENTENCES[reason]
    assert str(log_lines(DegradeToReplay(reason))[0]) in words_in(row["log line"])
    assert row["cause"]
    assert row["what to do"]


@pytest.mark.parametrize("code", get_args(AbortCode))
def test_a_cursor_that_is_lost_for_good_has_its_sentence_and_its_log_line(code: AbortCode) -> None:
    row = row_of("code", code.upper())

    assert row["what you see"] == ABORT_SENTENCES[code]
    assert words_in(row["log line"]) == [f"[continuation][invalid] reason=… code={code}"]


@pytest.mark.parametrize("cause", get_args(ClearCause))
def test_a_cursor_that_is_not_kept_has_its_cause_and_its_log_line(cause: ClearCause) -> None:
    (row,) = (row for row in rows() if words_in(row.get("cause", "")) == [cause] and "log line" in row)

    assert words_in(row["log line"]) == [str(log_lines(ClearState(cause))[0])]


@pytest.mark.parametrize("cause", get_args(ReplayCause))
def test_a_replay_that_is_no_failure_has_its_cause(cause: ReplayCause) -> None:
    assert [row["when"] for row in rows() if words_in(row.get("cause", "")) == [cause] and "when" in row]


@pytest.mark.parametrize("code", get_args(FaultCode))
def test_a_fault_of_a_provider_has_its_words_and_its_log_line(code: FaultCode) -> None:
    row = row_of("code", code)
    said = str(provider_error(Fault(code=code), provider="work", model="m", variable="WORK_KEY"))
    told = [piece.strip() for piece in row["what you see"].split("…")]

    assert [piece for piece in told if piece not in said] == [], said
    assert words_in(row["log line"]) == [f"turn … failed: {code}"]


@pytest.mark.parametrize("code", sorted({*own_codes(), INTERNAL_ERROR}))
def test_every_code_has_one_row_that_says_what_to_do(code: str) -> None:
    row = row_of("code", code)

    assert row["cause"]
    assert row["what to do"]


def test_no_row_has_a_code_that_does_not_exist() -> None:
    listed = {word for row in rows() for word in words_in(row.get("code", ""))}
    known = {*own_codes(), *get_args(FaultCode), *(code.upper() for code in get_args(AbortCode)), INTERNAL_ERROR}

    assert listed - known == set()


def test_every_log_line_of_the_page_is_one_of_the_source() -> None:
    patterns = [*templates().values()]
    own = continuation_lines()
    named = [line for row in rows() for line in words_in(row.get("log line", ""))]

    assert named
    assert [
        line for line in named if line not in own and not any(one.fullmatch(_bare(line)) for one in patterns)
    ] == []


def _bare(line: str) -> str:
    """A line with … also for a code."""
    return re.sub(r"(?<=failed: )[A-Z_]+$", "…", line)


def test_every_log_line_of_the_source_is_on_the_page() -> None:
    spans = [_bare(span) for line in PAGE.splitlines() for span in words_in(line)]
    missing = [text for text, one in templates().items() if not any(one.fullmatch(span) for span in spans)]

    assert missing == []
    assert [word for word in get_args(LogWord) if f"[continuation][{word}]" not in PAGE] == []
