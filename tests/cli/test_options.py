from __future__ import annotations

import click
import pytest

from trimtab.cli.options import selector, setting


@pytest.mark.parametrize(
    ("text", "named"), [("@0", 0), ("@12", 12), ("12", "12"), ("@alice", "@alice"), ("@-1", "@-1"), ("@", "@")]
)
def test_an_index_follows_an_at_sign_and_all_else_is_an_id(text: str, named: int | str) -> None:
    assert selector(text) == named


def test_an_empty_id_names_no_message() -> None:
    with pytest.raises(click.BadParameter, match="by its id, or by its index"):
        selector("")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=true", True),
        ("a=null", None),
        ('a={"b": [1]}', {"b": [1]}),
        ('a="1"', "1"),
        ("a=words = more", "words = more"),
        ("a=", ""),
        ("a=NaN", "NaN"),
        ("a=" + "[" * 100_000, "[" * 100_000),
    ],
)
def test_a_setting_is_json_where_it_reads_as_json(text: str, value: object) -> None:
    assert setting(text) == ("a", value)


@pytest.mark.parametrize("text", ["a", "=1", " =1", ""])
def test_a_setting_needs_a_key_and_an_equals_sign(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not key=value"):
        setting(text)
