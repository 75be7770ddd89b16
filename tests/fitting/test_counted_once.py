"""Each text is tokenized once: a tokenizer that keeps a list proves it."""

from __future__ import annotations

from collections import Counter

import pytest

import trimtab
from talks import Chat, talk, turn
from trimtab_sdk import Tokenizer


class Listing:
    """A tokenizer that notes what it is asked."""

    profile = "listing"
    version = "1"
    approximate = False

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def count(self, text: str) -> int:
        self.asked[text] += 1
        return max(1, len(text) // 4)


@pytest.fixture
def listing() -> Listing:
    return Listing()


def options(tokenizer: Tokenizer, limit: int) -> dict[str, object]:
    registry = trimtab.ContextStrategyRegistry()
    registry.register_tokenizer("listing", tokenizer)
    config = trimtab.Config(models={"m": {"encoding": "listing", "context_limit": limit}})
    return {"model": "m", "registry": registry, "config": config, "format": "neutral", "reserve": 0}


def big_talk() -> Chat:
    calls = {
        "id": "c",
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "x", "name": "f", "arguments": {}}],
    }
    return [
        *talk(40)[:-1],
        calls,
        {"id": "r", "role": "tool", "tool_call_id": "x", "content": "found"},
        turn("end"),
    ]


@pytest.mark.parametrize("strategy", ["truncate", "manual"])
def test_a_fit_asks_for_each_text_once(listing: Listing, strategy: str) -> None:
    result = trimtab.fit(big_talk(), strategy=strategy, **options(listing, 900))  # type: ignore[arg-type]
    assert result.excluded
    assert set(listing.asked.values()) == {1}


def test_a_second_fit_and_more_turns_ask_for_what_is_new_alone(listing: Listing) -> None:
    chat = big_talk()
    talking = trimtab.Conversation(chat, **options(listing, 900))  # type: ignore[arg-type]
    talking.fit()
    known = set(listing.asked)
    for at in range(6):
        talking.append(turn(f"a{at}", "assistant", f"answer {at}"), turn(f"u{at}", "user", f"question {at}"))
        talking.fit()
    fresh = set(listing.asked) - known
    assert fresh == {f"answer {at}" for at in range(6)} | {f"question {at}" for at in range(6)}
    assert set(listing.asked.values()) == {1}


@pytest.mark.parametrize("strategy", ["summarize", "vector-recall"])
def test_a_strategy_that_counts_asks_a_store_of_its_own_and_each_text_once(
    listing: Listing, strategy: str
) -> None:
    trimtab.fit(big_talk(), strategy=strategy, **options(listing, 900))  # type: ignore[arg-type]
    assert max(listing.asked.values()) <= 2
