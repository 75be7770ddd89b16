from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from trimtab.cli.screen import clean, console_for


def test_what_steers_a_terminal_is_left_out() -> None:
    assert clean("\x1b[31mred\x1b[0m \x07bell \u202egnol \x9b2J\ud800") == "[31mred[0m bell gnol 2J"


def test_line_breaks_become_blanks() -> None:
    assert clean("one\r\ntwo\u2028three\x85four\x0bfive") == "one two three four five"


@given(text=st.text(st.characters(codec=None), max_size=300), limit=st.integers(min_value=1, max_value=100))
def test_clean_text_is_one_printable_line_within_its_limit(text: str, limit: int) -> None:
    shown = clean(text, limit=limit)

    assert len(shown) <= limit
    assert shown.isprintable()


def test_a_console_prints_markup_as_text_and_replaces_what_an_encoding_lacks() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")

    console_for(stream).print("[bold]caf\u00e9[/bold] :smile:")
    stream.flush()

    assert raw.getvalue() == b"[bold]caf?[/bold] :smile:\n"
