"""Words of a plugin that run over many lines, for people to read: without control characters, and bounded."""

from __future__ import annotations

MOST_LINES = 40
MOST_LINE_CHARS = 300
_MOST_CHARS = 2 * MOST_LINES * MOST_LINE_CHARS


def clean_trace(text: str) -> str:
    """Give the last lines of a traceback or of what a plugin printed, each with its indent."""
    lines = text[-_MOST_CHARS:].rstrip().split("\n")
    shown = [_clean_line(line) for line in lines[-MOST_LINES:]]
    return "\n".join(shown if len(lines) <= MOST_LINES else ["…", *shown])


def _clean_line(line: str) -> str:
    from trimtab.fitting.cleaning import clean_note

    indent = len(line) - len(line.lstrip(" "))
    return " " * min(indent, MOST_LINE_CHARS) + clean_note(line[:MOST_LINE_CHARS])
