"""How a fact of a case is covered: by a check of its own, a field, an invariant, or a need that is still open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from case_files import PRODUCT, STRATEGIES, Json
from case_run import Run


class Expecting(Protocol):
    """Anything that was run: a fit, or a story of turns."""

    @property
    def label(self) -> str: ...

    @property
    def expect(self) -> Mapping[str, Json]: ...


FactCheck: TypeAlias = Callable[[Sequence[Run]], None]


@dataclass(frozen=True)
class ByField:
    """The case has fields that say the same; the runner checks them."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Always:
    """The fact is one that holds for every run of every case."""

    check: Callable[[Run], None]


@dataclass(frozen=True)
class Waits:
    """The fact speaks of something the product has not yet."""

    need: str


Cover: TypeAlias = FactCheck | ByField | Always | Waits


def by(*names: str) -> ByField:
    """Say that a fact is covered by these fields of `expect`."""
    return ByField(names)


def check_fact(cover: Cover, runs: Sequence[Run]) -> None:
    """Check a fact over all runs of its case."""
    if isinstance(cover, ByField):
        check_named(cover, runs)
    elif isinstance(cover, Always):
        for run in runs:
            cover.check(run)
    elif isinstance(cover, Waits):
        check_waits(cover, runs[0].label)
    else:
        cover(runs)


def check_named(cover: ByField, runs: Sequence[Expecting]) -> None:
    """Check that the fields which cover a fact are there."""
    for name in cover.names:
        assert all(name in run.expect for run in runs), f"{runs[0].label}: there is no field {name}"


def check_waits(cover: Waits, label: str) -> None:
    """Check that what a fact waits for is not there yet."""
    had = PRODUCT | {f"strategy:{name}" for name in STRATEGIES}
    assert cover.need not in had, f"{label}: {cover.need} is there now; check the fact"
