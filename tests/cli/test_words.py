from __future__ import annotations

import pytest

from trimtab.cli.words import first_words


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"role": "user", "content": "one\n\ttwo"}, "one two"),
        (
            {"content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]},
            "look [image_url]",
        ),
        (
            {"content": None, "tool_calls": [{"function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]},
            'weather({"city": "Oslo"})',
        ),
        (
            {"parts": [{"type": "tool-call", "toolName": "weather", "args": {"city": "Oslo"}}]},
            "weather(city: Oslo)",
        ),
        ({"parts": [{"text": "hello"}]}, "hello"),
        ({"type": "function_call", "name": "weather", "arguments": "{}"}, "weather({})"),
        ({"type": "function_call_output", "output": "12 degrees"}, "12 degrees"),
        ("only text", "only text"),
        ({"role": "user"}, ""),
        (None, ""),
        (3, ""),
    ],
)
def test_the_first_words_are_found_in_any_format(message: object, words: str) -> None:
    assert first_words([message], 0) == words


def test_a_long_message_is_cut_with_an_ellipsis() -> None:
    words = first_words([{"content": "x" * 10_000_000}], 0, limit=20)

    assert words == "x" * 19 + "…"


@pytest.mark.parametrize("index", [None, -1, 1])
def test_an_inserted_text_or_a_strange_index_has_no_words(index: int | None) -> None:
    assert first_words([{"content": "hello"}], index) == ""


def test_nesting_without_end_is_not_followed() -> None:
    nested: dict[str, object] = {}
    nested["content"] = [nested]

    assert first_words([nested], 0) == ""
