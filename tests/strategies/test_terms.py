from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab_strategies.terms import LONGEST_NORMALIZED, is_cjk, terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Ferry, at NINE-ten!", ["the", "ferry", "at", "nine", "ten"]),
        ("snake_case2 and 3.14", ["snake", "case2", "and", "3", "14"]),
        ("Straße ÉTÉ", ["strasse", "été"]),
        ("e\u0301te\u0301", ["été"]),
        ("ＡＢＣ", ["abc"]),
        ("हिन्दी สวัสดี", ["हिन्दी", "สวัสดี"]),
        ("渡轮", ["渡", "轮", "渡轮"]),
        ("東京タワーで", [*"東京タワーで", "東京", "京タ", "タワ", "ワー", "ーで"]),
        ("GPT模型4", ["gpt", "模", "型", "模型", "4"]),
        ("서울에", [*"서울에", "서울", "울에"]),
        ("🙂 … —", []),
        ("", []),
    ],
)
def test_terms_are_casefolded_words_and_for_cjk_characters_and_pairs(text: str, found: list[str]) -> None:
    assert sorted(terms(text)) == sorted(found)


@given(st.text())
def test_terms_are_the_same_in_capitals_and_hold_no_blank(text: str) -> None:
    found = terms(text)
    assert all(term and not any(map(str.isspace, term)) for term in found)
    assert found == terms(text)


@given(st.text("aZ9é東京가", max_size=30), st.text("aZ9é東京가", max_size=30))
def test_a_blank_parts_terms(one: str, other: str) -> None:
    assert terms(f"{one} {other}") == terms(one) + terms(other)


@given(st.text(max_size=LONGEST_NORMALIZED))
def test_there_are_at_most_two_terms_for_each_character_of_the_plain_spelling(text: str) -> None:
    from unicodedata import normalize

    assert len(terms(text)) <= 2 * len(normalize("NFKC", text).casefold())


@pytest.mark.parametrize("char", "漢かカ々ー가ｶ〇")
def test_chinese_japanese_and_korean_are_cjk(char: str) -> None:
    assert is_cjk(char)


@pytest.mark.parametrize("char", "aé1я。・🙂 ")
def test_other_letters_punctuation_and_emoji_are_not(char: str) -> None:
    assert not is_cjk(char)
