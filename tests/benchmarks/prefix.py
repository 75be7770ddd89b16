"""Print how much of each request a provider's prefix cache has seen before, over 300 turns in a small window.

    python tests/benchmarks/prefix.py

Beside a `Conversation`, which carries the accepted edit, stands a plain `fit` each turn, which cuts anew.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import judge
import trimtab

TURNS = 300
SHARE = 0.25
WORDS = ["quay", "clerk", "crate", "mark", "hour", "gate", "tide", "ledger", "weighed", "berth"]
Chat = list[dict[str, Any]]


def turn(rng: random.Random) -> Chat:
    """Give an answer and the next question, of some dozens of words."""
    return [
        {"role": role, "content": " ".join(rng.choices(WORDS, k=rng.randint(10, most)))}
        for role, most in (("assistant", 120), ("user", 40))
    ]


def cached_share(requests: list[Chat]) -> float:
    """Give the share of all input tokens that stand in a prefix of the request before."""
    seen = total = 0
    before: Chat = []
    for request in requests:
        costs = [judge.message_tokens(message) for message in request]
        same = 0
        for message, old in zip(request, before, strict=False):
            if message != old:
                break
            same += 1
        seen += sum(costs[:same])
        total += sum(costs)
        before = request
    return seen / total


def run(strategy: str, *, carried: bool, length: int = TURNS) -> float:
    """Give the cached share of a chat of `length` turns, in a window of a quarter of what it comes to."""
    rng = random.Random(7)
    turns = [turn(rng) for _ in range(length)]
    chat: Chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}]
    whole = judge.request_tokens([*chat, *(one for pair in turns for one in pair)])
    options: dict[str, Any] = {"model": "gpt-4.1", "context_limit": int(whole * SHARE), "reserve": 0}
    options |= {"strategy": strategy, "format": "chat-completions"}
    talking = trimtab.Conversation(chat, **options)
    fit: Callable[[], trimtab.Fit] = talking.fit if carried else lambda: trimtab.fit(chat, **options)
    requests: list[Chat] = []
    for pair in turns:
        talking.append(*pair)
        chat += pair
        requests.append([*fit().messages])  # type: ignore[list-item]
    return cached_share(requests)


def main() -> None:
    """Print the table."""
    print("share of input tokens that the prefix cache holds    Conversation    plain fit each turn")
    for strategy in ("truncate", "summarize", "vector-recall"):
        print(f"{strategy:52} {run(strategy, carried=True):12.2f} {run(strategy, carried=False):22.2f}")


if __name__ == "__main__":
    main()
