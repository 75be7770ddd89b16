"""schemathesis over a real server: what is run, and what its report says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from http_helpers import ANN, TOKENS, Running, make_app, running
from trimtab.config import Gateway, Server

SETTINGS = """\
# 422: the request is well formed and cannot be done, which no schema can say beforehand.
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

# Clients of OpenAI know one status for both.
[[operations]]
include-path-regex = "^/v1/"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "429"]
"""
_REPORT = "report.ndjson"


@contextmanager
def fuzzed_server(place: str) -> Iterator[Running]:
    """A server with tokens whose gateway and chats are answered by `dry-run`."""
    server = Server(tokens=TOKENS, gateway=Gateway(provider="dry-run"), max_body_bytes=1 << 20)
    with running(make_app(place, server=server)) as ready:
        yield ready


def command(
    server: Running, folder: Path, *, phases: str, examples: int, seed: int, seconds: int | None = None
) -> list[str]:
    """The command line of schemathesis; its settings and its report are in `folder`."""
    settings = folder / "schemathesis.toml"
    settings.write_text(SETTINGS)
    line = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(settings), "--no-color"),
        *("run", f"{server.url}/openapi.json"),
        *("--header", f"Authorization: {ANN['Authorization']}"),
        *("--checks", "all", "--phases", phases, "--max-examples", str(examples), "--seed", str(seed)),
        *("--no-shrink", "--continue-on-failure", "--request-timeout", "20"),
        *("--report", "ndjson", "--report-ndjson-path", str(folder / _REPORT)),
    ]
    return line if seconds is None else [*line, "--max-time", str(seconds)]


def read_report(folder: Path) -> list[tuple[str, str, int]]:
    """Every case that was run: operation, phase, status of the answer."""
    found = []
    for line in (folder / _REPORT).read_text().splitlines():
        scenario = json.loads(line).get("ScenarioFinished")
        if scenario is None:
            continue
        recorder = scenario["recorder"]
        for name, said in recorder.get("interactions", {}).items():
            case = recorder["cases"][name]["value"]
            status = (said.get("response") or {}).get("status_code", 0)
            found.append((f"{case['method']} {case['path']}", scenario["phase"], status))
    return found
