"""Words of a plugin that people will read: without control characters, and short."""

from __future__ import annotations

import unicodedata

MAX_CHARS = 500
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def clean_note(text: str) -> str:
    """Give `text` with control, format and private characters replaced by blanks, cut to 500 characters."""
    shown = "".join(" " if unicodedata.category(char) in _HIDDEN else char for char in text[: 2 * MAX_CHARS])
    shown = " ".join(shown.split())
    return shown if len(shown) <= MAX_CHARS else shown[: MAX_CHARS - 1] + "…"
