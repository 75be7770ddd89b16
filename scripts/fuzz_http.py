"""Fuzz the HTTP host with schemathesis, by its own description, and print what came of it as a table.

    python scripts/fuzz_http.py --examples 100 --seed 7

A real server with the provider `dry-run` runs on a loopback port; all phases and all checks of schemathesis go
over every operation: examples, boundaries of every field, random bodies, and sequences of calls that follow the
links. Exit code 1 when a check failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from http_fuzzing import command, fuzzed_server, read_report  # noqa: E402


def main() -> int:
    """Fuzz, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100, help="random cases for each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful")
    parser.add_argument("--database", default="", help="a PostgreSQL URL; a SQLite file of its own by default")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with fuzzed_server(options.database or str(Path(folder, "chats.db"))) as server:
            line = command(
                server, Path(folder), phases=options.phases, examples=options.examples, seed=options.seed
            )
            done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
        _print(read_report(Path(folder)), seconds=time.perf_counter() - began)
        if done.returncode:
            print(done.stdout[-20_000:])
    return done.returncode


def _print(cases: list[tuple[str, str, int]], *, seconds: float) -> None:
    phases = sorted({phase for _, phase, _ in cases})
    rows = Counter((operation, phase) for operation, phase, _ in cases)
    statuses: dict[str, Counter[int]] = {}
    for operation, _, status in cases:
        statuses.setdefault(operation, Counter())[status] += 1
    print("| operation |", " | ".join(phases), "| statuses |")
    print("| --- |", " | ".join("---:" for _ in phases), "| --- |")
    for operation in sorted(statuses):
        counts = " | ".join(str(rows[operation, phase]) for phase in phases)
        told = ", ".join(f"{status}: {count}" for status, count in sorted(statuses[operation].items()))
        print(f"| {operation} | {counts} | {told} |")
    print(json.dumps({"cases": len(cases), "seconds": round(seconds, 1)}))


if __name__ == "__main__":
    sys.exit(main())
