"""From results of pytest-benchmark to the table of the docs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent


def result(name: str, messages: int, seconds: float, **params: object) -> dict[str, object]:
    return {
        "name": f"{name}[{messages}]",
        "params": {"messages": messages, **params},
        "stats": {"median": seconds, "mean": 9.0},
    }


def table_of(folder: Path, *results: Mapping[str, object]) -> list[str]:
    file = folder / "results.json"
    file.write_text(json.dumps({"benchmarks": results}))
    command = [sys.executable, str(ROOT / "scripts" / "benchmark_table.py"), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_a_row_has_the_medians_of_one_size_and_the_fit_beside_the_pass(tmp_path: Path) -> None:
    lines = table_of(
        tmp_path,
        result("test_peer", 1000, 0.25, peer="other_library"),
        result("test_cold_fit", 1000, 0.123456),
        result("test_next_turn", 100, 0.000234),
        result("test_tokenizer_pass", 1000, 0.1),
    )

    assert lines[:4] == [
        "| messages | tokenizer pass | cold fit | next turn | other-library | cold fit / pass |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        "| 100 |  |  | 0.234 ms |  |  |",
        "| 1,000 | 100 ms | 123 ms |  | 250 ms | 1.23 |",
    ]


def test_a_benchmark_that_is_no_column_is_left_out(tmp_path: Path) -> None:
    other = {"name": "test_other", "params": None, "stats": {"median": 1.0}}

    lines = table_of(tmp_path, other, result("test_warm_fit", 10_000, 1.5))

    assert lines[0] == "| messages | the same again | cold fit / pass |"
    assert lines[2] == "| 10,000 | 1,500 ms |  |"


def test_the_docs_have_the_columns_of_the_table() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")

    assert "| messages | tokenizer pass | cold fit | the same again | next turn |" in page
