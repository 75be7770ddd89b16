"""The benchmark of turns runs, with a tenth of its load; its figures are looked at where nothing else runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.prefix import run as fitted_share
from benchmarks.turns import Load, counted_texts, measure_overhead, overhead_table, prefix_share
from fakes.chat_process import chat_server_process

SMALL = Load(turns=3, sizes=(20, 200), counted=300, prefix_turns=40)


def test_the_table_of_turns_has_a_row_for_each_size_and_one_for_chats_read_anew(tmp_path: Path) -> None:
    with chat_server_process("--echo") as url:
        rows = asyncio.run(measure_overhead(SMALL, url, tmp_path))
    assert [row.what for row in rows] == [
        "20 stored messages, held",
        "200 stored messages, held",
        "200 stored messages, read anew",
    ]
    assert all(row.turn > 0 < row.bare for row in rows)
    assert len(overhead_table(rows).splitlines()) == 4


def test_a_turn_in_a_new_process_tokenizes_what_is_new_and_nothing_else(tmp_path: Path) -> None:
    with chat_server_process("--echo") as url:
        first, later = asyncio.run(counted_texts(SMALL, url, tmp_path))
    assert first >= SMALL.counted
    assert later <= 5


@pytest.mark.parametrize("strategy", ["truncate", "summarize"])
def test_most_of_each_request_stands_in_the_one_before(strategy: str) -> None:
    turns = prefix_share(strategy, length=SMALL.prefix_turns)
    sliding = fitted_share(strategy, carried=False, length=SMALL.prefix_turns)
    assert turns > 2 * sliding
