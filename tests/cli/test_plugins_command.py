from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.publishing import HEAVIEST, config_file, leaving_a_mark, publish
from cli.running import Ended, run, run_here, run_in_terminal
from trimtab.loading import installed
from trimtab.loading.worker import pool
from trimtab_worker.confinement import STEPS, StepReport

COLUMNS = ["name", "kind", "distribution", "version", "origin", "trust", "status", "reason"]


def told(ended: Ended) -> dict[str, Any]:
    assert ended.code == 0, ended.out + ended.err
    value: dict[str, Any] = json.loads(ended.out)
    return value


def row(listing: dict[str, Any], name: str) -> dict[str, str]:
    (found,) = [one for one in listing["plugins"] if one["name"] == name]
    return {str(key): str(value) for key, value in found.items()}


def in_environment(folder: Path, *args: str | Path, source: str = HEAVIEST) -> Ended:
    site = publish(folder / "site", "trimtab-heaviest", source)
    return run("plugins", *args, env={"PYTHONPATH": str(site)})


def in_plugin_directory(folder: Path, *args: str | Path, source: str = HEAVIEST, settings: str = "") -> Ended:
    publish(folder / "plugins" / "trimtab-heaviest", "trimtab-heaviest", source)
    return run("plugins", *args, "--config", config_file(folder, f"plugin_directory = 'plugins'\n{settings}"))


def test_plugins_of_every_kind_are_listed_with_all_that_is_known_of_them() -> None:
    listing = told(run("plugins", "--json"))

    assert all(list(one) == COLUMNS for one in listing["plugins"])
    listed = {(one["name"], one["kind"]) for one in listing["plugins"]}
    assert listed == {(one.name, one.kind) for one in installed()}
    assert {"strategy", "codec", "tokenizer"} <= {one["kind"] for one in listing["plugins"]}
    assert row(listing, "truncate")["origin"] == "own"
    assert row(listing, "o200k_base")["kind"] == "tokenizer"


def test_people_see_the_same_rows_the_confinement_and_how_to_add_a_plugin() -> None:
    lines = run("plugins").out.splitlines()

    assert lines[0].split() == COLUMNS
    assert any(line.split()[:3] == ["truncate", "strategy", "trimtab"] for line in lines)
    assert any(line.startswith("confinement on this machine: ") for line in lines)
    assert any(line.startswith("to add one that only ever runs confined: ") for line in lines)


def test_what_stands_in_the_environment_is_listed_and_not_imported(tmp_path: Path) -> None:
    mark = tmp_path / "imported"

    listing = told(in_environment(tmp_path, "--json", source=leaving_a_mark(HEAVIEST, mark)))

    found = row(listing, "heaviest")
    assert (found["kind"], found["distribution"], found["version"]) == ("strategy", "trimtab-heaviest", "1.0")
    assert (found["origin"], found["trust"]) == ("environment", "unprotected-install")
    assert not mark.exists()


def test_a_trusted_distribution_is_listed_as_such(tmp_path: Path) -> None:
    config = config_file(tmp_path, "trusted = ['trimtab-heaviest']")

    found = row(told(in_environment(tmp_path, "--json", "--config", config)), "heaviest")

    assert (found["trust"], found["status"], found["reason"]) == ("trusted", "ready", "")


def test_what_stands_in_the_plugin_directory_is_confined(tmp_path: Path) -> None:
    found = row(told(in_plugin_directory(tmp_path, "--json")), "heaviest")

    assert (found["origin"], found["trust"], found["status"]) == ("directory", "confined", "ready")


def test_without_plugins_only_trimtab_s_own_are_ready(tmp_path: Path) -> None:
    listing = told(in_environment(tmp_path, "--json", "--no-plugins"))

    ready = {one["distribution"] for one in listing["plugins"] if one["status"] == "ready"}
    assert ready == {"trimtab"}


def test_the_confinement_of_this_machine_is_told_step_by_step() -> None:
    confinement = told(run("plugins", "--json"))["confinement"]

    assert {step["step"] for step in confinement["steps"]} == set(STEPS)
    assert confinement["complete"] == all(step["done"] for step in confinement["steps"])
    assert confinement["error"] is None


def test_a_confinement_that_cannot_be_told_does_not_hide_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[StepReport, ...]:
        raise OSError("no process to be had")

    monkeypatch.setattr(pool, "confinement_here", fail)

    assert "cannot be told, OSError: no process to be had" in run_here("plugins").out
    listing = told(run_here("plugins", "--json"))
    assert listing["confinement"] == {"complete": False, "steps": [], "error": "OSError: no process to be had"}
    assert row(listing, "truncate")["status"] == "ready"


def test_refused_steps_are_named_and_strict_says_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (StepReport("rlimits", True, "set"), StepReport("landlock", False, "the kernel has none"))
    monkeypatch.setattr(pool, "confinement_here", lambda: steps)

    out = run_here("plugins", "--config", config_file(tmp_path, "strict = true")).out

    assert "confinement on this machine: rlimits\n" in out
    assert "  refused: landlock, the kernel has none\n" in out
    assert "  strict is set, so nothing runs confined here\n" in out


def test_the_commands_that_add_a_plugin_are_told_with_the_plugin_directory(tmp_path: Path) -> None:
    (tmp_path / "plugins").mkdir()
    config = config_file(tmp_path, "plugin_directory = 'plugins'")

    install = told(run("plugins", "--json", "--config", config))["install"]

    assert set(install) == {"manager", "add", "addConfined", "notes"}
    assert install["addConfined"].endswith(f"--only-binary :all: --target {tmp_path}/plugins/NAME NAME")


def test_a_strategy_is_loaded_in_this_process_and_tells_its_hooks_and_traits() -> None:
    (loaded,) = told(run("plugins", "--load", "truncate", "--json"))["loaded"]

    assert (loaded["name"], loaded["kind"], loaded["runs"]) == ("truncate", "strategy", "in-process")
    assert loaded["hooks"] == ["trimtab_shift", "trimtab_traits"]
    assert loaded["traits"]["perTurn"] is False
    assert "shorten_messages" in loaded["traits"]["settingsSchema"]["properties"]
    assert loaded["confinement"] == []
    assert 0 < loaded["seconds"] < 30


def test_what_was_loaded_is_told_to_people(tmp_path: Path) -> None:
    ended = in_plugin_directory(tmp_path, "--load", "heaviest")

    lines = ended.out.splitlines()
    assert lines[1].split()[:2] == ["heaviest", "strategy"]
    assert lines[3].startswith("heaviest (strategy): loaded in a confined worker in ")
    assert "  hooks: trimtab_shift" in lines
    assert '  settingsSchema: {"type": "object", "properties": {"words": {"type": "integer"}}}' in lines
    assert [line for line in lines if line.startswith("  rlimits: ")] != []


@pytest.mark.parametrize("name", ["o200k_base", "chat-completions"])
def test_a_driver_is_loaded_too(name: str) -> None:
    (loaded,) = told(run("plugins", "--load", name, "--json"))["loaded"]

    assert (loaded["runs"], loaded["hooks"], loaded["traits"]) == ("in-process", [], None)


def test_a_plugin_that_is_not_trusted_is_loaded_in_a_worker_and_leaves_no_mark(tmp_path: Path) -> None:
    mark = tmp_path / "imported"

    (loaded,) = told(
        in_plugin_directory(tmp_path, "--load", "heaviest", "--json", source=leaving_a_mark(HEAVIEST, mark))
    )["loaded"]

    assert (loaded["runs"], loaded["hooks"]) == ("confined", ["trimtab_shift"])
    assert {step["step"] for step in loaded["confinement"]} == set(STEPS)
    assert loaded["traits"]["settingsSchema"]["properties"] == {"words": {"type": "integer"}}
    assert not mark.exists()


def test_a_plugin_that_cannot_be_loaded_ends_with_its_error(tmp_path: Path) -> None:
    ended = in_plugin_directory(tmp_path, "--load", "heaviest", "--json", source="raise ValueError('no idea')")

    failure = json.loads(ended.out)
    assert (ended.code, failure["code"]) == (2, "PLUGIN_LOAD_FAILED")
    assert "ValueError" in failure["message"]
    assert failure["details"]["distribution"] == "trimtab-heaviest"


def test_a_blocked_plugin_is_not_loaded(tmp_path: Path) -> None:
    config = config_file(tmp_path, "trusted = ['trimtab-heaviest']\nblocked = ['trimtab-heaviest']")
    mark = tmp_path / "imported"

    ended = in_environment(
        tmp_path, "--load", "heaviest", "--config", config, source=leaving_a_mark(HEAVIEST, mark)
    )

    assert ended.code == 2
    assert "blocked by the configuration" in ended.err
    assert not mark.exists()


def test_loading_what_is_not_installed_is_wrong_usage() -> None:
    ended = run("plugins", "--load", "nonsense")

    assert (ended.code, ended.out) == (2, "")
    assert "there is no plugin 'nonsense'" in ended.err


def test_a_distribution_that_cannot_be_read_is_listed_with_the_reason(tmp_path: Path) -> None:
    broken = {"trimtab_heaviest-1.0.dist-info/entry_points.txt": "[trimtab.strategies]\nheaviest\n"}
    env = {"PYTHONPATH": str(publish(tmp_path, "trimtab-heaviest", more=broken))}

    found = row(told(run("plugins", "--json", env=env)), "trimtab-heaviest")
    loading = run("plugins", "--load", "trimtab-heaviest", env=env)

    assert (found["kind"], found["status"]) == ("unknown", "refused")
    assert found["reason"] != ""
    assert (loading.code, loading.out) == (2, "")
    assert "[PLUGIN_LOAD_FAILED]" in loading.err


def test_steering_signs_of_metadata_reach_no_terminal(tmp_path: Path) -> None:
    site = publish(tmp_path, "trimtab-heaviest", entry="re\x1b[31mcap")

    shown = run_in_terminal("plugins", env={"PYTHONPATH": str(site), "NO_COLOR": "1", "TERM": "dumb"}).out

    assert "\x1b[31m" not in shown
    assert "heaviest" in shown
