"""How servers say that a conversation is too long: by a code, by a sentence, and sometimes with the figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_SAYS = re.compile(
    r"maximum context length|(context|sequence)[ _-]?(length|window|size)[^.]{0,60}(exceed|too (long|large)|limit)"
    r"|(exceed|longer than|too (long|large) for)[^.]{0,80}context|prompt is too long"
    r"|input token count[^.]{0,40}exceed|input tokens exceed|reduce the length of the (messages|prompt|input)"
    r"|tokens[^.]{0,60}must be <="
)
_COUNT = r"(\d{1,12})"
_ALLOWED = (
    re.compile(rf"maximum (?:context length|number of tokens)(?: allowed)?(?: of| is|:)? ?\(?{_COUNT}"),
    re.compile(rf"context (?:length|window|size|limit)(?: of| is|:)? ?\(?{_COUNT}"),
    re.compile(rf"configured limit of {_COUNT}"),
    re.compile(rf"model with {_COUNT} maximum context length"),
    re.compile(rf"tokens > {_COUNT} maximum"),
    re.compile(rf"must be <= ?{_COUNT}"),
)
_NEEDED = (
    re.compile(rf"requested (?:a total of |about )?{_COUNT}"),
    re.compile(rf"resulted in {_COUNT}"),
    re.compile(rf"(?:request|input|prompt)(?: token count)? \({_COUNT}"),
    re.compile(rf"(?:request has|prompt contains|prompt is too long:) {_COUNT}"),
)
_MOST_READ = 2_000


class Overflow(NamedTuple):
    """Tokens that fit, and tokens that were sent, as far as a server tells them."""

    allowed: int | None = None
    needed: int | None = None


def says_too_long(sentence: str) -> bool:
    """Tell whether an error's sentence says that the conversation does not fit."""
    return _SAYS.search(_prepared(sentence)) is not None


def figures_of(sentence: str) -> Overflow:
    """Give the figures in such a sentence; what cannot be is left out."""
    text = _prepared(sentence)
    allowed, needed = _first(_ALLOWED, text), _first(_NEEDED, text)
    if allowed is not None and needed is not None and needed <= allowed:
        # Such a sentence counts the input alone, beside an answer that has no room.
        return Overflow(allowed)
    return Overflow(allowed, needed)


def _prepared(sentence: str) -> str:
    return re.sub(r"(?<=\d),(?=\d{3})", "", sentence[:_MOST_READ].lower())


def _first(patterns: Iterable[re.Pattern[str]], text: str) -> int | None:
    found = (pattern.search(text) for pattern in patterns)
    return next((int(match[1]) for match in found if match and int(match[1]) > 0), None)
