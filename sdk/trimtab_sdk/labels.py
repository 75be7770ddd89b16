"""How a plugin's text is labelled for the model, and how the label is known again.

The host writes the labels. A codec that reads a conversation back, and a strategy that merges summaries, read
them.
"""

from __future__ import annotations

import re
from typing import Literal

_SUMMARY = "summary of earlier messages by plugin"
_PLUGIN = "plugin"
_LABELLED = re.compile(
    rf"\[(?P<what>{_SUMMARY}|{_PLUGIN}) (?P<plugin>[a-z0-9][a-z0-9._-]{{0,63}})\]\n(?P<body>.*)"
    r"\n\[end of plugin (?P=plugin)\]",
    re.DOTALL,
)
_LOOKALIKE = re.compile(r"\[(?=[^\w\[]*(?:end\W+of\W+)?(?:plugin|summary|trimtab)\b)", re.IGNORECASE)


def labelled(text: str, *, plugin: str, summary: bool) -> str:
    """Give a plugin's text between labels that name its origin; look-alikes of the labels inside are disarmed."""
    body = _LOOKALIKE.sub("(", text)
    return f"[{_SUMMARY if summary else _PLUGIN} {plugin}]\n{body}\n[end of plugin {plugin}]"


def labelled_source(text: str) -> Literal["summary", "plugin"] | None:
    """Tell what a labelled text is: a summary, another text of a plugin, or None for any other text."""
    if not text.startswith("["):
        return None
    match = _LABELLED.fullmatch(text)
    if match is None:
        return None
    return "summary" if match["what"] == _SUMMARY else "plugin"


def without_label(text: str) -> str:
    """Give a labelled text without its labels; any other text as it is."""
    match = _LABELLED.fullmatch(text)
    return text if match is None else match["body"]
