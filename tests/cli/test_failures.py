from __future__ import annotations

import json

import click
import pytest

from trimtab.cli.failures import exit_code, tell_failure
from trimtab.cli.writing import UnwritableOutputError
from trimtab_sdk.errors import InvalidRequestError, TokenBudgetExceededError, UnknownModelError

OVER = TokenBudgetExceededError(
    needed=5000,
    allowed=1000,
    overhead=20,
    protected={**{f"m{at}": 10 * at for at in range(1, 20)}, "now": 3000},
    current_input=["now"],
    smallest_limit=6250,
)


class PanicError(BaseException):
    """As a native tokenizer raises it."""


def test_exit_codes_tell_whose_fault_it_is() -> None:
    assert exit_code(InvalidRequestError("no")) == 2
    assert exit_code(UnknownModelError("no", name="x")) == 2
    assert exit_code(click.UsageError("no")) == 2
    assert exit_code(OVER) == 3
    assert exit_code(ValueError("no")) == 1
    assert exit_code(PanicError()) == 1
    assert exit_code(OSError(28, "No space left on device")) == 2
    assert exit_code(OSError(2, "No such file")) == 1


def test_people_read_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    tell_failure(InvalidRequestError("messages[3].content is\n\x1b[31m wrong"), as_json=False)

    assert capsys.readouterr() == ("", "error [INVALID_REQUEST]: messages[3].content is [31m wrong\n")


def test_programs_read_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    error = InvalidRequestError("wrong: é \ud800", path="messages[3]", ids=["a"])

    tell_failure(error, as_json=True)

    out, err = capfdbinary.readouterr()
    assert err == b""
    assert json.loads(out) == {
        "code": "INVALID_REQUEST",
        "message": "wrong: é \ud800",
        "details": {"path": "messages[3]", "ids": ["a"]},
    }


def test_the_heaviest_protected_messages_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    tell_failure(OVER, as_json=False)

    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == (
        "error [TOKEN_BUDGET_EXCEEDED]: what must stay needs 5,000 tokens "
        "(20 of them the request's own overhead), 1,000 are allowed"
    )
    rows = [line.split() for line in lines[3:12]]
    assert rows[:2] == [["3,000", "now", "(current", "input)"], ["190", "m19"]]
    assert rows[-1] == ["780", "12", "more"]
    assert "a limit of at least 6,250 tokens" in lines[-1]


def test_an_unexpected_error_is_short(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIMTAB_DEBUG", raising=False)
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError as error:
        tell_failure(error, as_json=False)

    told = capsys.readouterr().err
    assert told.startswith("error [INTERNAL_ERROR]: ZeroDivisionError: oops")
    assert told.count("\n") == 1


def test_a_traceback_is_shown_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIMTAB_DEBUG", "1")
    try:
        raise ZeroDivisionError("oops")
    except ZeroDivisionError as error:
        tell_failure(error, as_json=False)

    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_a_lost_stdout_is_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    tell_failure(UnwritableOutputError("stdout", "No space left on device"), as_json=True)
    tell_failure(UnwritableOutputError("chat.json", "Permission denied"), as_json=True)

    told = capsys.readouterr()
    assert "stdout cannot be written: No space left on device" in told.err
    assert json.loads(told.out)["details"] == {"file": "chat.json"}
