from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vocabulary_file
from corpus import CODE, PROSE, mixed_text, prose, strange_texts
from trimtab.fitting.approximate import floor_tokens
from trimtab_plugins.tokenizers.deepseek import DeepSeek
from trimtab_plugins.tokenizers.openai import Cl100kBase, O200kBase
from trimtab_plugins.tokenizers.vocabulary import CL100K_BASE, O200K_BASE
from trimtab_sdk import Tokenizer

PROFILES = ("o200k_base", "cl100k_base", "deepseek")
each = pytest.mark.parametrize("profile", PROFILES)


@cache
def counter(profile: str) -> Callable[[str], int]:
    drivers: dict[str, type[Tokenizer]] = {
        "o200k_base": O200kBase,
        "cl100k_base": Cl100kBase,
        "deepseek": DeepSeek,
    }
    return drivers[profile]().count


def vocabulary(profile: str, folder: Path) -> Iterator[bytes]:
    if profile == "deepseek":
        return map(vocabulary_file.bytes_of, vocabulary_file.words())
    name = {"o200k_base": O200K_BASE, "cl100k_base": CL100K_BASE}[profile].file_name
    return (base64.b64decode(line.split()[0]) for line in (folder / name).read_bytes().splitlines())


@each
def test_no_token_weighs_more_than_one(profile: str, cache_folder: Path) -> None:
    """So the floor is under the count of any text, however it is cut; shorter tokens cannot weigh that much."""
    tokens = (token.decode("utf-8", "ignore") for token in vocabulary(profile, cache_folder) if len(token) > 3)
    assert [token for token in tokens if floor_tokens(token) > 1] == []


@each
@given(text=st.text(max_size=200))
@settings(max_examples=200, deadline=None)
def test_the_floor_is_under_the_count_of_any_text(profile: str, text: str) -> None:
    assert floor_tokens(text) <= counter(profile)(text)


@each
def test_the_floor_is_under_the_count_of_mixed_and_strange_texts(profile: str) -> None:
    texts = [mixed_text(100_000, seed=51), *strange_texts(2_000, seed=52), *PROSE.values(), *CODE.values()]
    assert [text for text in texts if floor_tokens(text) > counter(profile)(text)] == []


@each
@pytest.mark.parametrize(
    "unit", [*" \n\t\u00a0\u3000aMzé0!.-=/—…漢の한ก😀\x00\u0301ᄀא", "\r\n", " \n", "//\n", "a ", "1 "]
)
def test_the_floor_is_under_the_count_of_a_long_run(profile: str, unit: str) -> None:
    for length in (1, 7, 128, 4_096):
        text = unit * length
        assert floor_tokens(text) <= counter(profile)(text)


@pytest.mark.parametrize("language", PROSE)
def test_the_floor_of_prose_is_at_least_a_twentieth_of_the_count(language: str) -> None:
    text = prose(language)
    assert floor_tokens(text) >= counter("o200k_base")(text) / 20


@pytest.mark.parametrize("language", CODE)
def test_the_floor_of_code_is_at_least_a_twentieth_of_the_count(language: str) -> None:
    assert floor_tokens(CODE[language]) >= counter("o200k_base")(CODE[language]) / 20


@given(st.text())
def test_only_nothing_may_cost_nothing(text: str) -> None:
    assert (floor_tokens(text) == 0) == (text == "")


def test_lone_surrogates_do_not_raise_the_floor() -> None:
    assert floor_tokens("\ud83d" * 1_000) == 1
