from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus import mixed_text, strange_texts
from judge import tokens
from trimtab_plugins.tokenizers import bindings
from trimtab_plugins.tokenizers.openai import Cl100kBase, O200kBase
from trimtab_sdk import Tokenizer

PROFILES = ("o200k_base", "cl100k_base")
both = pytest.mark.parametrize("profile", PROFILES)


@cache
def driver(profile: str) -> Tokenizer:
    return {"o200k_base": O200kBase, "cl100k_base": Cl100kBase}[profile]()


def counter(profile: str) -> Callable[[str], int]:
    return driver(profile).count


@both
def test_megabytes_of_mixed_text_count_as_in_tiktoken(profile: str) -> None:
    text = mixed_text(1_900_000, seed=PROFILES.index(profile))
    assert len(text.encode()) > 2_500_000
    assert counter(profile)(text) == tokens(text, profile)


@both
def test_strange_texts_count_as_in_tiktoken_one_by_one(profile: str) -> None:
    count = counter(profile)
    wrong = [text for text in strange_texts(4_000, seed=11) if count(text) != tokens(text, profile)]
    assert wrong == []


@both
@given(text=st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_counts_as_in_tiktoken(profile: str, text: str) -> None:
    assert counter(profile)(text) == tokens(text, profile)


@both
def test_nothing_costs_nothing(profile: str) -> None:
    assert counter(profile)("") == 0


@both
@pytest.mark.parametrize("text", ["<|endoftext|>", "<|endofprompt|>", "<|fim_prefix|>", "<|im_start|>"])
def test_a_special_token_in_a_text_is_plain_text(profile: str, text: str) -> None:
    assert counter(profile)(text) == tokens(text, profile) > 3


@both
@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("lone \ud83d here", "lone \ufffd here"),
        ("\udc00", "\ufffd"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("turned \ude00\ud83d", "turned \ufffd\ufffd"),
    ],
)
def test_surrogates_count_as_tiktoken_reads_them(profile: str, text: str, same_as: str) -> None:
    assert counter(profile)(text) == counter(profile)(same_as) == tokens(text, profile)


@pytest.mark.parametrize(
    ("character", "o200k", "cl100k"),
    [
        (" ", 7_813, 7_813),
        ("\n", 62_500, 31_250),
        ("\t", 62_500, 62_500),
        ("\u00a0", 125_000, 125_000),
        ("a", 125_000, 125_000),
        ("0", 333_334, 333_334),
        ("!", 62_500, 125_000),
        ("/", 15_625, 15_625),
        ("é", 1_000_000, 1_000_000),
        ("漢", 1_000_000, 2_000_000),
        ("😀", 1_000_000, 2_000_000),
        ("\u0301", 1_000_000, 1_000_000),
        ("\x00", 500_000, 1_000_000),
    ],
)
def test_a_million_equal_characters_are_counted(character: str, o200k: int, cl100k: int) -> None:
    text = character * 1_000_000
    assert (counter("o200k_base")(text), counter("cl100k_base")(text)) == (o200k, cl100k)


@both
def test_the_version_names_engine_and_vocabulary(profile: str) -> None:
    engine, vocabulary = driver(profile).version.split("/")
    assert engine == "bpe-openai-0.1.4"
    assert vocabulary == {"o200k_base": "446a9538cb6c", "cl100k_base": "223921b76ee9"}[profile]
    assert driver(profile).profile == profile
    assert not driver(profile).approximate


def test_making_a_driver_imports_neither_tiktoken_nor_the_package_around_the_bindings() -> None:
    code = (
        "import sys; from trimtab_plugins.tokenizers.openai import O200kBase; O200kBase();"
        "print(sorted({'tiktoken', 'bpe_openai', 'regex', 'requests'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_still_works_after_its_bindings_were_loaded_alone() -> None:
    code = (
        "from trimtab_plugins.tokenizers.openai import O200kBase; driver = O200kBase(); import bpe_openai;"
        "print(len(bpe_openai.get_encoding('o200k_base').encode('two words')), driver.count('two words'))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "2"]


def test_bindings_without_the_private_function_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai._bindings", ModuleType("bpe_openai._bindings"))
    assert bindings.counter("o200k_base") is None


@pytest.mark.usefixtures("without_bindings")
def test_another_version_of_the_bindings_is_not_used() -> None:
    assert bindings.counter("o200k_base") is None
