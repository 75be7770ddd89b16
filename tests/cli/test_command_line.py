from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trimtab.cli
from cli.running import COMMAND, environment, run
from trimtab.cli import main

HEAVY = {
    "httpx",
    "importlib_metadata",
    "jsonschema",
    "pluggy",
    "pydantic",
    "rich",
    "stevedore",
    "tiktoken",
    "trimtab_sdk",
}


@pytest.mark.parametrize("args", [["--help"], ["-h"], []])
def test_help_names_the_commands_and_the_exit_codes(args: list[str]) -> None:
    ended = run(*args)

    assert (ended.code, ended.err) == (0, "")
    assert {"fit", "models", "plugins", "strategies"} <= set(ended.out.split())
    assert "Exit codes" in ended.out


@pytest.mark.parametrize("args", [["--help"], ["fit", "--help"], ["models", "--help"], ["plugins", "--help"]])
def test_help_imports_nothing_heavy(args: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", *COMMAND[1:], *args],
        capture_output=True,
        text=True,
        env=environment(),
        check=True,
    )

    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()}
    assert "click" in imported
    assert not imported & HEAVY


def test_the_version_is_the_distribution_s() -> None:
    ended = run("--version")

    assert ended.code == 0
    assert re.fullmatch(r"trimtab \d+\.\d+\.\d+\S*\n", ended.out)


def test_a_shell_can_complete_commands() -> None:
    ended = run(env={"_TRIMTAB_COMPLETE": "bash_complete", "COMP_WORDS": "trimtab st", "COMP_CWORD": "1"})

    assert ended.out.split(",")[-1].strip() == "strategies"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["--nonsense"], "No such option"),
        (["fitt"], "No such command"),
        (["fit"], "Missing argument 'FILE'"),
        (["fit", "x.json", "--limit", "many"], "'many' is not a valid integer"),
        (["fit", "x.json", "--set", "novalue"], "'novalue' is not key=value"),
        (["fit", "x.json", "--pin", ""], "by its id, or by its index"),
        (["fit", "-", "--model", "gpt-4o", "--tools", "-"], "cannot both come from stdin"),
    ],
)
def test_wrong_usage_is_told_in_a_line_and_ends_with_two(args: list[str], problem: str) -> None:
    ended = run(*args)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error [USAGE]: ")
    assert problem in ended.err
    assert "--help`" in ended.err
    assert ended.err.count("\n") == 1


def test_wrong_usage_is_json_for_programs() -> None:
    ended = run("fit", "x.json", "--json", "--out", "-")

    told = json.loads(ended.out)
    assert (ended.code, ended.err) == (2, "")
    assert told["code"] == "USAGE"
    assert "both want stdout" in told["message"]
    assert told["details"] == {}


def test_json_behind_two_dashes_is_a_file_and_no_option() -> None:
    ended = run("fit", "--model", "gpt-4o", "--", "--json")

    assert (ended.code, ended.out) == (2, "")
    assert "--json: there is no such file" in ended.err


def test_an_unexpected_error_ends_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(args: list[str]) -> int:
        raise ZeroDivisionError("oops")

    monkeypatch.delenv("TRIMTAB_DEBUG", raising=False)
    monkeypatch.setattr(trimtab.cli, "_run", broken)

    assert main(["models"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error [INTERNAL_ERROR]: ZeroDivisionError: oops")
    assert "Traceback" not in told.err


@pytest.fixture
def listening() -> Iterator[None]:
    """Undo what a shell does to its background jobs: they and their children never hear of Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("listening")
def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [*COMMAND, "fit", str(pipe), "--model", "gpt-4o"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # Opening waits until the command opens its end, and then it waits for us.
    with open(pipe, "wb"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.parametrize("args", [["models"], ["models", "--json"], ["--help"], ["nonsense", "--json"]])
def test_a_reader_that_left_ends_it_quietly(args: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [*COMMAND, *args], stdout=writer, stderr=subprocess.PIPE, env=environment(), check=False
    )

    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("args", [["models"], ["models", "--json"], ["--help"]])
def test_a_full_disk_behind_stdout_is_told(args: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [*COMMAND, *args], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )

    assert ended.returncode == 2
    assert ended.stderr.decode() == (
        "error [INVALID_REQUEST]: stdout cannot be written: No space left on device\n"
    )


def test_a_closed_stdout_is_told() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "models", "--json"],
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
    )

    assert ended.returncode == 2
    assert b"stdout cannot be written: it is closed" in ended.stderr
