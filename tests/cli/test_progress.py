from __future__ import annotations

import io
from pathlib import Path

import pytest

from cli.chats import list_file
from trimtab.cli import main
from trimtab.cli.progress import CountingProgress


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_quick_count_draws_nothing() -> None:
    stream, clock = io.StringIO(), Clock()

    with CountingProgress(stream, clock) as progress:
        progress(0, 1000)
        clock.now = 0.4
        progress(900, 1000)
        clock.now = 9.0
        progress(1000, 1000)

    assert stream.getvalue() == ""


def test_a_long_count_draws_a_bar_and_wipes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream, clock = io.StringIO(), Clock()

    with CountingProgress(stream, clock) as progress:
        progress(0, 1000)
        clock.now = 0.6
        progress(600, 1000)
        progress(1000, 1000)

    drawn = stream.getvalue()
    assert "counting" in drawn
    assert "1000/1000" in drawn
    assert drawn.endswith("\x1b[2K")


def test_an_error_while_counting_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream, clock = io.StringIO(), Clock()

    def fail() -> None:
        with CountingProgress(stream, clock) as progress:
            clock.now = 0.6
            progress(600, 1000)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert "\x1b[?25h" in stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_fit_on_a_terminal_draws_the_bar_on_stderr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("trimtab.cli.progress.PATIENCE", 0.0)
    monkeypatch.setattr("sys.stderr", shown)

    assert main(["fit", str(list_file(tmp_path)), "--model", "gpt-4o", "--json"]) == 0

    assert "counting" in shown.getvalue()
    assert "counting" not in capsys.readouterr().out
