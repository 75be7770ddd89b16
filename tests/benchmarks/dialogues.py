"""Twenty dialogues joined to one long chat, with what a good summary of it should still mention."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from benchmarks.topics import CHATTER, FILLERS, STATEMENTS
from trimtab_sdk import Message, Role, Text

LANGUAGES = tuple(STATEMENTS)
_KEY_WORD = re.compile(r"_([^_]+)_")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_WORD = re.compile(r"[^\W\u4e00-\u9fff]+(?:[-'’][^\W\u4e00-\u9fff]+)*")
_HAN_PER_WORD = 1.5


@dataclass(frozen=True)
class Chat:
    """A chat of many topics. `key_words` holds those of each topic, in order."""

    messages: tuple[Message, ...]
    key_words: tuple[frozenset[str], ...]


def joined_dialogues(language: str, seed: int = 0) -> Chat:
    """Make a chat of 20 dialogues in a language: the topics shuffled, each statement among small talk.

    The same seed gives the same chat.
    """
    random = Random(seed)
    topics = [block.splitlines() for block in STATEMENTS[language].strip().split("\n\n")]
    random.shuffle(topics)
    texts = [text for topic in topics for text in _dialogue(topic, language, random)]
    roles: tuple[Role, Role] = ("user", "assistant")
    messages = tuple(Message(f"m{at}", roles[at % 2], (Text(text),)) for at, text in enumerate(texts))
    return Chat(messages, tuple(frozenset(_KEY_WORD.findall(" ".join(topic))) for topic in topics))


def _dialogue(statements: list[str], language: str, random: Random) -> list[str]:
    """Give the turns of a dialogue: a greeting, and every statement with small talk beside or behind it."""
    turns = [_small_talk(language, random)]
    for statement in statements:
        said = _KEY_WORD.sub(r"\1", statement)
        small = _small_talk(language, random)
        turns += random.choice([[said, small], [f"{small} {said}"], [f"{said} {small}"]])
    return turns


def _small_talk(language: str, random: Random) -> str:
    line = random.choice(CHATTER[language].strip().splitlines())
    return line.format_map({slot: random.choice(said.split()) for slot, said in FILLERS[language].items()})


def words(text: str) -> int:
    """Count the words of a text; one and a half Chinese characters are a word."""
    return len(_WORD.findall(text)) + round(len(_HAN.findall(text)) / _HAN_PER_WORD)


def topics_kept(chat: Chat, summary: str, *, share: float = 0.3) -> float:
    """Give the part of the topics of which a summary holds at least `share` of the key words."""
    kept = [sum(_mentions(summary, word) for word in topic) / len(topic) >= share for topic in chat.key_words]
    return sum(kept) / len(kept)


def _mentions(summary: str, word: str) -> bool:
    if _HAN.search(word):
        return word in summary
    return re.search(rf"\b{re.escape(word)}\b", summary, re.IGNORECASE) is not None
