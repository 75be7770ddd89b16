"""What tools return, as it is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from trimtab.turns.tool_answers import AnswerError, answer_of, utf8_size
from trimtab_sdk import Audio, File, Image, Text, ToolResult
from trimtab_sdk.messages import Unknown

MOST = 1000


class Colour(StrEnum):
    RED = "red"


class Size(Enum):
    LARGE = 3


@dataclass
class Article:
    name: str
    tags: set[str] = field(default_factory=set)
    parent: Any = None


class Order(BaseModel):
    article: str
    at: date


def content(value: object) -> object:
    return answer_of(value, most_bytes=MOST).content


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("as it is\n\x00 ", "as it is\n\x00 "),
        ("", ""),
        (Colour.RED, "red"),
        (None, "null"),
        (True, "true"),
        (5, "5"),
        (0.5, "0.5"),
        ([], "[]"),
        ((1, "é"), '[1,"é"]'),
        ({"b": 1, "a": [None]}, '{"b":1,"a":[null]}'),
        (Article("hat", {"new", "blue"}), '{"name":"hat","tags":["blue","new"],"parent":null}'),
        ([Order(article="hat", at=date(2024, 5, 1))], '[{"article":"hat","at":"2024-05-01"}]'),
        (MappingProxyType({"size": Size.LARGE}), '{"size":3}'),
        (datetime(2024, 5, 1, tzinfo=UTC), '"2024-05-01T00:00:00+00:00"'),
        (
            [Decimal("1.10"), UUID(int=1), PurePosixPath("a/b")],
            '["1.10","00000000-0000-0000-0000-000000000001","a/b"]',
        ),
    ],
)
def test_texts_stay_and_values_become_compact_json(value: object, sent: str) -> None:
    answer = answer_of(value, most_bytes=MOST)
    assert (answer.content, answer.size) == (sent, len(sent.encode()))


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        (Text("a"), (Text("a"),)),
        (
            [Image(data="AAAA", media_type="image/png", width=2)],
            (Image(data="AAAA", media_type="image/png", width=2),),
        ),
        (("see", File(text="b"), Audio(data="c")), (Text("see"), File(text="b"), Audio(data="c"))),
        (Unknown({"type": "new"}), (Unknown({"type": "new"}),)),
    ],
)
def test_parts_stay_parts(value: object, parts: object) -> None:
    assert content(value) == parts


def looped() -> list[object]:
    loop: list[object] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"x", "it returned a bytes"),
        ({"x": bytearray(b"x")}, "it returned a bytearray"),
        (object(), "it returned a object"),
        (Order, "it returned a class"),
        ({1: {"x": print}}, "it returned a builtin_function_or_method"),
        ({(1, 2): 3}, "cannot be written as JSON"),
        (float("inf"), "cannot be written as JSON"),
        (looped(), "cannot be written as JSON"),
        ({"picture": Image(url="https://example.org/a.png")}, "it returned a Image inside another value"),
        (ToolResult("1", "a"), "it returned a ToolResult inside another value"),
        ([Text("a"), 5], "it returned parts and a int in one list"),
        (Text(5), "it returned a part Text whose text is a int"),  # type: ignore[arg-type]
        (Image(width="2"), "it returned a part Image whose width is a str"),  # type: ignore[arg-type]
        (Unknown(b"x"), "it returned a bytes"),
    ],
)
def test_what_cannot_be_sent_is_told(value: object, said: str) -> None:
    with pytest.raises(AnswerError) as caught:
        content(value)
    assert said in caught.value.text


def test_an_endless_generator_is_not_begun() -> None:
    with pytest.raises(AnswerError, match="it returned a generator"):
        content(one for one in iter(int, 1))


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("a\ud83d\ude00b", "a😀b"),
        ("a\ud83db", "a\ufffdb"),
        ({"a": "\udc00"}, '{"a":"\ufffd"}'),
        (Text("\ud800"), (Text("\ufffd"),)),
        (File(name="\ud800", text="é"), (File(name="\ufffd", text="é"),)),
        (Unknown({"a": "\ud800"}), (Unknown({"a": "\ufffd"}),)),
    ],
)
def test_halves_of_surrogate_pairs_are_joined_or_replaced(value: object, sent: object) -> None:
    assert content(value) == sent


@pytest.mark.parametrize(
    "value", ["x" * 1001, "é" * 501, {"a": "x" * 994}, [Text("x" * 500), Image(data="y" * 501)]]
)
def test_what_is_too_large_is_refused_with_its_size_and_beginning(value: object) -> None:
    with pytest.raises(AnswerError) as caught:
        content(value)
    assert caught.value.size in (1001, 1002)
    assert caught.value.text.startswith(
        f"its answer is {caught.value.size:,} bytes long; at most 1,000 are taken. It"
    )


def test_what_is_just_as_large_as_allowed_is_taken() -> None:
    assert content("é" * 500) == "é" * 500


@given(st.text(max_size=300))
def test_sizes_are_those_of_utf8(text: str) -> None:
    assert utf8_size(text * 700) == len(text.encode()) * 700
