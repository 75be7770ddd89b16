"""Build a wheel, install it with its extra into a fresh environment, and run the kit from an empty folder.

    python scripts/try_kit.py [FOLDER]      default: a temporary folder, removed afterwards

Asks the package registry for what Trimtab needs, and for its build tool. Ends with 1 where something is not as it
should be.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from install.published import strategy  # noqa: E402

CONTRACT = '''"""The smallest contract test there is."""

import pytest
import trimtab_shelf
from trimtab.conformance import StrategyContract


class TestShelf(StrategyContract):
    @pytest.fixture
    def subject(self):
        return trimtab_shelf
'''


@dataclass(frozen=True, slots=True)
class Step:
    """What was run, whether it ended as it should, how long it took in seconds, and its last line."""

    name: str
    done: bool
    seconds: float
    words: str


def main() -> None:
    """Try the kit and print the table."""
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1]).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        sys.exit(tell(folder))
    with tempfile.TemporaryDirectory(prefix="trimtab-kit-") as temporary:
        sys.exit(tell(Path(temporary)))


def tell(folder: Path) -> int:
    """Print a line for each step; give the exit code."""
    python = environment(folder)
    empty = folder / "empty"
    empty.mkdir()
    (empty / "test_shelf.py").write_text(CONTRACT, "utf-8")
    trimtab = python.with_name("trimtab")
    steps = [
        step("the contract in an empty folder", [python, "-m", "pytest", "-q"], empty),
        step("trimtab conform trimtab-shelf", [trimtab, "conform", "trimtab-shelf"], empty),
        step("trimtab conform shelf --badge", [trimtab, "conform", "shelf", "--badge"], empty),
        step("trimtab conform trimtab", [trimtab, "conform", "trimtab", "--timeout", "900"], empty),
    ]
    print("| step | as it should be | seconds | it says |\n| --- | --- | --- | --- |")
    for one in steps:
        print(f"| {one.name} | {'yes' if one.done else 'NO'} | {one.seconds:.1f} | {one.words} |")
    return int(not all(one.done for one in steps))


def environment(folder: Path) -> Path:
    """Make an environment with the built wheel, its extra and a plugin; give its interpreter."""
    wheels = folder / "wheels"
    wheels.mkdir()
    done([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, ROOT])
    (wheel,) = wheels.glob("trimtab-*.whl")
    shelf = strategy(wheels, "shelf", requires=("trimtab",))
    done([sys.executable, "-m", "venv", folder / "environment"])
    python = folder / "environment" / "bin" / "python"
    done([python, "-m", "pip", "install", "--quiet", f"{wheel}[conformance,exact]", shelf])
    return python


def done(words: Sequence[str | Path]) -> None:
    """Run what has to work before anything can be tried."""
    subprocess.run([*map(str, words)], check=True)


def step(name: str, words: Sequence[str | Path], folder: Path) -> Step:
    """Run a step in a folder and tell how it went; what a failing one says is printed whole."""
    began = time.monotonic()
    ended = subprocess.run([*map(str, words)], cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        print(ended.stdout, ended.stderr, file=sys.stderr)
    shown = ended.stdout or ended.stderr
    lines = [line for line in shown.splitlines() if line.startswith(("passed", "FAILED", "**"))]
    last = shown.strip().rpartition("\n")[2]
    return Step(name, not ended.returncode, time.monotonic() - began, told(lines, last))


def told(lines: Sequence[str], last: str) -> str:
    """Give the one line that says it, or how many plugins passed."""
    if len(lines) > 1:
        return f"{sum(line.startswith('passed') for line in lines)} of {len(lines)} plugins passed"
    return lines[0] if lines else last


if __name__ == "__main__":
    main()
