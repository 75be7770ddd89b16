"""How many tokens an expression such as `count(m0,m5)+4` stands for, by the product's own count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import trimtab
from case_files import Json, Key, copy_of
from case_formats import HEAD
from case_setup import Setup, fit, key_of_entry

PROTECTED_REASONS = frozenset(
    {"system", "developer", "character", "persona", "required", "pinned", "current-input", "open-step"}
)
ROOMY = 10_000_000
STEP = 10

_COUNT = re.compile(r"count\(([^)]*)\)([+-]\d+)?")
_SWEEP = re.compile(rf"every value from (\S+) to (\S+) in steps of {STEP}")


def recount(setup: Setup, messages: list[Json]) -> int:
    """Give the product's own count of a request with just these messages, and no head."""
    return _alone(replace(setup, head=None), messages).tokens_after


def _alone(setup: Setup, messages: list[Json]) -> trimtab.Fit:
    bare = replace(setup.without_plugins(), pins=(), excluded=())
    return fit(replace(bare, messages=copy_of(messages), limit=ROOMY, reserve=0))


def protected_keys(setup: Setup) -> tuple[Key, ...]:
    """Give the keys of what the product protects, in order."""
    roomy = fit(replace(setup.without_plugins(), limit=ROOMY, reserve=0, excluded=()))
    return tuple(key_of_entry(setup, entry) for entry in roomy.kept if entry.reason in PROTECTED_REASONS)


def budgets(value: Json, setup: Setup) -> list[int]:
    """Give the budgets that `for_each_budget` stands for: a list, a sweep, or figures joined by "and"."""
    if isinstance(value, list):
        return [tokens(item, setup) for item in value]
    sweep = _SWEEP.fullmatch(value)
    if sweep:
        first, last = (tokens(bound, setup) for bound in sweep.groups())
        return [*range(first, last, STEP), last]
    return [tokens(item, setup) for item in value.split(" and ")]


def tokens(value: Json, setup: Setup) -> int:
    """Give the limit that a figure or an expression such as `count(m0,m5)+4` stands for, in tokens."""
    if isinstance(value, int) or value.isdigit():
        return int(value)
    match = _COUNT.fullmatch(value)
    if match is None:
        raise ValueError(f"no budget expression: {value!r}")
    names, shift = match.groups()
    keys = _named(names, setup)
    alone = _alone(setup if HEAD in keys else replace(setup, head=None), setup.select(keys))
    return _with_margin(alone.tokens_after + int(shift or 0), alone.budget)


def _with_margin(wanted: int, budget: trimtab.Budget) -> int:
    """Give the limit that leaves `wanted` tokens; an approximate profile takes its margin from it."""
    return wanted + -(-wanted * budget.margin // budget.available)


def _named(names: str, setup: Setup) -> Sequence[Key]:
    if names == "all":
        return setup.keys
    if names == "protected":
        return protected_keys(setup)
    return [setup.case.key(name) for name in names.split(",")]
