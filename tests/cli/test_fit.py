from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.chats import Json, body_file, chat, lines_file, list_file
from cli.running import COMMAND, environment, run, run_here
from timeless import timeless
from trimtab.api import fit
from trimtab.cli import main

TIGHT = ("--model", "gpt-4o", "--limit", "600", "--reserve", "100")


def expected(messages: object) -> list[object]:
    return fit(messages, model="gpt-4o", context_limit=600, reserve=100).messages


def test_a_pipe_gets_the_conversation_and_stderr_the_report(tmp_path: Path) -> None:
    ended = run("fit", list_file(tmp_path), *TIGHT)

    assert ended.code == 0
    assert json.loads(ended.out) == expected(chat())
    assert len(json.loads(ended.out)) < len(chat())
    assert "left out:" in ended.err
    assert "tokens of 500" in ended.err
    assert "\x1b" not in ended.err


def test_stdin_is_read_like_a_file() -> None:
    ended = run("fit", "-", *TIGHT, stdin=json.dumps(chat()))

    assert json.loads(ended.out) == expected(chat())


def test_json_is_the_report_and_nothing_else(tmp_path: Path) -> None:
    ended = run("fit", list_file(tmp_path), *TIGHT, "--json")

    assert ended.err == ""
    alone = fit(chat(), model="gpt-4o", context_limit=600, reserve=100)
    assert timeless(json.loads(ended.out)) == timeless(alone.to_dict())


def test_out_takes_the_conversation_and_stdout_the_report(tmp_path: Path) -> None:
    out = tmp_path / "fitted.json"

    ended = run_here("fit", list_file(tmp_path), *TIGHT, "--out", out)

    assert (ended.code, ended.err) == (0, "")
    assert "left out:" in ended.out
    assert ended.out.endswith(f"written to {out}\n")
    assert json.loads(out.read_text()) == expected(chat())


def test_json_and_out_go_together(tmp_path: Path) -> None:
    out = tmp_path / "fitted.json"

    ended = run_here("fit", list_file(tmp_path), *TIGHT, "--json", "--out", out)

    assert ended.err == ""
    assert json.loads(ended.out)["strategy"] == "truncate"
    assert json.loads(out.read_text()) == expected(chat())


def test_a_dash_sends_the_conversation_to_stdout(tmp_path: Path) -> None:
    ended = run_here("fit", list_file(tmp_path), *TIGHT, "--out", "-")

    assert json.loads(ended.out) == expected(chat())
    assert "left out:" in ended.err


def test_the_input_file_may_be_the_output_file(tmp_path: Path) -> None:
    path = list_file(tmp_path, indent=2)

    assert run_here("fit", path, *TIGHT, "--out", path).code == 0

    assert json.loads(path.read_text()) == expected(chat())
    assert os.listdir(tmp_path) == [path.name]


def test_a_compact_list_stays_on_one_line_and_a_long_one_is_indented(tmp_path: Path) -> None:
    compact = run_here("fit", list_file(tmp_path), *TIGHT).out
    indented = run_here("fit", list_file(tmp_path, indent=4), *TIGHT).out

    assert compact == json.dumps(expected(chat()), ensure_ascii=False) + "\n"
    assert indented == json.dumps(expected(chat()), ensure_ascii=False, indent=2) + "\n"


def test_lines_come_out_as_lines(tmp_path: Path) -> None:
    out = run_here("fit", lines_file(tmp_path), *TIGHT).out

    assert out.endswith("}\n")
    assert [json.loads(line) for line in out.splitlines()] == expected(chat())


def test_a_body_comes_out_whole_and_needs_no_model(tmp_path: Path) -> None:
    out = run_here("fit", body_file(tmp_path), *TIGHT[2:]).out

    assert json.loads(out) == {"model": "gpt-4o", "temperature": 0.5, "messages": expected(chat())}
    assert out.startswith('{\n  "model": "gpt-4o",\n')


def test_a_list_needs_a_model(tmp_path: Path) -> None:
    ended = run_here("fit", list_file(tmp_path))

    assert ended.code == 2
    assert "error [USAGE]: --model is missing" in ended.err


def test_what_fits_comes_back_byte_for_byte(tmp_path: Path) -> None:
    path = lines_file(tmp_path)
    path.write_text("".join(json.dumps(message, ensure_ascii=False) + "\n" for message in chat()))

    ended = run_here("fit", path, "--model", "gpt-4o")

    assert ended.out == path.read_text()
    assert "no message left out" in ended.err


def test_pins_stay_and_exclusions_leave_by_index_and_by_id(tmp_path: Path) -> None:
    messages: list[Json] = [{**message, "id": f"id-{at}"} for at, message in enumerate(chat())]
    path = list_file(tmp_path, messages)

    report = json.loads(
        run_here(
            "fit", path, *TIGHT, "--json", "--pin", "@1", "--pin", "id-5", "--exclude", "id-27", "--exclude", "@26"
        ).out
    )

    kept = {entry["index"]: entry["reason"] for entry in report["kept"]}
    left = {entry["index"]: entry["reason"] for entry in report["excluded"]}
    assert (kept[1], kept[5]) == ("pinned", "pinned")
    assert (left[26], left[27]) == ("manual", "manual")


@pytest.mark.parametrize("named", ["@999", "nobody"])
def test_a_pin_that_names_no_message_is_refused(tmp_path: Path, named: str) -> None:
    ended = run_here("fit", list_file(tmp_path), *TIGHT, "--pin", named)

    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error [INVALID_REQUEST]: ")
    assert named.strip("@") in ended.err


def test_settings_reach_the_strategy(tmp_path: Path) -> None:
    messages = [*chat()[:1], {"role": "user", "content": "long " * 2000}, {"role": "user", "content": "now"}]
    messages.insert(2, {"role": "assistant", "content": "yes"})

    report = json.loads(
        run_here("fit", list_file(tmp_path, messages), *TIGHT, "--json", "--set", "shorten_messages=true").out
    )

    assert [entry["index"] for entry in report["truncated"]] == [1]


def test_a_setting_the_strategy_does_not_know_is_refused(tmp_path: Path) -> None:
    ended = run_here("fit", list_file(tmp_path), *TIGHT, "--set", "nonsense=1")

    assert ended.code == 2
    assert "nonsense" in ended.err


def test_tools_are_counted(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"type": "function", "function": {"name": "weather", "parameters": {}}}]))
    path = list_file(tmp_path)

    without = json.loads(run_here("fit", path, *TIGHT, "--json").out)
    with_tools = json.loads(run_here("fit", path, *TIGHT, "--json", "--tools", tools).out)

    assert with_tools["overhead"] > without["overhead"]


def test_tools_that_are_no_list_are_refused(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text("{}")

    ended = run_here("fit", list_file(tmp_path), *TIGHT, "--tools", tools)

    assert ended.code == 2
    assert "--tools takes a JSON list" in ended.err


def test_over_budget_ends_with_three_and_the_heaviest_messages(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "rule " * 500}, {"role": "user", "content": "hi"}]

    ended = run("fit", list_file(tmp_path, messages), *TIGHT)

    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("error [TOKEN_BUDGET_EXCEEDED]: what must stay needs")
    assert "protected message" in ended.err


def test_over_budget_is_json_for_programs_and_no_file_is_written(tmp_path: Path) -> None:
    messages = [{"role": "system", "content": "rule " * 500}, {"role": "user", "content": "hi"}]
    out = tmp_path / "fitted.json"

    ended = run_here("fit", list_file(tmp_path, messages), *TIGHT, "--json", "--out", out)

    told = json.loads(ended.out)
    assert (ended.code, ended.err) == (3, "")
    assert told["code"] == "TOKEN_BUDGET_EXCEEDED"
    assert told["details"]["allowed"] == 500
    assert not out.exists()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--model", "no-such-model"), "UNKNOWN_MODEL"),
        (("--model", "gpt-4o", "--strategy", "nonsense"), "UNKNOWN_STRATEGY"),
        (("--model", "gpt-4o", "--format", "nonsense"), "UNKNOWN_FORMAT"),
        (("--model", "gpt-4o", "--limit", "-5"), "INVALID_BUDGET"),
        (("--model", "gpt-4o", "--limit", "100", "--reserve", "100"), "INVALID_BUDGET"),
    ],
)
def test_what_cannot_be_done_has_its_code(tmp_path: Path, args: tuple[str, ...], code: str) -> None:
    path = list_file(tmp_path)

    plain, for_programs = run_here("fit", path, *args), run_here("fit", path, *args, "--json")

    assert (plain.code, plain.out, for_programs.code, for_programs.err) == (2, "", 2, "")
    assert plain.err.startswith(f"error [{code}]: ")
    assert json.loads(for_programs.out)["code"] == code
    assert "Traceback" not in plain.err


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[",
        "null",
        "3",
        '"hi"',
        "{}",
        "[1]",
        "[null]",
        "[[]]",
        '[{"role": 3}]',
        '[{"role": "user", "content": {"a": 1}}]',
        '{"messages": {}}',
        '{"messages": "hi"}',
        '{"role": "user"}\n[]',
        '[{"role": "nobody", "content": "hi"}]',
        '[{"role": "user", "content": NaN}]',
    ],
)
def test_bad_input_never_ends_in_a_traceback(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chat"
    path.write_text(content)

    assert main(["fit", str(path), "--model", "gpt-4o", "--json"]) == 2

    told = json.loads(capsys.readouterr().out)
    assert told["code"] in ("INVALID_REQUEST", "UNKNOWN_FORMAT")
    assert told["message"]


@pytest.mark.parametrize("depth", [50, 300, 700, 850, 900, 950, 980])
def test_deep_json_is_fitted_or_refused(tmp_path: Path, depth: int, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "hi", "extra": ' + "[" * depth + "]" * depth + "}]")

    code = main(["fit", str(path), "--model", "gpt-4o", "--json"])

    told = json.loads(capsys.readouterr().out)
    assert (code == 0 and told["tokensAfter"] > 0) or (code == 2 and told["code"] == "INVALID_REQUEST")


def test_a_reader_that_left_ends_it_quietly(tmp_path: Path) -> None:
    path = list_file(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [*COMMAND, "fit", path, *TIGHT], stdout=writer, stderr=subprocess.PIPE, env=environment(), check=False
    )

    os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, b"")


def test_a_stdout_that_writes_no_unicode_gets_utf8_all_the_same(tmp_path: Path) -> None:
    path = list_file(tmp_path)

    ended = run("fit", path, *TIGHT, env={"PYTHONIOENCODING": "ascii"})

    assert json.loads(ended.out) == expected(chat())
    assert "left out:" in ended.err
    assert ended.err.isascii()


def test_the_installed_command_is_the_same(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("trimtab")

    ended = subprocess.run([script, "fit", list_file(tmp_path), *TIGHT], capture_output=True, check=True)

    assert json.loads(ended.stdout) == expected(chat())
