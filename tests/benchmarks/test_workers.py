"""The benchmark of workers runs, with a tenth of its load; its figures are looked at where nothing else runs."""

from __future__ import annotations

from benchmarks.workers import Load, measure, table


def test_the_benchmark_of_workers_runs_and_the_pool_keeps_its_bound() -> None:
    rows = measure(Load(starts=2, calls=5, long_calls=1, long_messages=1000, late=1, scopes=10))

    assert len(table(rows).splitlines()) == len(rows) + 2
    assert all(row.value >= 0 for row in rows)
    (workers,) = [row for row in rows if row.what == "workers of the pool at most"]
    assert workers.value <= 4
