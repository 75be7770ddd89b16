"""What must hold in the tables of a store, whatever has happened to it, judged by plain SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path
from typing import TypeAlias

import psycopg

Row: TypeAlias = tuple[object, ...]

_LAST_KIND = {"completed": "turn_completed", "cancelled": "turn_cancelled", "failed": "turn_failed"}
_HOLES = """
    SELECT turn_id, count(*), min(sequence), max(sequence) FROM turn_events GROUP BY turn_id
    HAVING min(sequence) <> 1 OR max(sequence) <> count(*)
"""


def rows(place: str | Path, query: str) -> list[Row]:
    """Ask a database without the store, on a connection of its own."""
    if str(place).startswith("postgresql"):
        with psycopg.connect(str(place)) as asked:
            return asked.execute(query.encode()).fetchall()
    with closing(sqlite3.connect(place)) as file:
        return file.execute(query).fetchall()


def count_of(place: str | Path, query: str) -> int:
    """Give the number that a query gives."""
    [(number,)] = rows(place, query)
    assert isinstance(number, int)
    return number


def faults_at_rest(place: str | Path) -> list[str]:
    """Name what is wrong in a store in which no turn runs: the file, the turns, audits, events and branches."""
    return [*_file_faults(place), *_turn_faults(place), *_event_faults(place), *branch_faults(place)]


def _file_faults(place: str | Path) -> Iterator[str]:
    if str(place).startswith("postgresql"):
        return
    for (said,) in rows(place, "PRAGMA integrity_check"):
        if said != "ok":
            yield f"the file is damaged: {said}"
    for row in rows(place, "PRAGMA foreign_key_check"):
        yield f"a reference leads nowhere: {row}"


def _turn_faults(place: str | Path) -> Iterator[str]:
    for turn, state in rows(place, "SELECT id, state FROM turns WHERE state IN ('running', 'paused')"):
        yield f"turn {turn} is {state}"
    for chat, status in rows(place, "SELECT chat_id, status FROM audits WHERE status = 'prepared'"):
        yield f"the audit of chat {chat} is {status}"
    times = "SELECT chat_id, number, started_at, ended_at FROM turns ORDER BY chat_id, number"
    for chat, found in groupby(rows(place, times), key=lambda row: row[0]):
        for (*_, ended), (_, number, started, _) in pairwise(found):
            if not (isinstance(ended, float) and isinstance(started, float) and ended <= started):
                yield f"in chat {chat} turn {number} started before the one before it had ended"


def _event_faults(place: str | Path) -> Iterator[str]:
    for row in rows(place, _HOLES):
        yield f"events with holes (turn, count, first, last): {row}"
    last = """
        SELECT turns.id, turns.state, turns.error, turn_events.event
        FROM turns JOIN turn_events ON turn_id = turns.id
        WHERE sequence = (SELECT max(sequence) FROM turn_events AS other WHERE other.turn_id = turns.id)
    """
    for turn, state, error, event in rows(place, last):
        kind = json.loads(str(event))["kind"]
        interrupted = state == "failed" and json.loads(str(error))["code"] == "TURN_INTERRUPTED"
        if kind != _LAST_KIND.get(str(state)) and not (interrupted and kind not in _LAST_KIND.values()):
            yield f"turn {turn} is {state}, and its last event is {kind}"


def branch_faults(place: str | Path) -> Iterator[str]:
    """Name active messages whose parent is not the active one before them."""
    found = rows(place, "SELECT chat_id, id, parent FROM messages WHERE active = 1 ORDER BY chat_id, seq")
    for chat, branch in groupby(found, key=lambda row: row[0]):
        before: object = None
        for _, name, parent in branch:
            if parent != before:
                yield f"in chat {chat} message {name} follows {before}, and its parent is {parent}"
            before = name
