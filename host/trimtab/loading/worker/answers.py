"""What a worker sends is outside data: bounded in size and depth, and read into plain values of exact types."""

from __future__ import annotations

import json
import math
from typing import Never, cast

from trimtab.loading.worker.schemas import check_schema
from trimtab_sdk.edit import Edit, Insert, Span
from trimtab_sdk.messages import Path
from trimtab_sdk.request import Traits

MOST_DEPTH = 32
MOST_VALUES = 500_000
NEEDS = ("count", "embed", "complete")
_MOST_DIGITS = 300


class BrokenFrameError(Exception):
    """A worker sent what no honest worker sends; the text says what."""


def read_frame(body: bytes) -> dict[str, object]:
    """Give the object in a frame's body. Raises BrokenFrameError."""
    # What stands inside of texts counts too: the bound is on what the parser could make of the body.
    if sum(body.count(mark) for mark in (b"[", b"{", b",", b":")) > MOST_VALUES:
        raise BrokenFrameError(f"sent a frame with more than {MOST_VALUES} values")
    try:
        value = _parse(body)
    except (ValueError, RecursionError) as error:
        raise BrokenFrameError(f"sent a frame that is no JSON ({str(error)[:100]})") from error
    if type(value) is not dict:
        raise BrokenFrameError("sent a frame that is no object")
    _check_depth(value)
    return value


def _parse(body: bytes) -> object:
    return json.loads(
        body.decode("utf-8", "surrogatepass"),
        parse_constant=_refuse_constant,
        parse_int=_read_int,
        parse_float=_read_float,
        object_pairs_hook=_read_object,
    )


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is no number")


def _read_int(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _read_float(digits: str) -> float:
    number = float(digits) if len(digits) <= _MOST_DIGITS else math.inf
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is no number")
    return number


def _read_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object names one key twice")
    return value


def _check_depth(value: object) -> None:
    level: list[object] = [value]
    for _ in range(MOST_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise BrokenFrameError(f"sent a frame that is nested over {MOST_DEPTH} deep")


def _inside(value: object) -> list[object]:
    if type(value) is dict:
        return [one for one in value.values() if type(one) is dict or type(one) is list]
    return [one for one in value if type(one) is dict or type(one) is list] if type(value) is list else []


def read_edit(value: object) -> Edit | None:
    """Give the edit a frame tells, of exact types on the outside; the guard checks what stands in it.

    Raises BrokenFrameError.
    """
    if value is None:
        return None
    fields = _object(value, "edit", {"drop", "shorten", "insert", "relevant", "notes"})
    drop = fields.get("drop", {})
    if type(drop) is not dict:
        raise BrokenFrameError("sent a drop that is no object")
    return Edit(
        drop=drop,
        shorten=_read_shorten(_list(fields.get("shorten", []), "shorten")),
        insert=[_read_insert(one) for one in _list(fields.get("insert", []), "insert")],
        relevant=cast("list[str]", _list(fields.get("relevant", []), "relevant")),
        notes=cast("list[str]", _list(fields.get("notes", []), "notes")),
    )


def _read_shorten(rows: list[object]) -> dict[tuple[str, Path], list[Span]]:
    shorten: dict[tuple[str, Path], list[Span]] = {}
    for row in rows:
        fields = _object(row, "shorten", {"id", "path", "keep"})
        name, path = fields.get("id"), _list(fields.get("path"), "path")
        if type(name) is not str or any(type(step) is not int for step in path):
            raise BrokenFrameError("sent a shorten whose id is no text or whose path holds no whole numbers")
        key = (name, cast("Path", tuple(path)))
        if key in shorten:
            raise BrokenFrameError("sent a shorten that names one text twice")
        shorten[key] = cast("list[Span]", _list(fields.get("keep"), "keep"))
    return shorten


def _read_insert(row: object) -> Insert:
    fields = _object(row, "insert", {"text", "anchor", "covers"})
    return Insert(
        cast("str", fields.get("text")),
        cast("str", fields.get("anchor")),
        cast("list[str]", _list(fields.get("covers", []), "covers")),
    )


def read_traits(value: object) -> Traits:
    """Give the traits a frame tells. Raises BrokenFrameError, also for a schema that could hurt the host."""
    fields = _object(value, "traits", {"settings_schema", "per_turn", "needs"})
    per_turn, needs = fields.get("per_turn"), _list(fields.get("needs"), "needs")
    if type(per_turn) is not bool or any(need not in NEEDS for need in needs):
        raise BrokenFrameError(f"has traits that cannot be; per_turn is a bool, needs are of {', '.join(NEEDS)}")
    return Traits(_read_schema(fields.get("settings_schema")), per_turn, tuple(cast("list[str]", needs)))


def _read_schema(value: object) -> dict[str, object] | None:
    if value is None:
        return None
    if type(value) is not dict:
        raise BrokenFrameError("has a settings_schema that is no object")
    fault = check_schema(value)
    if fault:
        raise BrokenFrameError(f"has a settings_schema {fault}")
    return value


def _object(value: object, what: str, keys: set[str]) -> dict[str, object]:
    if type(value) is not dict or not value.keys() <= keys:
        raise BrokenFrameError(f"sent something else where the {what} stands")
    return value


def _list(value: object, what: str) -> list[object]:
    if type(value) is not list:
        raise BrokenFrameError(f"sent no list where the {what} stands")
    return value
