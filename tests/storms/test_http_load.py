"""A tenth of what `scripts/load_http.py` does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from storms.http_load import crowd, loaded_server, slow_readers, soak
from trimtab.store.opening import open_store


@pytest.fixture
def place(tmp_path: Path) -> str:
    path = str(tmp_path / "chats.db")
    asyncio.run(_make(path))
    return path


async def _make(path: str) -> None:
    async with open_store(path):
        pass


def test_fifty_clients_at_once_lose_no_event_and_get_none_twice(place: str) -> None:
    with loaded_server(place, count=20, pause=0.02) as server:
        made = asyncio.run(crowd(server, clients=50, count=20))
        along = asyncio.run(crowd(server, clients=5, count=20, readers=10))
    assert made.faults + along.faults == []
    assert len(made.whole) == len(along.whole) == 50


def test_slow_readers_lose_nothing_and_take_no_memory(place: str) -> None:
    with loaded_server(place, count=2000, size=1000) as server:
        asyncio.run(slow_readers(server, readers=1, count=2000, size=1000))
        made = asyncio.run(slow_readers(server, readers=20, count=2000, size=1000))
    before, held, after = made.memory
    assert made.faults == []
    # Twenty times the text of the turn would be 38 MiB.
    assert max(held, after) - before < 20


def test_memory_stays_flat_over_turns(place: str) -> None:
    with loaded_server(place, count=20) as server:
        made = asyncio.run(soak(server, turns=300, step=60, clients=4, count=20))
    assert made.faults == []
    assert len(made.memory) == 5
    assert made.memory[-1] - made.memory[1] < 20
