"""Text as an engine takes it."""

from __future__ import annotations


def encodable(text: str) -> str:
    """Give a text that can be encoded in UTF-8, as tiktoken does it.

    Surrogates that make a pair become the character they stand for, lone ones U+FFFD. Other text comes back
    as it is.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
