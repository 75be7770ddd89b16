"""Words about a failure for a model: short, without control characters and without places on this machine."""

from __future__ import annotations

import re
import unicodedata

from trimtab.fitting.cleaning import class_name

MOST_CHARS = 2000
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_ROOT = r"(?:file://)?(?:~|[A-Za-z]:)?[/\\]"
_QUOTED_PATH = re.compile(rf"""(?P<mark>['"]){_ROOT}[^'"\n]*?(?P<last>[^'"\n/\\]*)(?P=mark)""")
_BARE_PATH = re.compile(rf"""(?<![\w.:/\\~-]){_ROOT}(?:[^\s/\\'"<>|:;,()]+[/\\]+)+""")


def clean_text(text: str, most: int = MOST_CHARS) -> str:
    """Give `text` without control, format and private characters but line breaks, cut to `most` characters."""
    text = text[: 2 * most]
    shown = "".join(char if char == "\n" or unicodedata.category(char) not in _HIDDEN else " " for char in text)
    shown = shown.strip()
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def one_line(text: str, most: int) -> str:
    """Give `text` likewise, in one line."""
    return clean_text(" ".join(text[: 2 * most].split()), most)


def error_text(error: BaseException) -> str:
    """Give class and message of an error for the model: no traceback, and of a path its last name alone."""
    message = clean_text(without_paths(_message(error)))
    name = class_name(error)
    return clean_text(f"{name}: {message}" if message else name)


def without_paths(text: str) -> str:
    """Give `text` with the folders taken out of every absolute path."""
    text = text[: 4 * MOST_CHARS]
    return _BARE_PATH.sub("…/", _QUOTED_PATH.sub(r"\g<mark>…/\g<last>\g<mark>", text))


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the message of an error is somebody's code, too
        return ""
