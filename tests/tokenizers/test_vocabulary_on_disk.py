from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from corpus import mixed_text, strange_texts
from judge import tokens
from trimtab_plugins.tokenizers import vocabulary
from trimtab_plugins.tokenizers.openai import Cl100kBase, O200kBase
from trimtab_plugins.tokenizers.vocabulary import CL100K_BASE, O200K_BASE, content_on_disk
from trimtab_sdk import TokenizerUnavailableError

DRIVERS = {"o200k_base": O200kBase, "cl100k_base": Cl100kBase}
pytestmark = pytest.mark.usefixtures("without_bindings", "no_network")


@pytest.fixture
def on_disk(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache_folder))
    return cache_folder


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("profile", DRIVERS)
def test_a_vocabulary_on_disk_gives_tiktokens_counts(profile: str) -> None:
    driver = DRIVERS[profile]()
    assert driver.version.startswith("tiktoken-")
    assert driver.version.endswith(vocabulary.O200K_BASE.sha256[:12]) is (profile == "o200k_base")
    for text in (mixed_text(300_000, seed=21), *strange_texts(1_000, seed=22), "lone \ud83d"):
        assert driver.count(text) == tokens(text, profile)


@pytest.mark.usefixtures("on_disk")
def test_a_million_blanks_that_stop_tiktoken_are_counted() -> None:
    count = O200kBase().count
    assert count(" " * 1_000_000) == 7_813
    assert count("before" + "\u00a0" * 1_000_000 + "after") == 125_004
    assert count("\t" * 1_000_000 + "1") == 62_502


@pytest.mark.usefixtures("on_disk")
def test_a_million_blanks_before_a_word_are_counted_in_the_older_vocabulary() -> None:
    assert Cl100kBase().count(" " * 1_000_000 + "word") == 7_814


@pytest.mark.usefixtures("on_disk")
def test_blanks_in_turn_are_cut_into_blocks_at_the_cost_of_a_few_tokens() -> None:
    assert O200kBase().count(" \t" * 500_000) == pytest.approx(500_000, abs=3)


@pytest.mark.usefixtures("on_disk")
def test_blanks_up_to_the_bound_are_not_cut() -> None:
    text = " \t" * (vocabulary.LONGEST_BLANK // 2)
    assert O200kBase().count(text) == tokens(text)


def test_no_vocabulary_and_no_engine_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(TokenizerUnavailableError) as caught:
        O200kBase()
    assert caught.value.code == "TOKENIZER_UNAVAILABLE"
    for advice in ("pip install 'trimtab[exact]'", "TIKTOKEN_CACHE_DIR", O200K_BASE.file_name):
        assert advice in str(caught.value)


def test_a_file_with_another_checksum_is_neither_used_nor_removed_nor_replaced(
    on_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    spoiled = (on_disk / CL100K_BASE.file_name).read_bytes()[:-1]
    (tmp_path / CL100K_BASE.file_name).write_bytes(spoiled)
    with pytest.raises(TokenizerUnavailableError):
        Cl100kBase()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [spoiled]


def test_a_folder_in_the_place_of_the_file_is_no_vocabulary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / O200K_BASE.file_name).mkdir()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert content_on_disk(O200K_BASE) is None


def test_the_older_variable_is_read_where_the_newer_is_not_set(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(cache_folder))
    assert content_on_disk(O200K_BASE) is not None


def test_an_empty_variable_switches_the_cache_off(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(cache_folder))
    assert content_on_disk(O200K_BASE) is None


def test_without_a_variable_the_folder_for_temporary_files_is_read(
    cache_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert content_on_disk(CL100K_BASE) is None
    (tmp_path / "data-gym-cache").symlink_to(cache_folder)
    assert content_on_disk(CL100K_BASE) is not None
