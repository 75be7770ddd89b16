"""A stored audit is outside data: it is read as it was written, or not at all."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talks import count, talk
from trimtab.audit import PartOf, parse_audit, with_call
from trimtab.audits.columns import from_places, from_runs, to_places, to_runs
from trimtab.audits.parts import part_from, part_to_dict
from trimtab_sdk import (
    ApprovalRequest,
    ApprovalResponse,
    Audio,
    Compaction,
    File,
    Image,
    Notice,
    Part,
    Reasoning,
    StoreUnavailableError,
    Text,
    ToolCall,
    ToolResult,
    Unknown,
)
from trimtab_sdk.provider import Usage
from turns.audited import audited

PARTS: list[Part] = [
    Text("Why?"),
    Image(url="https://example.org/a.png", width=3, height=4),
    File(name="a.txt", text="words", file_id="f1"),
    Audio(data="AAAA", format="wav"),
    ToolCall("c1", "look", '{"a": 1}'),
    ToolResult("c1", "found", is_error=True),
    ToolResult("c1", (Text("found"), Image(data="AAAA", media_type="image/png"), Unknown({"x": [1]}))),
    ApprovalRequest("r1", "c1"),
    ApprovalResponse("r1", approved=False),
    Reasoning("hm", "c2ln", 7),
    Compaction("openai", "b3Bh", ("m1", "m2")),
    Notice("note", {"a": {"b": None}}),
    Unknown({"type": "new"}),
]
NO_PARTS: list[object] = [
    None,
    "text",
    {},
    {"kind": "nothing"},
    {"kind": "text"},
    {"kind": "text", "text": 1},
    {"kind": "text", "text": "a", "more": 1},
    {"kind": "image", "width": True},
    {"kind": "toolResult", "callId": "c", "content": [{"kind": "toolCall", "callId": "c", "name": "n"}]},
    {"kind": "toolResult", "callId": "c", "content": [{"kind": "reasoning"}]},
    {"kind": "toolResult", "callId": "c", "content": None},
    {"kind": "compaction", "provider": "p", "opaque": "o", "covers": [1]},
    {"kind": "notice", "kind_": "x"},
    {"kind": "notice", "noticeKind": "x", "data": "text"},
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_a_part_comes_back_from_json_as_it_was(part: Part) -> None:
    read = part_from(json.loads(json.dumps(part_to_dict(part))))
    assert read == part
    assert part_to_dict(read) == part_to_dict(part)


@pytest.mark.parametrize("value", NO_PARTS, ids=repr)
def test_what_is_no_part_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"part|list|type"):
        part_from(value)


@given(st.lists(st.sampled_from(["a", "b", None])))
def test_runs_come_back_as_they_were(values: list[str | None]) -> None:
    runs = json.loads(json.dumps(to_runs(values)))
    assert from_runs(runs, len(values)) == values
    assert all(first[0] != second[0] for first, second in pairwise(runs))


@given(st.lists(st.integers(0, 20).map(str), unique=True))
def test_places_come_back_as_they_were(wanted: list[str]) -> None:
    names = [str(at) for at in range(15)]
    rows = to_places(wanted, {name: at for at, name in enumerate(names)})
    assert from_places(json.loads(json.dumps(rows)), names) == wanted


@pytest.mark.parametrize("runs", [None, [["a"]], [["a", 0]], [["a", True]], [["a", 2]], [["a", 4]], [1]])
def test_runs_of_another_length_are_refused(runs: object) -> None:
    with pytest.raises(ValueError, match="run"):
        from_runs(runs, 3)


@pytest.mark.parametrize("rows", [None, [[0]], [[0, 0]], [[-1, 1]], [[1, 3]], [[True, 1]], [[0, 3]] * 9])
def test_places_that_are_not_there_are_refused(rows: object) -> None:
    with pytest.raises(ValueError, match="place"):
        from_places(rows, ["a", "b", "c"])


def stored_body() -> dict[str, Any]:
    """The body of an audit with a summary, an unstored message and a call, as it comes from the store."""
    chat = talk(20)
    done = audited(chat, count(chat) // 2, strategy="summarize", unstored=["s"], tools=["look"])
    body = with_call(done.body, step=1, estimated=9, usage=Usage(input_tokens=9, cached_tokens=3), finish="stop")
    read: dict[str, Any] = json.loads(json.dumps(body))
    return read


def set_at(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def spoil(body: dict[str, Any]) -> None:
        place: Any = body
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return spoil


SPOILED: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": set_at("schemaVersion", to=2),
    "no version": lambda body: body.pop("schemaVersion"),
    "no blocks": lambda body: body.pop("blocks"),
    "an id that is a number": set_at("blocks", "ids", 1, to=5),
    "an id that stands there twice": lambda body: body["blocks"]["ids"].__setitem__(1, body["blocks"]["ids"][2]),
    "a column that is too short": lambda body: body["blocks"]["tokens"].pop(),
    "a row too many": lambda body: body["left"]["ids"].append("x"),
    "tokens under nothing": set_at("blocks", "tokens", 0, to=-1),
    "tokens that are true": set_at("recount", to=True),
    "a flag on a block that is not there": set_at("blocks", "approximate", to=[999]),
    "a change of a block that is not there": set_at("changes", "nobody", to={"kind": "repaired", "parts": []}),
    "a change of no known kind": set_at("changes", "s", "kind", to="invented"),
    "an unstored message without parts": lambda body: body["changes"]["s"].pop("parts"),
    "an unstored message that is not there": lambda body: body["changes"].pop("s"),
    "an unstored message that refers to itself": set_at("changes", "s", "parts", to=[0]),
    "a name that is no text": set_at("changes", "s", "name", to=1),
    "a time that is no number": set_at("createdAt", to="now"),
    "a time without end": set_at("createdAt", to=float("inf")),
    "images of no known kind": set_at("tokenizer", "images", to="some"),
    "a tool that is no text": set_at("tools", to=[None]),
    "a call without a step": lambda body: body["calls"][0].pop("step"),
    "usage under nothing": set_at("calls", 0, "usage", "inputTokens", to=-3),
    "continuation that is a list": set_at("continuation", to=[]),
    "a plugin call that is a text": set_at("pluginCalls", to=["summarize"]),
}


@pytest.mark.parametrize("fault", SPOILED)
def test_a_body_that_was_spoiled_is_refused_with_what_to_do(fault: str) -> None:
    body = stored_body()
    parse_audit(body)
    SPOILED[fault](body)
    with pytest.raises(StoreUnavailableError, match=r"cannot be read.*the next turn of the chat writes a new one"):
        parse_audit(body)


@pytest.mark.parametrize("value", [None, [], "{}", {}, 7])
def test_what_is_no_body_is_refused(value: object) -> None:
    with pytest.raises(StoreUnavailableError):
        parse_audit(value)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_body_with_anything_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    body = copy.deepcopy(BODY)
    place: Any = body
    while True:
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
        inner = place[key]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 3)) == 0:
            break
        place = inner
    place[key] = data.draw(st.sampled_from([None, -1, True, "x", [], {}, [[1, 2]], 10**30, 0.5]))
    try:
        parse_audit(body).to_dict()
    except StoreUnavailableError as error:
        assert "cannot be read" in error.message


BODY = stored_body()


def test_references_name_each_stored_message_once() -> None:
    audit = parse_audit(BODY)
    stored = [(block.id, block.revision) for block in audit.blocks if block.revision is not None]
    assert list(audit.references) == stored
    body = copy.deepcopy(BODY)
    gone = audit.left_out[0]
    body["changes"]["s"]["parts"] = [[gone.id, 0]]
    moved = parse_audit(body)
    assert moved.blocks[0].change is not None
    assert moved.blocks[0].change.parts == (PartOf(gone.id, 0),)
    assert list(moved.references) == [*stored, (gone.id, gone.revision)]
