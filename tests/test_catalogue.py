"""The catalogue of models: its rows, the look-up of names, overrides, and what becomes of unknown models."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from trimtab import catalogue
from trimtab.catalogue import Catalogue, Model, guess_encoding, resolve_model
from trimtab_sdk import ConfigError, InvalidBudgetError, InvalidRequestError, UnknownModelError

SHIPPED = Catalogue.load()
ENCODINGS = {"o200k_base", "cl100k_base", "deepseek", "approximate-v1"}
SCRIPT = Path(__file__).parent.parent / "scripts" / "refresh_models.py"


def model(name: str = "some-model", **fields: Any) -> Model:
    return replace(Model(name, "some-provider", 1000, None, 100, "approximate-v1"), **fields)


def found(name: str) -> Model:
    row = SHIPPED.find(name)
    assert row is not None, name
    return row


def data_file() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((files("trimtab") / "data" / "models.json").read_text(encoding="utf-8"))
    return data


def refresh_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refresh_models", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(provider: str, room: object, output: object, mode: str = "chat") -> dict[str, object]:
    return {
        "litellm_provider": provider,
        "mode": mode,
        "max_input_tokens": room,
        "max_output_tokens": output,
    }


def test_the_data_file_says_where_it_comes_from_and_under_which_licence() -> None:
    header = data_file()["header"]
    assert "litellm" in header["source"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", header["sourceVersion"])
    assert header["licence"].startswith("MIT")
    assert date.fromisoformat(header["retrieved"]) >= date(2026, 11, 30)


def test_the_licence_of_the_source_comes_with_the_package() -> None:
    notice = (files("trimtab") / "data" / "LICENSE-litellm").read_text(encoding="utf-8")
    assert "Copyright (c) 2023 Berri AI" in notice
    assert "Permission is hereby granted, free of charge" in notice


def test_the_data_file_has_one_model_per_line_sorted_by_name() -> None:
    text = (files("trimtab") / "data" / "models.json").read_text(encoding="utf-8")
    names = [row["name"] for row in data_file()["models"]]
    assert names == sorted(set(names))
    assert sum(line.startswith('{"name":') for line in text.splitlines()) == len(names)


def test_every_row_has_figures_that_can_be() -> None:
    for row in SHIPPED.models():
        assert row.known
        assert row.context_limit is not None, row
        assert 4_000 <= row.context_limit <= 2_000_000, row
        assert row.encoding in ENCODINGS, row
        assert row.provider in {"openai", "anthropic", "gemini", "deepseek", "chatgpt"}, row
        assert row.max_output is None or row.max_output > 0, row


def test_input_room_and_the_longest_answer_make_up_the_window() -> None:
    rows = [row for row in SHIPPED.models() if row.max_input is not None]
    assert len(rows) > 50
    for row in rows:
        assert row.max_input is not None
        assert row.max_output is not None
        assert row.context_limit == row.max_input + row.max_output, row


@pytest.mark.parametrize(
    ("name", "context_limit", "max_input", "max_output"),
    [
        ("gpt-6-astra", 1_050_000, 922_000, 128_000),
        ("gpt-6-cyber", 1_050_000, 922_000, 128_000),
        ("gpt-6.1-terra", 1_050_000, 922_000, 128_000),
        ("gpt-6.2-astra", 1_050_000, 922_000, 128_000),
        ("gpt-6.2-sol", 1_050_000, 922_000, 128_000),
        ("gpt-5.6", 1_050_000, 922_000, 128_000),
        ("gpt-5.6-luna", 1_050_000, 922_000, 128_000),
        ("gpt-5.5", 1_050_000, None, 128_000),
        ("gpt-5.5-pro", 1_050_000, None, 128_000),
        ("gpt-5.4", 1_050_000, None, 128_000),
        ("gpt-5.4-mini", 400_000, 272_000, 128_000),
        ("gpt-5.3-codex", 400_000, 272_000, 128_000),
        ("gpt-5", 400_000, 272_000, 128_000),
        ("gpt-5-nano", 400_000, 272_000, 128_000),
        ("gpt-5-pro", 400_000, None, 272_000),
        ("gpt-5.2-chat-latest", 128_000, None, 16_384),
        ("gpt-4.1", 1_047_576, None, 32_768),
        ("gpt-4o", 128_000, None, 16_384),
        ("gpt-4o-mini", 128_000, None, 16_384),
        ("gpt-4", 8_192, None, 4_096),
        ("o3", 200_000, None, 100_000),
        ("o4-mini", 200_000, None, 100_000),
        ("chatgpt/gpt-6-sol", 1_050_000, 922_000, 128_000),
        ("chatgpt/gpt-5.6-sol", 1_050_000, None, 128_000),
        ("chatgpt/gpt-5.3-codex", 128_000, None, 128_000),
        ("claude-opus-5-5", 1_000_000, None, 128_000),
        ("claude-sonnet-4-6", 1_000_000, None, 128_000),
        ("claude-fable-5-2", 1_000_000, None, 128_000),
        ("claude-mythos-5-2", 1_000_000, None, 128_000),
        ("claude-haiku-4-5", 200_000, None, 64_000),
        ("gemini-4-argon", 1_048_576, None, 1_048_576),
        ("gemini-4-carbon", 1_048_576, None, 1_048_576),
        ("gemini-4-neon", 1_048_576, None, 1_048_576),
        ("gemini-3.8-flash", 1_114_112, 1_048_576, 65_536),
        ("gemini-2.5-pro", 1_114_112, 1_048_576, 65_536),
        ("gemma-4-31b-it", 262_144, None, 32_768),
        ("deepseek-flash", 1_000_000, None, 393_216),
        ("deepseek-v4-pro", 1_000_000, None, 393_216),
    ],
)
def test_the_published_figures_are_there(
    name: str, context_limit: int, max_input: int | None, max_output: int
) -> None:
    row = found(name)
    assert (row.context_limit, row.max_input, row.max_output) == (context_limit, max_input, max_output)


def test_every_provider_counts_with_its_own_tokenizer() -> None:
    of = {row.provider: set[str]() for row in SHIPPED.models()}
    for row in SHIPPED.models():
        of[row.provider].add(row.encoding)
    assert of == {
        "openai": {"o200k_base", "cl100k_base"},
        "chatgpt": {"o200k_base"},
        "anthropic": {"approximate-v1"},
        "gemini": {"approximate-v1"},
        "deepseek": {"deepseek"},
    }


def test_openai_rows_agree_with_tiktoken_wherever_it_knows_the_model() -> None:
    compared = 0
    for row in SHIPPED.models():
        # tiktoken takes a fine-tuned gpt-4.1 for a gpt-4.
        if row.provider != "openai" or row.name.startswith("ft:gpt-4.1"):
            continue
        try:
            theirs = tiktoken.encoding_name_for_model(row.name)
        except KeyError:
            continue
        compared += 1
        assert row.encoding == theirs, row.name
    assert compared > 80


def test_loading_twice_gives_the_same_catalogue() -> None:
    assert Catalogue.load() is SHIPPED


def test_the_file_is_read_once_and_under_a_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    content = (files("trimtab") / "data" / "models.json").read_bytes()
    locked = []

    def read(package: str, path: str) -> bytes:
        locked.append(catalogue._loading.locked())
        return content

    monkeypatch.setattr("pkgutil.get_data", read)
    monkeypatch.setattr("trimtab.catalogue._shipped", cache(catalogue._shipped.__wrapped__))
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: Catalogue.load(), range(32)))
    assert locked == [True]
    assert len({id(one) for one in loaded}) == 1


def test_loading_imports_nothing_costly() -> None:
    program = "import sys, trimtab.catalogue as c; c.Catalogue.load(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "trimtab.catalogue" in loaded
    assert loaded.isdisjoint({"httpx", "pydantic", "tiktoken"})


def test_a_damaged_data_file_is_a_config_error_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for content in (b"{", b'{"models":[{"name":"x"}]}', b"{}", None):
        monkeypatch.setattr("pkgutil.get_data", lambda package, path, content=content: content)
        with pytest.raises(ConfigError, match="install trimtab again"):
            catalogue._shipped.__wrapped__()


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("gpt-4o", "gpt-4o"),
        ("GPT-4o", "gpt-4o"),
        ("openai/gpt-4o", "gpt-4o"),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5"),
        ("gemini/gemini-2.5-pro", "gemini-2.5-pro"),
        ("google/gemini-2.5-pro", "gemini-2.5-pro"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("deepseek/deepseek-flash", "deepseek-flash"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-4o-2031-01-02", "gpt-4o"),
        ("openai/gpt-4o-2031-01-02", "gpt-4o"),
        ("claude-opus-4-5-20310102", "claude-opus-4-5"),
        ("claude-opus-4-5@20310102", "claude-opus-4-5"),
        ("anthropic/claude-opus-4-5@default", "claude-opus-4-5"),
        ("claude-sonnet-5-5-latest", "claude-sonnet-5-5"),
        ("gemini-flash-latest", "gemini-flash-latest"),
        ("chatgpt/gpt-5.4", "chatgpt/gpt-5.4"),
        ("gpt-5.4", "gpt-5.4"),
        ("gpt-5.3-codex-spark", "chatgpt/gpt-5.3-codex-spark"),
        ("ft:gpt-4o-2024-08-06", "ft:gpt-4o-2024-08-06"),
        ("ft:gpt-4o-2024-08-06:acme::a1b2", "ft:gpt-4o-2024-08-06"),
        ("ft:gpt-4o-2024-05-13:acme::a1b2", "gpt-4o-2024-05-13"),
        ("ft:gpt-4.1:acme:suffix:a1b2", "gpt-4.1"),
        ("ft:gpt-4.1-2031-01-02:acme::a1b2", "gpt-4.1"),
    ],
)
def test_a_name_is_found_in_all_its_spellings(asked: str, name: str) -> None:
    assert found(asked).name == name


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "/",
        "@",
        "ft:",
        "-latest",
        "no-such-model",
        "openai/",
        "/gpt-4o",
        "openai/claude-opus-5-5",
        "anthropic/gpt-4o",
        "chatgpt/gpt-4o",
        "somebody/gpt-4o",
        "gpt-4o ",
        "gpt-4o-0613",
        "gpt-4o\ud800",
    ],
)
def test_a_name_that_only_resembles_one_is_not_found(asked: str) -> None:
    assert SHIPPED.find(asked) is None


@given(st.sampled_from(SHIPPED.models()), st.randoms(use_true_random=False))
def test_every_row_is_found_by_its_name_in_any_case(row: Model, random: Any) -> None:
    asked = "".join(random.choice((letter.upper(), letter.lower())) for letter in row.name)
    assert SHIPPED.find(asked) is row


@given(st.text(max_size=300))
def test_no_text_makes_the_look_up_fail(name: str) -> None:
    row = SHIPPED.find(name)
    assert row is None or row in SHIPPED.models()
    assert guess_encoding(name) in ENCODINGS


def test_models_come_sorted_by_name() -> None:
    names = [row.name for row in Catalogue([model("b"), model("a"), model("c")]).models()]
    assert names == ["a", "b", "c"]


def test_an_override_changes_the_fields_it_names_and_no_others() -> None:
    changed = SHIPPED.with_overrides({"gpt-4o": {"context_limit": 32_000}}).find("gpt-4o")
    assert changed == replace(found("gpt-4o"), context_limit=32_000)


def test_an_override_leaves_the_old_catalogue_and_the_other_rows_alone() -> None:
    before = SHIPPED.models()
    other = SHIPPED.with_overrides({"gpt-4o": {"context_limit": 32_000}})
    assert SHIPPED.models() == before
    assert other.find("gpt-4o-mini") is found("gpt-4o-mini")
    assert len(other.models()) == len(before)


def test_an_overridden_model_is_found_by_its_other_spellings_too() -> None:
    other = SHIPPED.with_overrides({"GPT-4o": {"context_limit": 32_000}})
    row = other.find("openai/gpt-4o-2031-01-02")
    assert row is not None
    assert row.context_limit == 32_000


def test_a_figure_of_none_takes_a_limit_away() -> None:
    row = SHIPPED.with_overrides({"gpt-5": {"max_input": None, "context_limit": 500_000}}).find("gpt-5")
    assert row is not None
    assert (row.context_limit, row.max_input) == (500_000, None)


def test_a_new_model_gets_the_encoding_its_name_suggests() -> None:
    other = SHIPPED.with_overrides({"gpt-7-sol": {"context_limit": 2_000_000}})
    assert other.find("gpt-7-sol") == Model("gpt-7-sol", "", 2_000_000, None, None, "o200k_base")


def test_a_new_model_may_give_all_its_fields() -> None:
    fields = {
        "provider": "acme",
        "context_limit": 9_000,
        "max_input": 8_000,
        "max_output": 1_000,
        "encoding": "acme-v1",
    }
    row = SHIPPED.with_overrides({"acme-1": fields}).find("acme-1")
    assert row is not None
    assert asdict(row) == {"name": "acme-1", "known": True, **fields}


def test_an_override_for_a_dated_name_starts_from_the_row_that_was_found_for_it() -> None:
    other = SHIPPED.with_overrides({"gpt-4o-2031-01-02": {"max_output": 32_000}})
    assert other.find("gpt-4o-2031-01-02") == replace(found("gpt-4o"), name="gpt-4o-2031-01-02", max_output=32_000)
    assert other.find("gpt-4o") is found("gpt-4o")


@pytest.mark.parametrize(
    ("overrides", "named"),
    [
        ({"gpt-4o": {"context_limit": "8k"}}, r"models\['gpt-4o'\]\.context_limit .*'8k'"),
        ({"gpt-4o": {"context_limit": True}}, "context_limit .*True"),
        ({"gpt-4o": {"context_limit": 8e3}}, "context_limit .*8000.0"),
        ({"gpt-4o": {"max_input": 0}}, "max_input .*not 0"),
        ({"gpt-4o": {"max_output": -1}}, "max_output .*not -1"),
        ({"gpt-4o": {"max_output": 10**5000}}, "max_output .*a number that large"),
        ({"gpt-4o": {"encoding": ""}}, "encoding .*''"),
        ({"gpt-4o": {"encoding": "../x"}}, "encoding .*'../x'"),
        ({"gpt-4o": {"provider": None}}, "provider .*None"),
        ({"gpt-4o": {"contextLimit": 8_000}}, "no field 'contextLimit'; there are provider, context_limit"),
        ({"gpt-4o": {"known": False}}, "no field 'known'"),
        ({"gpt-4o": {"context_limit": None}}, "neither context_limit nor max_input"),
        ({"acme-1": {"encoding": "o200k_base"}}, r"models\['acme-1'\] has neither"),
        ({"gpt-4o": 8_000}, r"models\['gpt-4o'\] must map fields to values"),
        ({"": {"context_limit": 8_000}}, "named by texts of 1 to 200 characters"),
        ({"x" * 201: {"context_limit": 8_000}}, "named by texts of 1 to 200 characters"),
        ({7: {"context_limit": 8_000}}, "not 7"),
        ([], r"models must map names to fields, not be \[\]"),
    ],
)
def test_a_wrong_override_is_a_config_error_that_names_the_field(overrides: Any, named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        SHIPPED.with_overrides(overrides)


def test_a_known_model_is_given_as_the_catalogue_has_it() -> None:
    assert resolve_model("openai/gpt-4o", catalogue=SHIPPED, context_limit=None) is found("gpt-4o")
    assert resolve_model("gpt-4o", catalogue=SHIPPED, context_limit=100) is found("gpt-4o")


def test_an_unknown_model_with_a_limit_is_marked_as_not_known() -> None:
    row = resolve_model("acme/Large-1", catalogue=SHIPPED, context_limit=32_000)
    assert row == Model("acme/Large-1", "", 32_000, None, None, "approximate-v1", known=False)


def test_an_unknown_model_without_a_limit_is_told_how_to_go_on() -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve_model("gpt4o-minni", catalogue=SHIPPED, context_limit=None)
    text = str(caught.value)
    assert "'gpt4o-minni'" in text
    assert "--limit N" in text
    assert "context_limit=N" in text
    assert "gpt-4o-mini" in text
    assert caught.value.code == "UNKNOWN_MODEL"
    assert caught.value.name == "gpt4o-minni"
    assert "gpt-4o-mini" in caught.value.known
    assert len(caught.value.known) == 3


def test_close_matches_are_looked_for_behind_the_prefix() -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve_model(
            "a-gateway.example/accounts/somebody/models/CLAUDE-OPUS-5.5", catalogue=SHIPPED, context_limit=None
        )
    assert caught.value.known[0] == "claude-opus-5-5"


def test_a_model_like_no_other_is_given_no_close_matches() -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve_model("zzzz", catalogue=SHIPPED, context_limit=None)
    assert caught.value.known == ()
    assert "come close" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "x" * 201, None, 7, b"gpt-4o", ["gpt-4o"]])
def test_a_model_that_is_no_name_is_an_invalid_request(name: Any) -> None:
    with pytest.raises(InvalidRequestError, match="1 to 200 characters") as caught:
        resolve_model(name, catalogue=SHIPPED, context_limit=8_000)
    assert caught.value.path == "model"


@pytest.mark.parametrize("limit", [-1, 8e3, "8000", True])
def test_a_limit_that_is_no_whole_number_is_an_invalid_budget(limit: Any) -> None:
    with pytest.raises(InvalidBudgetError, match="context_limit"):
        resolve_model("acme-1", catalogue=SHIPPED, context_limit=limit)


@given(st.text(min_size=1, max_size=200).filter(lambda name: SHIPPED.find(name) is None))
def test_every_unknown_name_is_refused_in_printable_words_or_takes_the_limit(name: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        resolve_model(name, catalogue=SHIPPED, context_limit=None)
    assert str(caught.value).isprintable()
    row = resolve_model(name, catalogue=SHIPPED, context_limit=8_000)
    assert (row.name, row.context_limit, row.known) == (name, 8_000, False)


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-4-32k", "cl100k_base"),
        ("gpt-4@default", "cl100k_base"),
        ("gpt-3.5-turbo-0613", "cl100k_base"),
        ("gpt-35-turbo", "cl100k_base"),
        ("ft:gpt-4:acme::1", "cl100k_base"),
        ("openai/gpt-4-turbo", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("gpt-4.5-preview", "o200k_base"),
        ("GPT-5.6", "o200k_base"),
        ("gpt-7-sol", "o200k_base"),
        ("gpt-oss-120b", "o200k_base"),
        ("openai/gpt-oss:20b", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("codex-mini-latest", "o200k_base"),
        ("o1", "o200k_base"),
        ("o5-pro", "o200k_base"),
        ("ft:gpt-4.1:acme::1", "o200k_base"),
        ("deepseek-v5", "deepseek"),
        ("deepseek-ai/DeepSeek-V3", "deepseek"),
        ("deepseek-r1-distill-llama-70b", "approximate-v1"),
        ("gpt-2", "approximate-v1"),
        ("gpt-j-6b", "approximate-v1"),
        ("gpt-neox-20b", "approximate-v1"),
        ("omni-1", "approximate-v1"),
        ("olmo-2", "approximate-v1"),
        ("claude-opus-9", "approximate-v1"),
        ("gemini-5-xenon", "approximate-v1"),
        ("llama-4", "approximate-v1"),
        ("", "approximate-v1"),
    ],
)
def test_the_encoding_is_guessed_from_the_prefix(name: str, encoding: str) -> None:
    assert guess_encoding(name) == encoding


def extracted(entries: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    script = refresh_script()
    siblings = {sibling: entry("openai", 1_000, 100) for sibling in script.ADDED.values()}
    return {row["name"]: row for row in script.extract({**siblings, **entries})}


@pytest.mark.parametrize(
    ("name", "provider", "room", "output", "limits"),
    [
        ("gpt-a", "openai", 272_000, 128_000, (400_000, 272_000)),
        ("gpt-b", "openai", 922_000, 128_000, (1_050_000, 922_000)),
        ("gpt-c", "openai", 1_050_000, 128_000, (1_050_000, None)),
        ("chatgpt/gpt-d", "chatgpt", 922_000, 128_000, (1_050_000, 922_000)),
        ("chatgpt/gpt-e", "chatgpt", 128_000, 128_000, (128_000, None)),
        ("gemini-3-f", "gemini", 1_048_576, 65_536, (1_114_112, 1_048_576)),
        ("gemini-4-g", "gemini", 1_048_576, 1_048_576, (1_048_576, None)),
        ("gemma-h", "gemini", 131_072, 8_192, (131_072, None)),
        ("claude-i", "anthropic", 272_000, 128_000, (272_000, None)),
        ("deepseek-j", "deepseek", 1_000_000, None, (1_000_000, None)),
    ],
)
def test_input_room_is_told_apart_from_the_window(
    name: str, provider: str, room: int, output: int | None, limits: tuple[int, int | None]
) -> None:
    row = extracted({name: entry(provider, room, output)})[name]
    assert (row["context_limit"], row["max_input"]) == limits
    assert row["max_output"] == output


def test_only_chat_models_of_the_five_providers_with_a_limit_are_kept() -> None:
    kept = extracted(
        {
            "gpt-chat": entry("openai", 1_000, 100),
            "gpt-responses": entry("openai", 1_000.0, 100.0, mode="responses"),
            "gpt-embedding": entry("openai", 1_000, 100, mode="embedding"),
            "gpt-without-figures": entry("openai", None, None),
            "azure/gpt-chat": entry("azure", 1_000, 100),
            "sample_spec": {"litellm_provider": "one of ...", "max_input_tokens": "a number"},
        }
    )
    script = refresh_script()
    assert set(kept) - set(script.ADDED) - set(script.ADDED.values()) == {"gpt-chat", "gpt-responses"}
    assert kept["gpt-responses"]["context_limit"] == 1_000
    assert type(kept["gpt-responses"]["context_limit"]) is int


def test_of_two_entries_for_one_bare_id_the_tighter_stays() -> None:
    for names in (("gemini-x", "gemini/gemini-x"), ("gemini/gemini-x", "gemini-x")):
        row = extracted({names[0]: entry("gemini", 2_000, 10), names[1]: entry("gemini", 1_000, 500)})["gemini-x"]
        assert row["max_input"] == 1_000


def test_an_added_model_gives_way_to_a_row_of_the_source() -> None:
    rows = extracted({"gpt-6-astra": entry("openai", 922_000, 128_000), "gpt-6.2-sol": entry("openai", 5_000, 50)})
    assert rows["gpt-6.2-astra"]["max_input"] == 922_000
    assert rows["gpt-6.2-sol"]["context_limit"] == 5_000


def test_the_shipped_file_is_what_the_script_writes() -> None:
    data = data_file()
    header = data["header"]
    written = refresh_script().render(
        data["models"], version=header["sourceVersion"], retrieved=header["retrieved"]
    )
    assert written == (files("trimtab") / "data" / "models.json").read_text(encoding="utf-8")
