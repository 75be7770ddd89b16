"""Long lists of like things in few characters: runs of equal values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

_Value = TypeVar("_Value")


def to_runs(values: Iterable[_Value]) -> list[list[_Value | int]]:
    """Write values as `[value, how many]`, as `a a b` is `[[a, 2], [b, 1]]`."""
    return [[value, sum(1 for _ in group)] for value, group in groupby(values)]


def from_runs(runs: object, size: int) -> list[object]:
    """Read runs of `size` values in all. Raises ValueError when they are no such runs."""
    if not isinstance(runs, list):
        raise ValueError("the runs are no list")
    values: list[object] = []
    for run in runs:
        if not isinstance(run, list) or len(run) != 2 or type(run[1]) is not int:
            raise ValueError("a run is not a value and how often it stands there")
        if not 0 < run[1] <= size - len(values):
            raise ValueError("the runs do not have the length they should")
        values += [run[0]] * run[1]
    if len(values) != size:
        raise ValueError("the runs do not have the length they should")
    return values


def to_places(names: Sequence[str], places: dict[str, int]) -> list[list[int] | str]:
    """Write ids as `[first place, how many]` where they follow each other in `places`; others as they are."""
    rows: list[list[int] | str] = []
    for name in names:
        at = places.get(name)
        last = rows[-1] if rows else None
        if at is None:
            rows.append(name)
        elif isinstance(last, list) and last[0] + last[1] == at:
            last[1] += 1
        else:
            rows.append([at, 1])
    return rows


def from_places(rows: object, names: Sequence[str]) -> list[str]:
    """Read ids written with `to_places`; `names` are those with a place. Raises ValueError for anything else."""
    if not isinstance(rows, list):
        raise ValueError("the places are no list")
    found: list[str] = []
    for row in rows:
        if isinstance(row, str):
            found.append(row)
            continue
        if not isinstance(row, list) or [type(one) for one in row] != [int, int]:
            raise ValueError("a place is not a first one and how many")
        first, many = row
        if first < 0 or many < 1 or first + many > len(names):
            raise ValueError("a place that is not there")
        found += names[first : first + many]
        if len(found) > len(names) + len(rows):
            raise ValueError("places that stand there twice")
    return found
