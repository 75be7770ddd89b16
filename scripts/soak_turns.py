"""Run thousands of turns in one process, and print how its memory and its tables grow.

    python scripts/soak_turns.py --turns 2000

Ends with 1 when anything was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Run the turns and print a line for each tenth."""
    parser = argparse.ArgumentParser(description="Run thousands of turns in one process.")
    parser.add_argument("--turns", type=int, default=2000)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from storms.soaking import soak

    with tempfile.TemporaryDirectory() as folder:
        made = asyncio.run(soak(f"{folder}/chats.db", turns=options.turns))
    print("| turns | memory, MiB | events stored |\n| --- | --- | --- |")
    for at, (memory, events) in enumerate(zip(made.memory_mb, made.events, strict=True), 1):
        print(f"| {made.turns * at // 10} | {memory:.1f} | {events} |")
    print(
        f"\n{made.turns} turns in {made.seconds:.0f} s, memory +{made.memory_mb[-1] - made.memory_mb[0]:.1f} MiB "
        f"after the first tenth; left open: {made.tasks} tasks, {made.connections} connections"
    )
    print("\n".join(made.faults) or "nothing was wrong")
    sys.exit(1 if made.faults or made.tasks or made.connections else 0)


if __name__ == "__main__":
    main()
