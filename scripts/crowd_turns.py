"""Run many chats at once in one process, then let processes fight over the same chats; print what came of it.

    python scripts/crowd_turns.py                 200 chats of 3 turns; 2 and 3 processes over 20 chats
    python scripts/crowd_turns.py --only fight

Ends with 1 when anything was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_FAULTS = 30
"""How many are printed."""


def main() -> None:
    """Run everything on both back ends, and print a line for each."""
    parser = argparse.ArgumentParser(description="Run many chats at once.")
    parser.add_argument("--chats", type=int, default=200)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--actions", type=int, default=60, help="what each of 6 fighters of a process does")
    parser.add_argument("--only", choices=["crowd", "fight"])
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from store.postgres import run_cluster

    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder, run_cluster() as cluster:
        if options.only != "fight":
            faults += crowds("SQLite", f"{folder}/crowd.db", chats=options.chats, turns=options.turns)
            with cluster.database() as url:
                faults += crowds("PostgreSQL", url, chats=options.chats, turns=options.turns)
        if options.only != "crowd":
            for deaths in (0, 3):
                place = f"{folder}/fight{deaths}.db"
                faults += fights("SQLite", place, processes=2, actions=options.actions, deaths=deaths)
            for processes, deaths in ((2, 0), (3, 0), (3, 3)):
                with cluster.database() as url:
                    faults += fights(
                        "PostgreSQL", url, processes=processes, actions=options.actions, deaths=deaths
                    )
    print("\n".join(faults[:MOST_FAULTS]) or "nothing was wrong")
    sys.exit(1 if faults else 0)


def crowds(back_end: str, place: str, *, chats: int, turns: int) -> list[str]:
    """Run the crowd, print its figures, and give what was wrong."""
    from storms.crowding import crowd

    made = asyncio.run(crowd(place, chats=chats, turns=turns))
    print(
        f"{back_end}: {chats} chats at once, {made.turns} turns in {made.seconds:.1f} s "
        f"({made.turns / made.seconds:.0f} a second), memory +{made.growth_mb:.1f} MiB, "
        f"faults {len(made.faults)}",
        flush=True,
    )
    return made.faults


def fights(back_end: str, place: str, *, processes: int, actions: int, deaths: int) -> list[str]:
    """Let processes fight, print what they did, and give what was wrong."""
    from storms.fighting import fight

    made = fight(place, processes=processes, chats=20, actions=actions, deaths=deaths)
    did = ", ".join(f"{name} {number}" for name, number in made.done.most_common())
    print(
        f"{back_end}: {processes} processes over 20 chats, {deaths} more killed, in {made.seconds:.1f} s, "
        f"{made.requests} requests, faults {len(made.faults)}; {did}",
        flush=True,
    )
    return made.faults


if __name__ == "__main__":
    main()
