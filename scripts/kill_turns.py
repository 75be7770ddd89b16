"""Kill a process in the middle of its turns, again and again, and print what became of them.

    python scripts/kill_turns.py                 50 kills of turns and 12 of changes, on SQLite and PostgreSQL
    python scripts/kill_turns.py --seed 7        at other points

Ends with 1 when a message was lost or doubled, or anything else was wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parent.parent

if TYPE_CHECKING:
    from storms.killing import Kill


def main() -> None:
    """Kill on both back ends, and print a table for each."""
    parser = argparse.ArgumentParser(description="Kill a process in the middle of its turns.")
    parser.add_argument("--kills", type=int, default=50, help="how many kills of turns on each back end")
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from store.postgres import run_cluster

    with tempfile.TemporaryDirectory() as folder:
        sound = show("SQLite", kills(f"{folder}/chats.db", options.kills, seed=options.seed))
    with run_cluster() as cluster, cluster.database() as url:
        sound &= show("PostgreSQL", kills(url, options.kills, seed=options.seed))
    sys.exit(0 if sound else 1)


def kills(place: str, number: int, *, seed: int) -> Iterator[Kill]:
    """Make the kills: of turns, and a quarter as many of changes."""
    from fakes.chat_server import ChatServer
    from storms.killing import CHANGES, Killing, spread
    from storms.storm_stage import Stage

    stage = Stage()
    with ChatServer(stage) as server:
        killing = Killing(place, server, stage, seed=seed)
        for phase in spread(number, seed=seed):
            yield killing.kill_turn(phase)
        for at in range(number // 4):
            yield killing.kill_change(CHANGES[at % len(CHANGES)])


def show(back_end: str, made: Iterator[Kill]) -> bool:
    """Print what was wrong at once and the table at the end; tell whether nothing was."""
    every: list[Kill] = []
    for kill in made:
        every.append(kill)
        for fault in kill.faults:
            print(f"{back_end}, kill {len(every)} ({kill.phase}): {fault}", flush=True)
    print(f"\n{back_end}: {len(every)} kills, {sum(bool(kill.faults) for kill in every)} with faults\n")
    print("\n".join(table(every)), flush=True)
    return not any(kill.faults or not kill.went_on.endswith("completed") for kill in every)


def table(every: Sequence[Kill]) -> Iterator[str]:
    """Give a line for each phase: kills, how the store had the turn, how it went on."""
    yield "| killed while | kills | then the turn was | and went on by |"
    yield "| --- | --- | --- | --- |"
    for phase in dict.fromkeys(kill.phase for kill in every):
        found = [kill for kill in every if kill.phase == phase]
        outcomes = Counter(kill.outcome for kill in found)
        went_on = Counter(kill.went_on for kill in found)
        yield f"| {phase} | {len(found)} | {_counts(outcomes)} | {_counts(went_on)} |"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counter.items()))


if __name__ == "__main__":
    main()
