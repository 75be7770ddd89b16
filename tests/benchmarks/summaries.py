"""Print how many topics of a long chat a summary of 400 words still mentions, beside two yardsticks.

    python tests/benchmarks/summaries.py

A topic counts when at least 30 % of its key words are there. The yardsticks keep the oldest and the newest
sentences that fit. The figure to reach is 0.34.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.dialogues import LANGUAGES, Chat, joined_dialogues, topics_kept, words
from trimtab_sdk import Message, link_groups, plain_text
from trimtab_strategies.sentences import split_sentences
from trimtab_strategies.summary import Means, summarize

ROOM = 400
SEEDS = range(10)
MANY = 2_000


def ours(messages: Sequence[Message]) -> str:
    """Summarize as the strategy does, with words for tokens."""
    means = Means(words, words, lambda: None)
    summary = summarize(messages, link_groups(messages), means, most=ROOM)
    return summary.text if summary else ""


def oldest(messages: Sequence[Message]) -> str:
    """Keep the oldest sentences that fit."""
    return _first_that_fit(_sentences(messages))


def newest(messages: Sequence[Message]) -> str:
    """Keep the newest sentences that fit."""
    return _first_that_fit(_sentences(messages)[::-1])


def _sentences(messages: Sequence[Message]) -> list[str]:
    return [sentence for message in messages for sentence in split_sentences(plain_text(message))]


def _first_that_fit(sentences: Sequence[str]) -> str:
    kept: list[str] = []
    left = ROOM
    for sentence in sentences:
        left -= words(sentence)
        if left < 0:
            break
        kept.append(sentence)
    return "\n".join(kept)


def mean_topics_kept(method: Callable[[Sequence[Message]], str], language: str) -> float:
    """Give the share of topics kept by a method, as the mean over ten chats."""
    chats = [joined_dialogues(language, seed) for seed in SEEDS]
    return sum(topics_kept(chat, method(chat.messages)) for chat in chats) / len(chats)


def seconds_for_many(language: str) -> float:
    """Time a summary of 2,000 messages."""
    messages: list[Message] = []
    seed = 0
    while len(messages) < MANY:
        messages += joined_dialogues(language, seed).messages
        seed += 1
    start = time.perf_counter()
    ours(messages[:MANY])
    return time.perf_counter() - start


def _words_of(chat: Chat) -> int:
    return sum(words(plain_text(message)) for message in chat.messages)


def main() -> None:
    """Print the table."""
    print(f"topics kept in {ROOM} words    words     ours   oldest   newest   2,000 messages")
    for language in LANGUAGES:
        shares = [mean_topics_kept(method, language) for method in (ours, oldest, newest)]
        figures = "   ".join(f"{share:6.2f}" for share in shares)
        size = _words_of(joined_dialogues(language))
        print(f"{language:25}  {size:7}   {figures}   {seconds_for_many(language):8.2f} s")


if __name__ == "__main__":
    main()
