"""Words of a plugin that people will read: without control characters, and short."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

MAX_CHARS = 500
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_MAX_NAME = 80
# A class of a plugin may answer for its own name; this asks past it.
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__


def clean_note(text: str) -> str:
    """Give `text` with control, format and private characters replaced by blanks, cut to 500 characters."""
    shown = "".join(" " if unicodedata.category(char) in _HIDDEN else char for char in text[: 2 * MAX_CHARS])
    shown = " ".join(shown.split())
    return shown if len(shown) <= MAX_CHARS else shown[: MAX_CHARS - 1] + "…"


def class_name(value: object) -> str:
    """Give the name of a value's class, likewise; none of the class's own code runs."""
    return clean_note(_name_of(type(value))[:_MAX_NAME])
