"""Many chats at once, and several processes in the same chats; `scripts/crowd_turns.py` makes more of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from storms.crowding import crowd
from storms.fighting import fight
from storms.soaking import soak


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of its own on each back end."""
    if request.param == "sqlite":
        return str(tmp_path / "chats.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


def test_many_chats_at_once_each_get_their_own_history(place: str) -> None:
    made = asyncio.run(crowd(place, chats=20, turns=3))
    assert made.faults == []
    assert made.turns == 60


def test_two_processes_in_the_same_chats_make_one_turn_at_a_time_and_no_fork_while_a_third_is_killed(
    place: str,
) -> None:
    made = fight(place, processes=2, chats=4, actions=16, fighters=4, deaths=1)
    assert made.faults == []
    assert made.done["turn_completed"] > 0
    assert made.done["TURN_IN_PROGRESS"] > 0


def test_many_turns_leave_no_task_no_connection_and_no_old_events(tmp_path: Path) -> None:
    made = asyncio.run(soak(str(tmp_path / "chats.db"), turns=200))
    assert made.faults == []
    assert (made.tasks, made.connections) == (0, 0)
    assert max(made.events) < 300
    assert made.memory_mb[-1] - made.memory_mb[0] < 16
