from __future__ import annotations

import json

from cli.running import run, run_in_terminal


def test_models_are_listed_with_their_limits() -> None:
    ended = run("models", "gpt-4o")

    header, *rows = ended.out.splitlines()
    assert ended.code == 0
    assert header.split() == ["model", "provider", "context", "max", "input", "max", "output", "encoding"]
    assert ["gpt-4o", "openai", "128,000", "-", "16,384", "o200k_base"] in [row.split() for row in rows]
    assert all("gpt-4o" in row for row in rows)


def test_models_are_found_by_provider_in_any_case() -> None:
    rows = json.loads(run("models", "OpenAI", "--json").out)

    assert {row["provider"] for row in rows} == {"openai"}
    assert set(rows[0]) == {"name", "provider", "contextLimit", "maxInput", "maxOutput", "encoding"}
    assert len(rows) < len(json.loads(run("models", "--json").out))


def test_no_model_found_says_that_any_model_works() -> None:
    ended = run("models", "nonsense-\x1b[31m")

    assert (ended.code, ended.out) == (0, "")
    assert "nonsense-[31m" in ended.err
    assert "--limit" in ended.err
    assert json.loads(run("models", "nonsense", "--json").out) == []


def test_strategies_are_listed_with_where_they_come_from() -> None:
    rows = [line.split() for line in run("strategies").out.splitlines()]

    assert rows[0] == ["name", "distribution", "version", "trust", "status", "reason"]
    truncate = next(row for row in rows if row[0] == "truncate")
    assert (truncate[1], truncate[3], truncate[4]) == ("trimtab", "built-in", "ready")


def test_strategies_as_json_have_the_same_rows() -> None:
    listed = json.loads(run("strategies", "--json").out)

    assert {"truncate", "manual"} <= {row["name"] for row in listed}
    assert all({"name", "distribution", "version", "trust", "status", "reason"} <= set(row) for row in listed)


def test_a_listing_on_a_narrow_terminal_cuts_no_name() -> None:
    shown = run_in_terminal("models", "gpt-4o-mini-search-preview", columns=40).out

    assert "gpt-4o-mini-search-preview-2025-03-11" in shown
    assert "o200k_base" in shown
