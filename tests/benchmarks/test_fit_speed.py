"""What fitting costs, beside one tokenizer pass and the peers that are installed.

    python -m pytest tests/benchmarks --benchmark-enable --benchmark-group-by=param:messages

In an ordinary test run each is called once, to see that it works.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import judge
import trimtab
from benchmarks.peers import PEERS

SIZES = [100, 1_000, 10_000]
LINE = "The quay clerk wrote down crate {n}, its mark, its owner and the hour it was weighed at the gate. "
_fresh = itertools.count()


def conversation(messages: int) -> list[dict[str, Any]]:
    """Messages of over 500 bytes each, no two alike, and never the same twice."""
    seed = next(_fresh) * 1_000_000
    chat: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for at in range(messages):
        text = "".join(LINE.format(n=seed + at * 7 + line) for line in range(6))
        chat.append({"role": ("user", "assistant")[at % 2], "content": text})
    return [*chat, {"role": "user", "content": "And now?"}]


def quarter(chat: list[dict[str, Any]]) -> int:
    """A limit of about a quarter of what the conversation costs."""
    return max(200, 33 * len(chat))


def fit(chat: list[dict[str, Any]]) -> trimtab.Fit:
    return trimtab.fit(chat, model="gpt-4.1", context_limit=quarter(chat), reserve=0)


@pytest.mark.parametrize("messages", SIZES)
def test_tokenizer_pass(benchmark: BenchmarkFixture, messages: int) -> None:
    texts = [str(one["content"]) for one in conversation(messages)]
    encoding = judge.encoding("o200k_base")
    total = benchmark(lambda: sum(len(encoding.encode_ordinary(text)) for text in texts))
    assert total > messages


@pytest.mark.parametrize("messages", SIZES)
def test_cold_fit(benchmark: BenchmarkFixture, messages: int) -> None:
    def setup() -> tuple[tuple[list[dict[str, Any]]], dict[str, Any]]:
        return (conversation(messages),), {}

    result = benchmark.pedantic(fit, setup=setup, rounds=5)
    assert result.tokens_after <= result.budget.available


@pytest.mark.parametrize("messages", SIZES)
def test_warm_fit(benchmark: BenchmarkFixture, messages: int) -> None:
    chat = conversation(messages)
    fit(chat)
    result = benchmark(fit, chat)
    assert result.tokens_after <= result.budget.available


@pytest.mark.parametrize("messages", SIZES)
def test_next_turn(benchmark: BenchmarkFixture, messages: int) -> None:
    chat = conversation(messages)
    talking = trimtab.Conversation(chat, model="gpt-4.1", context_limit=quarter(chat), reserve=0)
    talking.fit()

    def turn() -> trimtab.Fit:
        talking.append({"role": "assistant", "content": "Noted."}, {"role": "user", "content": "Go on."})
        return talking.fit()

    result = benchmark.pedantic(turn, rounds=20)
    assert result.tokens_after <= result.budget.available


INSTALLED = [name for name in PEERS if importlib.util.find_spec(name)]

if INSTALLED:

    @pytest.mark.parametrize("messages", SIZES)
    @pytest.mark.parametrize("peer", INSTALLED)
    def test_peer(benchmark: BenchmarkFixture, messages: int, peer: str) -> None:
        chat = conversation(messages)
        trim: Callable[[], object] = PEERS[peer](chat, quarter(chat))
        assert benchmark(trim) is not None
