"""Load a server over HTTP and print what came of it: many streams at once, slow readers, thousands of turns.

    python scripts/load_http.py                          500 clients, 50 slow readers, 20,000 turns
    python scripts/load_http.py --only crowd --clients 200
    python scripts/load_http.py --postgresql

Ends with 1 when a client lost an event, got one twice, or anything else was wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_FAULTS = 30
"""How many are printed."""


def main() -> None:
    """Run everything that is asked for."""
    parser = argparse.ArgumentParser(description="Load a server over HTTP.")
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--slow", type=int, default=50, help="slow readers")
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--only", choices=["crowd", "slow", "soak"])
    parser.add_argument("--postgresql", action="store_true", help="on a PostgreSQL of its own, not on SQLite")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    faults: list[str] = []
    for name, run in (("crowd", run_crowd), ("slow", run_slow), ("soak", run_soak)):
        if options.only in (None, name):
            with place(postgresql=options.postgresql) as where:
                faults += run(where, options)
    print("\n".join(faults[:MOST_FAULTS]) or "nothing was wrong")
    sys.exit(1 if faults else 0)


@contextmanager
def place(*, postgresql: bool) -> Iterator[str]:
    """Give a store with nothing in it."""
    if not postgresql:
        with tempfile.TemporaryDirectory() as folder:
            yield f"{folder}/chats.db"
        return
    from store.postgres import run_cluster

    with run_cluster() as cluster, cluster.database() as url:
        yield url


def run_crowd(where: str, options: argparse.Namespace) -> list[str]:
    """Each client begins a turn of 60 words, 10 a second, and reads it; then ten read each of a tenth of them."""
    from storms.http_load import CROWD_HEAD, crowd, loaded_server

    print(CROWD_HEAD)
    with loaded_server(where, count=60, pause=0.1) as server:
        all_begin = asyncio.run(crowd(server, clients=options.clients, count=60))
        print(all_begin.row(), flush=True)
        read_along = asyncio.run(crowd(server, clients=max(1, options.clients // 10), count=60, readers=10))
        print(read_along.row(), flush=True)
    return all_begin.faults + read_along.faults


def run_slow(where: str, options: argparse.Namespace) -> list[str]:
    """Readers that take nothing while 2,000 pieces of 4,000 characters come."""
    from storms.http_load import SLOW_HEAD, loaded_server, slow_readers

    print(SLOW_HEAD)
    with loaded_server(where, count=2000, size=4000) as server:
        one = asyncio.run(slow_readers(server, readers=1, count=2000, size=4000))
        print(one.row(), flush=True)
        many = asyncio.run(slow_readers(server, readers=options.slow, count=2000, size=4000))
        print(many.row(), flush=True)
    return one.faults + many.faults


def run_soak(where: str, options: argparse.Namespace) -> list[str]:
    """Turns of 20 words at 8 clients, a new chat after every 20; the memory after every thousand."""
    from storms.http_load import loaded_server, soak

    step = max(1, min(1000, options.turns // 10))
    with loaded_server(where, count=20) as server:
        made = asyncio.run(soak(server, turns=options.turns, step=step, clients=8, count=20))
    print(made.table())
    print(f"{made.turns} turns in {made.seconds:.0f} s, {made.turns / made.seconds:.0f} a second")
    return made.faults


if __name__ == "__main__":
    main()
