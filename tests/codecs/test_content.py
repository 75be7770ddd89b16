from __future__ import annotations

import pytest

from trimtab_plugins.codecs.content import content_of, patch_content, read_content, result_parts, write_content
from trimtab_plugins.codecs.neutral_parts import read_part, write_part
from trimtab_sdk import ContentPart, Image, InvalidRequestError, Reasoning, Text, ToolResult, Unknown

PICTURE: dict[str, object] = {"type": "image", "media_type": "image/png", "data": "AAAA", "alt": "a kettle"}
STRANGE: dict[str, object] = {"type": "hologram"}
WORDS: dict[str, object] = {"type": "text", "text": "long", "lang": "en"}


def patched(raw: object, *new: ContentPart) -> object:
    return patch_content(raw, read_content(raw, "content", read_part), new, write_part)


def test_a_text_a_list_and_null_are_contents() -> None:
    assert read_content("hi", "content", read_part) == (Text("hi"),)
    assert read_content(["hi", STRANGE], "content", read_part) == (Text("hi"), Unknown(STRANGE))
    assert read_content(None, "content", read_part) == ()


@pytest.mark.parametrize(("value", "path"), [(4, "content"), ({}, "content"), ([4], "content[0]")])
def test_anything_else_is_refused_with_its_path(value: object, path: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        read_content(value, "content", read_part)
    assert caught.value.path == path


def test_one_text_is_written_as_a_text_and_everything_else_as_a_list() -> None:
    assert write_content((Text("hi"),), write_part) == "hi"
    assert write_content((Text("a"), Text("b")), write_part) == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


def test_an_unchanged_content_is_the_very_object() -> None:
    raw = [WORDS, "bare"]
    assert patched(raw, Text("long"), Text("bare")) is raw


def test_items_that_did_not_change_are_the_very_objects() -> None:
    out = patched(
        [WORDS, PICTURE, STRANGE, "bare"],
        Text("lo"),
        *read_content([PICTURE, STRANGE], "", read_part),
        Text("b"),
    )
    assert out == [{**WORDS, "text": "lo"}, PICTURE, STRANGE, "b"]


def test_items_that_stay_keep_their_keys_when_others_come_and_go() -> None:
    picture = read_part(PICTURE, "")
    assert patched([WORDS, PICTURE], Text("note"), Text("long"), picture) == [
        {"type": "text", "text": "note"},
        WORDS,
        PICTURE,
    ]
    assert patched([WORDS, PICTURE], picture) == [PICTURE]


def test_a_part_of_another_kind_is_written_anew() -> None:
    assert patched([PICTURE], Text("a kettle")) == [{"type": "text", "text": "a kettle"}]
    assert patched([WORDS], Image(url="https://x.test/a.png")) == [
        {"type": "image", "url": "https://x.test/a.png"}
    ]


@pytest.mark.parametrize(("raw", "left"), [("hi", ""), ([WORDS], ""), (None, None)])
def test_a_content_that_lost_all_its_parts_is_empty(raw: object, left: object) -> None:
    assert patched(raw) == left


def test_only_parts_with_a_place_in_a_content_belong_to_it() -> None:
    parts = (Reasoning("hm"), Text("a"), ToolResult("c", "b"), Unknown(STRANGE))
    assert content_of(parts) == (Text("a"), Unknown(STRANGE))
    assert result_parts(ToolResult("c", "b")) == (Text("b"),)
    assert result_parts(ToolResult("c", (Text("b"),))) == (Text("b"),)
