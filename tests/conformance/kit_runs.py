"""Running contracts as their authors do: by pytest in a process of its own, judged by its report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from xml.etree import ElementTree

HERE = Path(__file__).parent
_SETTINGS = "[pytest]\nfilterwarnings = error\njunit_family = xunit1\naddopts = --import-mode=importlib\n"


@dataclass(frozen=True)
class Outcome:
    """How one test ended, in what words, and what it put into the report."""

    kind: Literal["passed", "failed", "skipped"]
    words: str = ""
    measures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A run of pytest: class → test → outcome, and everything it printed."""

    code: int
    outcomes: Mapping[str, Mapping[str, Outcome]]
    printed: str

    def failed(self, contract: str) -> dict[str, str]:
        """The tests of a class that failed, with their words."""
        return {name: one.words for name, one in self.outcomes[contract].items() if one.kind == "failed"}


@cache
def both_runs() -> tuple[Run, Run]:
    """Run the sound and the broken contracts, side by side."""
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        started = [
            _start(Path(folder), HERE / name)
            for folder, name in ((one, "sound_contracts.py"), (other, "broken_contracts.py"))
        ]
        sound, broken = (
            _finished(process, Path(folder)) for process, folder in zip(started, (one, other), strict=True)
        )
    return sound, broken


def run_source(folder: Path, source: str, *arguments: str) -> Run:
    """Run a test module of this source in a folder where nothing else is."""
    module = folder / "test_mine.py"
    module.write_text(source)
    return _finished(_start(folder, module, *arguments), folder)


def _start(folder: Path, module: Path, *arguments: str) -> subprocess.Popen[bytes]:
    (folder / "pytest.ini").write_text(_SETTINGS)
    options = ["-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir", ".", "--junit-xml", "report.xml", "-rs"]
    with (folder / "printed").open("wb") as printed:
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", str(module), *options, *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(HERE.parent)},
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )


def _finished(process: subprocess.Popen[bytes], folder: Path) -> Run:
    code = process.wait(timeout=300)
    printed = (folder / "printed").read_text("utf-8", "replace")
    assert (folder / "report.xml").exists(), printed
    outcomes: dict[str, dict[str, Outcome]] = {}
    for case in ElementTree.parse(folder / "report.xml").iter("testcase"):
        contract = case.get("classname", "").rpartition(".")[2]
        outcomes.setdefault(contract, {})[case.get("name", "")] = _outcome(case)
    return Run(code, outcomes, printed)


def _outcome(case: ElementTree.Element) -> Outcome:
    measures = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
    for wrong in (*case.iter("failure"), *case.iter("error")):
        return Outcome("failed", f"{wrong.get('message')}\n{wrong.text}", measures)
    for skipped in case.iter("skipped"):
        return Outcome("skipped", skipped.get("message", ""), measures)
    return Outcome("passed", "", measures)
