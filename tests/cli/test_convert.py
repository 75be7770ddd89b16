from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli.chats import Json, body_file, chat, lines_file, list_file
from cli.running import COMMAND, environment, run, run_here, run_in_terminal
from trimtab.conversion import convert

SESSION: list[Json] = [
    {"type": "summary", "summary": "Shelves", "leafUuid": "a"},
    {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "What is there?"}},
    {"type": "assistant", "uuid": "a", "parentUuid": "u", "message": {"id": "m", "content": "A lamp."}},
]


def session_file(folder: Path) -> Path:
    path = folder / "session.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in SESSION), encoding="utf-8")
    return path


def test_the_conversation_goes_to_stdout_and_the_notes_to_stderr(tmp_path: Path) -> None:
    ended = run("convert", session_file(tmp_path), "--to", "chat-completions")

    assert ended.code == 0
    assert [json.loads(line) for line in ended.out.splitlines()] == [
        {"role": "user", "content": "What is there?"},
        {"role": "assistant", "content": "A lamp."},
    ]
    assert "[wire-rule] not part of the talk, and passed over: 1 summary lines" in ended.err
    assert ended.err.endswith("claude-code to chat-completions: 2 messages\n")


def test_stdin_is_read_like_a_file() -> None:
    ended = run("convert", "-", "--to", "neutral", stdin=json.dumps(chat()))

    assert json.loads(ended.out) == convert(chat(), to="neutral").messages


def test_out_takes_the_conversation_and_stdout_stays_empty(tmp_path: Path) -> None:
    out = tmp_path / "neutral.json"

    ended = run_here("convert", list_file(tmp_path), "--to", "neutral", "--out", out)

    assert (ended.code, ended.out) == (0, "")
    assert ended.err.endswith(f"messages, written to {out}\n")
    assert json.loads(out.read_text()) == convert(chat(), to="neutral").messages


def test_json_is_the_account_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "neutral.json"

    ended = run_here("convert", body_file(tmp_path), "--to", "neutral", "--json", "--out", out)

    assert ended.err == ""
    assert json.loads(ended.out) == convert(json.loads(body_file(tmp_path).read_text()), to="neutral").to_dict()
    assert json.loads(out.read_text()) == convert(chat(), to="neutral").messages


def test_a_format_that_keeps_the_system_text_apart_gives_a_body(tmp_path: Path) -> None:
    ended = run_here("convert", lines_file(tmp_path), "--to", "anthropic-messages")

    body = json.loads(ended.out)
    assert body == convert(chat(), to="anthropic-messages").request
    assert "You are kind." in json.dumps(body["system"])


def test_an_indented_list_stays_indented(tmp_path: Path) -> None:
    ended = run_here("convert", list_file(tmp_path, indent=4), "--to", "neutral")

    assert ended.out == json.dumps(convert(chat(), to="neutral").messages, ensure_ascii=False, indent=2) + "\n"


def test_a_body_in_the_same_format_comes_back_whole(tmp_path: Path) -> None:
    path = body_file(tmp_path)

    assert json.loads(run_here("convert", path, "--to", "chat-completions").out) == json.loads(path.read_text())


def test_a_terminal_shows_the_conversation(tmp_path: Path) -> None:
    shown = run_in_terminal("convert", session_file(tmp_path), "--to", "neutral").out

    assert '"A lamp."' in shown
    assert "claude-code to neutral: 2 messages" in shown


def test_hostile_names_steer_no_terminal(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps([{"role": "user", "content": "hi", "\x1b[31mmood": 1}]))

    ended = run("convert", path, "--to", "neutral")

    assert "the keys [31mmood" in ended.err
    assert "\x1b" not in ended.err


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--to", "papyrus"], "error [UNKNOWN_FORMAT]: there is no format 'papyrus'; known are"),
        (["--to", "claude-code"], "error [UNKNOWN_FORMAT]: claude-code can be read, not written"),
        (["--to", "neutral", "--format", "sharegpt"], "error [INVALID_REQUEST]: messages[0].from is missing"),
        (["--to", "neutral", "--json", "--out", "-"], "both want stdout"),
        ([], "Missing option '--to'"),
    ],
)
def test_bad_input_ends_with_2_and_says_what_to_do(tmp_path: Path, args: list[str], problem: str) -> None:
    ended = run_here("convert", list_file(tmp_path), *args)

    assert ended.code == 2
    assert problem in (ended.err or json.loads(ended.out)["message"])


def test_errors_are_json_where_json_was_asked_for(tmp_path: Path) -> None:
    ended = run_here("convert", tmp_path / "none.json", "--to", "neutral", "--json")

    assert (ended.code, ended.err) == (2, "")
    assert json.loads(ended.out)["code"] == "INVALID_REQUEST"


def test_a_broken_input_leaves_the_output_file_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    out.write_text("before")

    assert run_here("convert", session_file(tmp_path), "--to", "sharegpt", "--out", out).code == 2

    assert out.read_text() == "before"


def test_a_value_too_deep_to_walk_is_told_and_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000)

    ended = run("convert", path, "--to", "neutral")

    assert ended.code == 2
    assert "nested too deeply" in ended.err


def test_help_imports_nothing_heavy() -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", *COMMAND[1:], "convert", "--help"],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )

    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "--to FORMAT" in ended.stdout
    assert not imported & {"importlib_metadata", "pluggy", "pydantic", "rich", "stevedore", "trimtab_sdk"}


def test_a_fit_writes_another_format(tmp_path: Path) -> None:
    out = tmp_path / "fitted.json"
    tight = ("--model", "gpt-4o", "--limit", "600", "--reserve", "100")

    ended = run_here("fit", lines_file(tmp_path), *tight, "--to", "anthropic-messages", "--json", "--out", out)

    report, body = json.loads(ended.out), json.loads(out.read_text())
    assert report["format"] == "anthropic-messages"
    assert report["tokensAfter"] <= 500
    assert report["excluded"]
    assert "You are kind." in json.dumps(body["system"])
    assert body["messages"][-1] == {"role": "user", "content": "and now? é 😀"}
    assert convert(body, to="anthropic-messages").notes == ()


def test_a_fit_that_changes_the_format_names_what_is_lost(tmp_path: Path) -> None:
    ended = run("fit", body_file(tmp_path), "--limit", "600", "--reserve", "100", "--to", "neutral")

    assert json.loads(ended.out)[0]["id"] == "m0"
    assert "model, temperature of the request body" in ended.err
    assert "format neutral" in ended.err


def test_a_fit_of_a_transcript_gives_neutral_messages(tmp_path: Path) -> None:
    ended = run("fit", session_file(tmp_path), "--model", "gpt-4o")

    assert [json.loads(line)["id"] for line in ended.out.splitlines()] == ["u", "a"]
    assert "1 summary lines" in ended.err


def test_a_fit_cannot_end_in_a_format_that_is_only_read(tmp_path: Path) -> None:
    ended = run_here("fit", list_file(tmp_path), "--model", "gpt-4o", "--to", "sharegpt")

    assert ended.code == 2
    assert "sharegpt can be read, not written" in ended.err
