"""Hand-written requests: each is what a server takes, comes back as it was, and stays valid in every budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trimtab
from gemini_wire import content_faults, step_faults
from trimtab_plugins.codecs.gemini_contents import GeminiContents
from trimtab_plugins.codecs.gemini_interactions import GeminiInteractions
from trimtab_sdk import Recognition, TokenBudgetExceededError

FILES = sorted((Path(__file__).parent / "gemini_files").glob("*.json"))
CODECS: dict[str, GeminiContents | GeminiInteractions] = {
    "contents": GeminiContents(),
    "interactions": GeminiInteractions(),
}
JUDGES = {"contents": content_faults, "interactions": step_faults}
MODEL = "gemini-2.5-flash"


def load(path: Path) -> tuple[str, Any]:
    return path.name.partition("-")[0], json.loads(path.read_text("utf-8"))


def registry() -> trimtab.ContextStrategyRegistry:
    own = trimtab.ContextStrategyRegistry()
    for codec in CODECS.values():
        own.register_codec(codec.name, codec, replace=True)
    return own


def fit(kind: str, data: object, limit: int) -> trimtab.Fit:
    return trimtab.fit(
        data, model=MODEL, context_limit=limit, reserve=0, format=CODECS[kind].name, registry=registry()
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_judge_takes_the_file(path: Path) -> None:
    kind, data = load(path)
    assert JUDGES[kind](data) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_is_recognized_by_its_own_codec_alone(path: Path) -> None:
    kind, data = load(path)
    marks = {name: codec.recognize(data) for name, codec in CODECS.items()}
    assert marks.pop(kind) >= Recognition.MAYBE
    assert set(marks.values()) == {Recognition.NO}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_needs_no_repair_and_comes_back_equal(path: Path) -> None:
    kind, data = load(path)
    codec = CODECS[kind]
    decoded = codec.decode(data)
    adapted = codec.adapt(decoded.messages, decoded.originals, protected=())
    assert (adapted.messages, adapted.left_out, adapted.repairs) == (decoded.messages, {}, ())
    encoded = codec.encode(adapted.messages, decoded.originals)
    assert (encoded.request if isinstance(data, dict) else encoded.messages) == data
    assert (encoded.request is None) == isinstance(data, list)
    assert decoded.uncounted == ()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_left_of_the_file_in_any_budget_is_valid(path: Path) -> None:
    kind, data = load(path)
    total = fit(kind, data, 1_000_000).tokens_before
    fitted = 0
    for limit in range(max(1, total // 12), total * 3 // 2, max(1, total // 12)):
        try:
            done = fit(kind, data, limit)
        except TokenBudgetExceededError:
            continue
        fitted += 1
        assert JUDGES[kind](done.messages if done.request is None else done.request) == []
        entries = (*done.kept, *done.truncated, *done.inserted)
        assert sum(entry.tokens for entry in entries) + done.overhead == done.tokens_after <= limit
    assert fitted


def test_the_files_cover_both_wires() -> None:
    assert {load(path)[0] for path in FILES} == {"contents", "interactions"}
    assert len(FILES) >= 13
