"""Every operation, by its own description, with random and hostile input: no check of schemathesis fails.

`scripts/fuzz_http.py` does the same with more cases.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from http_fuzzing import command, fuzzed_server, read_report

PHASES = "examples,fuzzing,stateful"
SECONDS = 12


def test_no_check_fails(place: str, tmp_path: Path) -> None:
    with fuzzed_server(place) as server:
        line = command(server, tmp_path, phases=PHASES, examples=8, seed=20, seconds=SECONDS)
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False)
        described = {
            f"{method.upper()} {path}" for path, item in server.app.openapi()["paths"].items() for method in item
        }

    assert done.returncode == 0, done.stdout[-20_000:]
    cases = read_report(tmp_path)
    assert {operation for operation, _, _ in cases} >= described
    assert [case for case in cases if case[2] >= 500] == []
