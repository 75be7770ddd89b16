"""Run the benchmarks and print their medians as the table of `docs/performance.md`.

    python scripts/benchmark_table.py                 run, then print
    python scripts/benchmark_table.py RESULTS.json    print what `pytest --benchmark-json` wrote

Everything in a row is measured in one run. Peers are columns where they are installed.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parent.parent
OURS = {
    "test_tokenizer_pass": "tokenizer pass",
    "test_cold_fit": "cold fit",
    "test_warm_fit": "the same again",
    "test_next_turn": "next turn",
}
"""Benchmark → the heading of its column."""
PEER = "test_peer"
PASS = "tokenizer pass"
COLD = "cold fit"


class Benchmark(TypedDict):
    """What a benchmark was of, and how long it took."""

    name: str
    params: dict[str, object]
    stats: dict[str, float]


Medians = dict[int, dict[str, float]]
"""Messages → heading → seconds."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Print the table of docs/performance.md.")
    parser.add_argument("results", nargs="?", type=Path, help="results that were written before")
    results: Path | None = parser.parse_args().results
    print(table(medians(run() if results is None else read(results))))
    print(f"\n{machine()}")


def run() -> list[Benchmark]:
    """Run the benchmarks of this environment; what pytest prints goes to stderr."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = ["-m", "pytest", "tests/benchmarks", "--benchmark-enable", f"--benchmark-json={results}", "-q"]
        done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=sys.stderr, check=False)
        if done.returncode:
            sys.exit(f"the benchmarks failed with exit code {done.returncode}; what is wrong stands above")
        return read(results)


def read(results: Path) -> list[Benchmark]:
    """Read the benchmarks from a file of pytest-benchmark."""
    benchmarks: list[Benchmark] = json.loads(results.read_text(encoding="utf-8"))["benchmarks"]
    return benchmarks


def medians(benchmarks: Sequence[Benchmark]) -> Medians:
    """Sort the medians by number of messages and heading; benchmarks that are no column are left out."""
    sorted_out: Medians = {}
    for one in benchmarks:
        params = one["params"] or {}
        messages, heading = params.get("messages"), _heading(one["name"].partition("[")[0], params)
        if isinstance(messages, int) and heading is not None:
            sorted_out.setdefault(messages, {})[heading] = one["stats"]["median"]
    return sorted_out


def _heading(name: str, params: Mapping[str, object]) -> str | None:
    if name == PEER:
        return str(params["peer"]).replace("_", "-")
    return OURS.get(name)


def table(rows: Medians) -> str:
    """Give the table, and a last column: the cold fit beside the tokenizer pass."""
    found = {heading for row in rows.values() for heading in row}
    headings = [*(name for name in OURS.values() if name in found), *sorted(found - set(OURS.values()))]
    lines = [["messages", *headings, "cold fit / pass"], ["---:"] * (len(headings) + 2)]
    for messages, row in sorted(rows.items()):
        cells = [milliseconds(row[heading]) if heading in row else "" for heading in headings]
        ratio = f"{row[COLD] / row[PASS]:.2f}" if COLD in row and PASS in row else ""
        lines.append([f"{messages:,}", *cells, ratio])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def milliseconds(seconds: float) -> str:
    """Write a time with three digits that say something."""
    figure = seconds * 1000
    return f"{figure:,.0f} ms" if figure >= 100 else f"{figure:.3g} ms"


def machine() -> str:
    """Say where it was measured, in general terms."""
    return (
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()} {platform.machine()}"
    )


if __name__ == "__main__":
    main()
