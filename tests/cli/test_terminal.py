from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from cli.chats import chat, list_file
from cli.running import run_in_terminal

TIGHT = ("--model", "gpt-4o", "--limit", "600", "--reserve", "100")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def bare(text: str) -> str:
    return _COLOUR.sub("", text)


def test_a_terminal_shows_the_report_and_how_to_save(tmp_path: Path) -> None:
    ended = run_in_terminal("fit", list_file(tmp_path), *TIGHT)

    shown = bare(ended.out)
    assert ended.code == 0
    assert "█" in shown
    assert "left out:" in shown
    assert "tokens of 500" in shown
    assert '"role"' not in shown
    assert "--out FILE" in shown.splitlines()[-1]


def test_a_terminal_gets_the_conversation_on_demand(tmp_path: Path) -> None:
    shown = run_in_terminal("fit", list_file(tmp_path), *TIGHT, "--out", "-").out

    assert '{"role": "system", "content": "You are kind."}' in shown
    assert "--out FILE" not in shown


def test_all_rows_are_shown_on_demand(tmp_path: Path) -> None:
    messages = chat(30)
    path = list_file(tmp_path, messages)

    few, every = run_in_terminal("fit", path, *TIGHT).out, run_in_terminal("fit", path, *TIGHT, "--all").out

    assert "more rows; --all shows them" in bare(few)
    assert "more rows" not in bare(every)
    assert len(every.splitlines()) > len(few.splitlines()) + 20


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, columns: int) -> None:
    shown = bare(run_in_terminal("fit", list_file(tmp_path), *TIGHT, columns=columns).out)

    report = shown[: shown.index("to save the fitted conversation")]
    assert max(cell_len(line) for line in report.splitlines()) <= columns


def test_colours_go_when_the_user_wants_none(tmp_path: Path) -> None:
    path = list_file(tmp_path)

    assert "\x1b[36m" in run_in_terminal("fit", path, *TIGHT).out
    assert "\x1b[36m" not in run_in_terminal("fit", path, *TIGHT, env={"NO_COLOR": "1"}).out


def test_what_a_message_says_does_not_steer_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J[red]words[/red] \u202e" + "word " * 300
    messages = [{"role": "user", "content": evil}, {"role": "assistant", "content": "no"}, *chat(3)]

    shown = run_in_terminal("fit", list_file(tmp_path, messages), *TIGHT, columns=200).out

    assert "]0;owned[2J[red]words[/red]" in bare(shown)
    assert not {"\x07", "\u202e", "\x9b"} & set(shown)
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown


def test_an_error_on_a_terminal_is_one_readable_line(tmp_path: Path) -> None:
    ended = run_in_terminal("fit", tmp_path / "nowhere.json", "--model", "gpt-4o", columns=200)

    assert ended.code == 2
    assert ended.out.startswith("error [INVALID_REQUEST]: ")
    assert "there is no such file" in ended.out
    assert len(ended.out.splitlines()) == 1
