"""What a model is told of a failure names no place on this machine."""

from __future__ import annotations

import time

import pytest

from trimtab.turns.tool_words import clean_text, error_text, without_paths


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("No such file: '/home/ann/My notes/a b.txt'", "No such file: '…/a b.txt'"),
        ("cannot open /etc/app/keys/main.key now", "cannot open …/main.key now"),
        ("cannot open /secret", "cannot open /secret"),
        ("in ~/.ssh/id_rsa, line 3", "in …/id_rsa, line 3"),
        (r"C:\Users\ann\x.txt is locked", "…/x.txt is locked"),
        (r"'C:\\Users\\ann\\x.txt'", "'…/x.txt'"),
        ("file:///home/ann/x.txt", "…/x.txt"),
        ("see https://example.org/a/b/c?d=/e", "see https://example.org/a/b/c?d=/e"),
        ("1/2 and/or km/h 3 / 4", "1/2 and/or km/h 3 / 4"),
        ("a 'b' c/d 'e'", "a 'b' c/d 'e'"),
    ],
)
def test_of_a_path_the_last_name_alone_is_told(text: str, told: str) -> None:
    assert without_paths(text) == told


def test_line_breaks_stay_and_other_control_characters_go() -> None:
    assert clean_text("a\nb\x1b[1m\u202e\u2028c\0") == "a\nb [1m  c"


@pytest.mark.parametrize("text", ["/a" * 10**6, "'/" * 10**6, "/" * 10**6, "a\\" * 10**6, "\x1b" * 10**6])
def test_any_text_is_told_short_and_soon(text: str) -> None:
    began = time.perf_counter()
    assert len(error_text(ValueError(text))) <= 2000
    assert time.perf_counter() - began < 1
