"""`trimtab conform`, run as its users do: on installed distributions, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.publishing import HEAVIEST, config_file, leaving_a_mark, publish
from cli.running import COMMAND, Ended, environment, run, run_here
from trimtab.cli import conform as conform_module
from trimtab.conformance import LEVEL, running
from trimtab.conformance.orders import Order
from trimtab.conformance.reporting import Judgement, RuleResult
from trimtab.loading import installed

SOUND = HEAVIEST.replace('{"type": "object",', '{"type": "object", "additionalProperties": False,')
LOUD = SOUND.replace(
    "return Edit(drop=drop)",
    """print("\\x1b]0;owned\\x07")
    try:
        open({mark!r}, "w").close()
    except OSError:
        pass
    return Edit(drop=drop, notes=["\\x1b[31mred ![](x)\\u202e"])""",
)
ENDLESS = SOUND.replace("drop, total =", "while True: pass\n    drop, total =")
GREETS = """
from trimtab_sdk import BEFORE_INPUT, Edit, Insert, hookimpl

@hookimpl
def trimtab_intercept(request, services):
    text = "Be kind."
    if request.cost_of_insert(text) > request.budget * 0.1:
        return None
    return Edit(insert=[Insert(text, BEFORE_INPUT)])
"""
PROVIDER = """
from trimtab_sdk import Answer, Credential, Fault, ProviderRequest, TextDelta

name = "harbour"
codec = "chat-completions"
mode = "stateless-loop"
base_url = key_variable = ""
credential = Credential()
retention = None
offline = True
settings_schema = options_schema = None

def write_tools(tools, settings):
    return [{"name": one.name, "about": one.description, "takes": dict(one.parameters)} for one in tools]

def recall(items, *, model, running, settings):
    return list(items)

def request(call):
    body = {"model": call.model, "messages": call.prompt.messages, "tools": list(call.tools)}
    return ProviderRequest("harbour", {**body, "limit": call.max_output_tokens})

def reader(call):
    raise NotImplementedError

def classify(status, body):
    return Fault(code="PROVIDER_FAILED")

def respond(call):
    yield TextDelta("Moored.")
    yield Answer(items=({"role": "assistant", "content": "Moored."},), finish="stop")
"""
KEYS = {
    "name",
    "kind",
    "distribution",
    "version",
    "contract",
    "level",
    "runs",
    "claims",
    "settings",
    "passed",
    "ending",
    "seconds",
    "rules",
    "measures",
    "printed",
    "badge",
}


def conform(site: Path, *args: str | Path, env: Mapping[str, str] | None = None) -> Ended:
    return run("conform", *args, env={"PYTHONPATH": str(site), **(env or {})}, cwd=site)


def only(ended: Ended) -> dict[str, Any]:
    """The one plugin of a JSON report."""
    (plugin,) = json.loads(ended.out)["plugins"]
    found: dict[str, Any] = plugin
    return found


def rule(plugin: Mapping[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in plugin["rules"] if one["rule"] == f"test_{name}"]
    told: dict[str, Any] = found
    return told


def outcomes(plugin: Mapping[str, Any], outcome: str) -> set[str]:
    return {one["rule"].removeprefix("test_") for one in plugin["rules"] if one["outcome"] == outcome}


def test_a_sound_strategy_passes_confined_and_the_folder_it_is_run_from_has_no_say(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    publish(tmp_path / "plugins" / "trimtab-heaviest", "trimtab-heaviest", leaving_a_mark(SOUND, mark))
    config = config_file(tmp_path, "plugin_directory = 'plugins'\n")
    (tmp_path / "conftest.py").write_text("raise SystemExit('conftest')\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nothing-is-called-so\n")
    (tmp_path / "pytest.py").write_text("raise SystemExit('pytest')\n")

    ended = conform(
        tmp_path / "plugins",
        "heaviest",
        "--json",
        "--settings",
        "words=3",
        "--config",
        config,
        env={"PYTEST_ADDOPTS": "--nothing", "PYTEST_PLUGINS": "nothing", "HYPOTHESIS_PROFILE": "nothing"},
    )

    assert ended.code == 0, ended.out + ended.err
    report, plugin = json.loads(ended.out), only(ended)
    assert (report["passed"], report["level"], set(plugin)) == (True, LEVEL, KEYS)
    assert (plugin["name"], plugin["distribution"], plugin["version"]) == ("heaviest", "trimtab-heaviest", "1.0")
    assert (plugin["runs"], plugin["ending"], plugin["contract"]) == ("confined", "finished", "StrategyContract")
    assert plugin["settings"] == {"words": 3}
    assert outcomes(plugin, "failed") | outcomes(plugin, "not-run") == set()
    assert "keeps_what_must_stay" in outcomes(plugin, "passed")
    assert "another_process_gives_the_same_edit" in outcomes(plugin, "passed")
    assert outcomes(plugin, "not-judged") == {
        "leaves_its_request_alone",
        "asks_only_for_services_that_are_offered",
        "lives_with_a_failing_service",
    }
    assert rule(plugin, "spans_keep_pieces_of_texts")["reason"] == "shortens"
    assert 0 < plugin["measures"]["millisecondsAt1000"] < plugin["measures"]["millisecondsAt10000"]
    assert not mark.exists()
    kept = len(outcomes(plugin, "passed"))
    assert plugin["badge"].startswith(
        f"**Trimtab StrategyContract level {LEVEL}**: `heaviest` of `trimtab-heaviest 1.0` keeps {kept} rules"
    )


def test_a_broken_rule_ends_with_4_and_says_what_to_do_before_what_is_wrong(tmp_path: Path) -> None:
    mark = tmp_path / "written"
    publish(tmp_path, "trimtab-loud", LOUD.replace("{mark!r}", repr(str(mark))))

    ended = conform(tmp_path, "trimtab-loud")

    assert ended.code == 4, ended.out + ended.err
    assert "\x1b" not in ended.out + ended.err
    assert "\u202e" not in ended.out + ended.err
    lines = ended.out.splitlines()
    at = lines.index("broken: words are short and plain")
    assert lines[at + 1].startswith("  what to do: Keep notes to 500 characters")
    assert "writes a note with control characters: '\\x1b[31mred" in lines[at + 2]
    assert lines[1].startswith("FAILED: ")
    assert ended.err == ""
    assert not mark.exists()


def test_an_interceptor_is_told_what_to_claim(tmp_path: Path) -> None:
    publish(tmp_path, "trimtab-greets", GREETS, group="trimtab.interceptors")

    ended = conform(tmp_path, "greets")

    assert ended.code == 4, ended.out + ended.err
    assert [line for line in ended.out.splitlines() if line.startswith("broken: ")] == [
        "broken: does only what it claims"
    ]
    assert "  what to do: Run it again with --claim inserts, so that" in ended.out
    assert "  --claim inserts: inserts stay within their share; inserts say something" in ended.out


def test_a_rule_that_is_not_kept_yet_stays_in_the_report_with_its_reason_until_it_is_kept(tmp_path: Path) -> None:
    nameless = PROVIDER.replace("harbour", "no name at all")
    publish(tmp_path, "trimtab-harbour", nameless, group="trimtab.providers")
    arguments = ("harbour", "--trust", "--badge", "--xfail", "has all its parts=the name comes with 1.1")

    ended = conform(tmp_path, *arguments)

    assert ended.code == 0, ended.out + ended.err
    assert "expected to fail:\n  has all its parts (the name comes with 1.1)\n" in ended.err
    assert ", 1 not kept yet (" in ended.out

    publish(tmp_path, "trimtab-harbour", PROVIDER, group="trimtab.providers")
    ended = conform(tmp_path, *arguments)

    assert (ended.code, ended.out) == (4, "")
    assert "broken: has all its parts" in ended.err
    assert "it is kept by now, so take the xfail back" in ended.err


def test_a_plugin_that_ends_its_process_at_import_is_judged_from_outside(tmp_path: Path) -> None:
    publish(tmp_path, "trimtab-exits", "import os\nos._exit(7)\n")

    ended = conform(tmp_path, "exits", "--json")

    plugin = only(ended)
    assert (ended.code, plugin["passed"], plugin["ending"], plugin["badge"]) == (4, False, "finished", None)
    assert outcomes(plugin, "failed") == {"is_a_plugin"}
    (fault,) = rule(plugin, "is_a_plugin")["faults"]
    assert "could not be loaded in a worker: ended its process with exit code 7" in fault


def test_the_time_limit_ends_the_run_and_leaves_no_process_behind(tmp_path: Path) -> None:
    publish(tmp_path, "trimtab-endless", ENDLESS)

    with subprocess.Popen(
        [*COMMAND, "conform", "endless", "--json", "--timeout", "7"],
        stdout=subprocess.PIPE,
        env=environment({"PYTHONPATH": str(tmp_path)}),
        cwd=tmp_path,
        text=True,
    ) as command:
        ends = ends_of_descendants(command)
        assert command.stdout is not None
        out = command.stdout.read()

    plugin = only(Ended(command.returncode, out, ""))
    assert (command.returncode, plugin["passed"], plugin["ending"]) == (4, False, "time-limit")
    assert rule(plugin, "answers_every_conversation")["faults"] == [
        "the run was over before this rule came to an end"
    ]
    assert "keeps_what_must_stay" in outcomes(plugin, "not-run")
    # At least pytest, a worker for the plugin and a spare one.
    assert len(ends) >= 3
    assert [end for end in ends if not is_gone(end)] == []


def ends_of_descendants(command: subprocess.Popen[str]) -> list[int]:
    """Hold on to every process that a command starts, until it ends."""
    ends: dict[int, int] = {}
    moment = threading.Event()
    while command.poll() is None:
        for pid in descendants(command.pid) - ends.keys():
            with contextlib.suppress(ProcessLookupError):
                ends[pid] = os.pidfd_open(pid)
        moment.wait(0.05)
    return list(ends.values())


def descendants(pid: int) -> set[int]:
    children: dict[int, set[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = file.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), set()).add(int(file.parent.name))
    found, todo = set[int](), [pid]
    while todo:
        new = children.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def is_gone(end: int) -> bool:
    """Whether the process behind a pidfd ends within some seconds."""
    try:
        return bool(select.select([end], [], [], 10)[0])
    finally:
        os.close(end)


def test_a_driver_runs_only_when_it_is_trusted(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    publish(tmp_path, "trimtab-harbour", leaving_a_mark(PROVIDER, mark), group="trimtab.providers")

    refused = conform(tmp_path, "trimtab-harbour", "--json")

    failure = json.loads(refused.out)
    assert (refused.code, failure["code"]) == (2, "PLUGIN_NOT_TRUSTED")
    assert "run it again with --trust if you trust who made it" in failure["message"]
    assert not mark.exists()

    trusted = conform(tmp_path, "trimtab-harbour", "--trust", "--badge")

    assert trusted.code == 0, trusted.out + trusted.err
    assert mark.exists()
    assert trusted.out.startswith("**Trimtab ProviderContract level ")
    assert trusted.out.count("\n") == 1
    assert "in a process of its own, not confined" in trusted.err


def test_what_stands_in_a_plugin_directory_cannot_be_trusted_here_either(tmp_path: Path) -> None:
    publish(tmp_path / "plugins" / "trimtab-harbour", "trimtab-harbour", PROVIDER, group="trimtab.providers")
    config = config_file(tmp_path, "plugin_directory = 'plugins'\n")

    ended = conform(tmp_path, "harbour", "--trust", "--config", config)

    assert ended.code == 2
    assert "nothing in a plugin directory can be trusted" in ended.err


def test_a_blocked_plugin_is_not_run(tmp_path: Path) -> None:
    publish(tmp_path, "trimtab-heaviest", SOUND)

    ended = conform(tmp_path, "heaviest", "--config", config_file(tmp_path, "blocked = ['heaviest']\n"))

    assert (ended.code, ended.out) == (2, "")
    assert "blocked by the configuration" in ended.err


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["nobody"], "there is no plugin 'nobody'; `trimtab plugins` lists them"),
        (["truncate", "--claim", "flies"], "nothing is called 'flies'; what can be claimed is"),
        (["truncate", "--claim", "needs_services"], "needs_services is claimed with a value, as --claim"),
        (["truncate", "--claim", "shortens=3"], "shortens is claimed without a value"),
        (["truncate", "--xfail", "flies=later"], "there is no rule 'test_flies'"),
        (["truncate", "--xfail", "keeps what must stay"], "say why: --xfail 'keeps what must stay=the reason'"),
        (["neutral", "--settings", "a=1"], "settings are for strategies and interceptors"),
        (["truncate", "--sample", str(Path(__file__))], "is no JSON that can be read"),
        (["truncate", "--timeout", "0"], "0.0 is not in the range"),
    ],
)
def test_what_cannot_be_asked_for_is_told_before_anything_runs(words: list[str], advice: str) -> None:
    ended = run_here("conform", *words)

    assert (ended.code, ended.out) == (2, "")
    assert advice in ended.err


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conform_module, "find_spec", lambda name: None)

    ended = run_here("conform", "truncate")

    assert ended.code == 2
    assert "need pytest and hypothesis" in ended.err
    assert "trimtab[conformance]" in ended.err


def test_a_built_in_is_found_by_its_name_and_by_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[Order] = []

    def judge(order: Order, *, seconds: float) -> Judgement:
        judged.append(order)
        return Judgement((RuleResult("test_a", "passed"),), "finished", 0.1)

    monkeypatch.setattr(running, "judge", judge)

    assert run_here("conform", "vector-recall", "--json").code == 0
    assert [(one.name, one.confined) for one in judged] == [("vector-recall", False)]
    assert judged.pop().claims["names_relevant"] is True

    assert run_here("conform", "trimtab").code == 0
    assert {(one.name, one.kind) for one in judged} == {
        (row.name, row.kind) for row in installed() if row.candidate.own
    }
    assert not any(one.confined for one in judged)
