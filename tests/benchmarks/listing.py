"""Print what listing plugins costs, with few and many distributions in the environment, cold, in a process each.

    python tests/benchmarks/listing.py

Each figure is the quickest of several runs. `plugins` says how many of the distributions publish one; the others
are only there. A huge RECORD has 100,000 lines.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from loading.sites import Wheel

RUNS = 7
HUGE = 10
MEASURE = """
import json, sys, time
from trimtab.config import Config
from trimtab.loading.discovery import built_in, installed
config = Config()
start = time.perf_counter()
own = built_in("trimtab.strategies")
middle = time.perf_counter()
rows = installed(config=config)
end = time.perf_counter()
strangers = [name for name in sys.modules if name.startswith("module_")]
print(json.dumps([1000 * (middle - start), 1000 * (end - middle), len(rows), len(strangers)]))
"""


def fill(site: Path, distributions: int, *, plugins: int, huge: bool) -> None:
    """Put distributions there, of which the first ones publish a plugin."""
    for at in range(distributions):
        lines = [f"module_{at}/part_{line}.py" for line in range(20)]
        if huge and at < HUGE:
            lines = [f"module_{at}/folder_{line % 100}/part_{line}.py" for line in range(100_000)]
        wheel = Wheel(
            f"some-{at}", module=f"module_{at}", entry=f"plugin-{at}", listed=lines, requires=["trimtab>=0.1"]
        )
        info = wheel.put(site)
        if at >= plugins:
            (info / "entry_points.txt").write_text(f"[console_scripts]\nsome-{at} = module_{at}:main\n")


def measure(site: Path) -> tuple[float, float, int]:
    """Give the quickest in milliseconds: the built-ins first, then everything; and how many rows there are."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, "-c", MEASURE], env=environment, check=True, capture_output=True
            ).stdout
        )
        for _ in range(RUNS)
    ]
    assert all(strangers == 0 for *_, strangers in runs), "a plugin was imported"
    return min(run[0] for run in runs), min(run[1] for run in runs), int(runs[0][2])


def main() -> None:
    """Print the table."""
    print("distributions  plugins  huge RECORDs  built-ins first, ms  then everything, ms  rows")
    for distributions, plugins, huge in (
        (0, 0, False),
        (200, 0, False),
        (200, 200, False),
        (200, 200, True),
        (2000, 1, False),
        (2000, 200, False),
        (2000, 200, True),
        (2000, 2000, False),
    ):
        with tempfile.TemporaryDirectory() as folder:
            fill(Path(folder), distributions, plugins=plugins, huge=huge)
            first, then, rows = measure(Path(folder))
        print(f"{distributions:13}  {plugins:7}  {HUGE if huge else 0:12}  {first:19.1f}  {then:19.1f}  {rows:4}")


if __name__ == "__main__":
    main()
