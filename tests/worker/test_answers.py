"""What a worker sends is read into plain values, or refused: never believed, never unbounded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from trimtab.loading.worker.answers import (
    MOST_DEPTH,
    MOST_VALUES,
    BrokenFrameError,
    read_edit,
    read_frame,
    read_traits,
)
from trimtab.loading.worker.process import MOST_ANSWER_BYTES
from trimtab_sdk import Edit, Insert, Traits

HOSTILE = {
    "garbage": (b"\x00\x01\x02", "no JSON"),
    "nothing": (b"", "no JSON"),
    "no UTF-8": (b'{"kind": "\xff\xfe"}', "no JSON"),
    "a list": (b"[]", "no object"),
    "a text": (b'"answer"', "no object"),
    "NaN": (b'{"a": NaN}', "NaN is no number"),
    "infinity": (b'{"a": -Infinity}', "-Infinity is no number"),
    "a float over every float": (b'{"a": 1e999}', "1e999 is no number"),
    "a whole number without end": (b'{"a": 1' + b"0" * 5000 + b"}", "a number of 5001 digits"),
    "a float without end": (b'{"a": 0.' + b"0" * 5000 + b"}", "is no number"),
    "a key twice": (b'{"a": {"b": 1, "b": 2}}', "names one key twice"),
    "nested a little too deep": (b'{"a":' * (MOST_DEPTH + 1) + b"1" + b"}" * (MOST_DEPTH + 1), "nested over"),
    "nested 200,000 deep": (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "no JSON"),
    "millions of lists": (b'{"a":[' + b"[]," * 2_000_000 + b"[]]}", "more than 500000 values"),
    "millions of numbers": (b'{"a":[' + b"1," * 3_000_000 + b"1]}", "more than 500000 values"),
    "millions of keys": (
        b"{" + b",".join(b'"%d":1' % at for at in range(400_000)) + b"}",
        "more than 500000 values",
    ),
    "two values": (b"{}{}", "no JSON"),
}


@pytest.mark.parametrize(("body", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_frame_is_refused_and_said_why(body: bytes, words: str) -> None:
    with pytest.raises(BrokenFrameError, match=words):
        read_frame(body)


def test_an_honest_frame_is_read_as_it_is() -> None:
    value = {"kind": "answer", "edit": {"drop": {"ä": "🙂", "b": ""}, "n": [1, -2.5, True, None, []]}}

    assert read_frame(json.dumps(value, ensure_ascii=False).encode()) == value


def test_half_characters_come_through_so_that_the_guard_can_name_them() -> None:
    assert read_frame('{"a":"\ud800"}'.encode("utf-8", "surrogatepass")) == {"a": "\ud800"}
    assert read_frame(rb'{"a":"\udfff"}') == {"a": "\udfff"}


def test_the_largest_frame_costs_a_few_times_what_its_json_costs() -> None:
    row = b'"%06d":[],'
    body = b'{"a":{' + b"".join(row % at for at in range(MOST_VALUES // 3 - 10)) + b'"x":"'
    body += b"y" * (MOST_ANSWER_BYTES - len(body) - 3) + b'"}}'

    assert set(read_frame(body)) == {"a"}

    assert quickest(lambda: read_frame(body)) < 12 * quickest(lambda: json.loads(body))


def quickest(act: Callable[[], object]) -> float:
    """Processor time of the quickest of three, in seconds."""

    def spent() -> float:
        began = time.process_time()
        act()
        return time.process_time() - began

    return min(spent() for _ in range(3))


EDIT = {
    "drop": {"a": "context-shift"},
    "shorten": [{"id": "b", "path": [0, 1], "keep": [[0, 2], [3, 4]]}],
    "insert": [{"text": "hello", "anchor": "at_gap", "covers": ["a"]}],
    "relevant": ["c"],
    "notes": ["n"],
}


def test_an_edit_is_read_into_the_sdks_values() -> None:
    edit = read_edit(EDIT)

    assert edit == Edit(
        drop={"a": "context-shift"},
        shorten={("b", (0, 1)): [[0, 2], [3, 4]]},  # type: ignore[list-item]
        insert=[Insert("hello", "at_gap", ["a"])],
        relevant=["c"],
        notes=["n"],
    )


def test_no_edit_and_an_edit_of_nothing_are_read() -> None:
    assert read_edit(None) is None
    assert read_edit({}) == Edit(insert=[], relevant=[], notes=[])


def test_a_long_honest_edit_is_read() -> None:
    many = {f"message-{at}": "context-shift" for at in range(100_000)}
    body = json.dumps({"edit": {"drop": many}}).encode()

    edit = read_edit(read_frame(body)["edit"])

    assert edit is not None
    assert len(edit.drop) == 100_000


WRONG = {
    "a list": [],
    "a text": "drop everything",
    "a key that nobody knows": {"messages": []},
    "a drop that is a list": {"drop": ["a"]},
    "a shorten that is an object": {"shorten": {}},
    "a shorten without an id": {"shorten": [{"path": [0], "keep": []}]},
    "an id that is a number": {"shorten": [{"id": 1, "path": [0], "keep": []}]},
    "a path that is a text": {"shorten": [{"id": "a", "path": "0", "keep": []}]},
    "a step that is a bool": {"shorten": [{"id": "a", "path": [True], "keep": []}]},
    "a step that is a float": {"shorten": [{"id": "a", "path": [0.0], "keep": []}]},
    "spans that are no list": {"shorten": [{"id": "a", "path": [0], "keep": "all"}]},
    "one text shortened twice": {"shorten": [{"id": "a", "path": [0], "keep": []}] * 2},
    "a shorten with more": {"shorten": [{"id": "a", "path": [0], "keep": [], "text": "other"}]},
    "an insert that is a text": {"insert": ["hello"]},
    "an insert with a role": {"insert": [{"text": "hello", "anchor": "at_gap", "role": "user"}]},
    "covers that are a text": {"insert": [{"text": "hello", "anchor": "at_gap", "covers": "a"}]},
    "notes that are a text": {"notes": "hello"},
    "relevant that is an object": {"relevant": {}},
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_an_edit_of_another_shape_is_refused(value: object) -> None:
    with pytest.raises(BrokenFrameError):
        read_edit(value)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string"},
        "properties": {"type": "array", "items": {"enum": ["a", "b"]}},
        "$ref": {"anyOf": [{"type": "integer", "minimum": 1}, {"const": None}]},
    },
    "required": ["pattern"],
    "additionalProperties": False,
}


def traits(schema: object = None, *, per_turn: object = False, needs: object = ()) -> Traits:
    listed = list(needs) if isinstance(needs, tuple) else needs
    return read_traits({"settings_schema": schema, "per_turn": per_turn, "needs": listed})


def test_traits_are_read_and_a_setting_may_bear_the_name_of_a_keyword() -> None:
    assert traits(SCHEMA, per_turn=True, needs=("count",)) == Traits(SCHEMA, True, ("count",))
    assert traits() == Traits()


HOSTILE_SCHEMAS: dict[str, object] = {
    "a reference to an address": {"$ref": "http://127.0.0.1:9/schema"},
    "a reference to itself": {"$ref": "#"},
    "a reference inside": {"properties": {"a": {"items": [{"$dynamicRef": "#x"}]}}},
    "a pattern that never ends": {"properties": {"a": {"pattern": "(a+)+$"}}},
    "a pattern under a property called properties": {"properties": {"properties": {"pattern": "(a+)+$"}}},
    "a pattern two names deep": {"properties": {"a": {"properties": {"b": {"pattern": "(a+)+$"}}}}},
    "a pattern where a name stands in other drafts": {"dependencies": {"properties": {"pattern": "(a+)+$"}}},
    "a pattern in a list": {"allOf": [{"not": {"pattern": "(a+)+$"}}]},
    "patterns as keys": {"patternProperties": {"(a+)+$": {}}},
    "evaluation without end": {"allOf": [{"unevaluatedProperties": False}]},
    "definitions": {"$defs": {"a": {}}},
    "a giant": {"description": "x" * 17_000},
    "a giant of many": {"enum": list(range(5_000))},
    "half a character": {"title": "\ud800"},
    "a list": [],
    "true": True,
}


@pytest.mark.parametrize("schema", HOSTILE_SCHEMAS.values(), ids=HOSTILE_SCHEMAS)
def test_a_schema_that_could_hurt_the_host_is_refused(schema: object) -> None:
    with pytest.raises(BrokenFrameError, match="settings_schema"):
        traits(schema)


@pytest.mark.parametrize(
    "fields",
    [
        {"per_turn": 1},
        {"per_turn": None},
        {"needs": ("files",)},
        {"needs": ([],)},
        {"needs": "count"},
    ],
)
def test_traits_of_wrong_types_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(BrokenFrameError):
        traits(**fields)


@pytest.mark.parametrize(
    "value", [None, [], {"settings_schema": None}, {"per_turn": False, "needs": [], "more": 1}]
)
def test_traits_of_another_shape_are_refused(value: object) -> None:
    with pytest.raises(BrokenFrameError):
        read_traits(value)
