"""Neutral conversations for tests, and a short way to fit them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import trimtab
from trimtab_sdk import Edit, Insert

Chat = list[dict[str, Any]]
WORDS = "The quay clerk wrote down each crate, its mark and the hour it was weighed. "


def turn(id: str, role: str = "user", text: str | None = None, **keys: object) -> dict[str, Any]:
    """A neutral message; without a text it gets a few dozen words of its own."""
    return {"id": id, "role": role, "content": f"{id}: {WORDS * 2}" if text is None else text, **keys}


def talk(turns: int = 8) -> Chat:
    """A system message, `turns` messages that end in a user message, all of about the same length."""
    roles = ["user", "assistant"] if turns % 2 else ["assistant", "user"]
    return [turn("s", "system", "Be brief."), *(turn(f"m{at}", roles[at % 2]) for at in range(turns))]


def count(chat: Chat) -> int:
    """The cost of a request with just these messages."""
    return fit(chat, 1_000_000).tokens_before


def fit(chat: object, limit: int, **options: Any) -> trimtab.Fit:
    """Fit with nothing kept in reserve, counted with o200k_base."""
    return trimtab.fit(
        chat, **{"model": "gpt-4.1", "context_limit": limit, "reserve": 0, "format": "neutral", **options}
    )


def ids(entries: Sequence[trimtab.Entry]) -> list[str]:
    """The ids of report entries."""
    return [entry.id for entry in entries]


def codes(result: trimtab.Fit) -> list[str]:
    """The codes of the diagnostics."""
    return [diagnostic.code for diagnostic in result.diagnostics]


def insert(text: str, anchor: str = "before_input", **keys: Any) -> Edit:
    """An edit that inserts one text."""
    return Edit(insert=[Insert(text, anchor, **keys)])
