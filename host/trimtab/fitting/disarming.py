"""Texts that only look like labels: in other letters or brackets, with invisible characters, written backwards.

The label tells the model who speaks. A plugin must not be able to write one that a reader takes for another's, so
a text is looked at the way it is seen.
"""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = "\0"
_UNSEEN_KINDS = frozenset({"Cc", "Cf", "Mn", "Me"})
# The letters of the words below, and how Cyrillic, Greek and a few others draw them.
_DRAWN = {
    "a": "аα",
    "b": "ƅ",
    "d": "ԁ",
    "e": "еє",
    "f": "ꞙ",
    "g": "ɡց",
    "i": "іιıɩ",
    "l": "ӏǀʟ",
    "m": "мᴍ",
    "n": "ոη",
    "o": "оοσօ",
    "p": "рρ",
    "r": "гʀ",
    "s": "ѕꜱ",
    "t": "тτ",
    "u": "υսц",
    "y": "уүγ",
}
_LOOKS_LIKE = {other: letter for letter, others in _DRAWN.items() for other in others}
_OPENING = dict.fromkeys("[［⁅【〔〖〘〚⟦⦋❲﹝⁽｢「『", "[")
_TURNING = "\u202d\u202e"


def _spelled(*words: str) -> str:
    return rf"{_UNSEEN}*".join(letter for word in words for letter in word)


_WORDS = "|".join(_spelled(word) for word in ("plugin", "summary", "trimtab"))
_GAP = r"[^\w\[]"
_LOOKALIKE = re.compile(
    rf"\[(?={_GAP}*(?:{_spelled('end')}{_GAP}+{_spelled('of')}{_GAP}+)?(?:{_WORDS})(?:\W|_|$))", re.ASCII
)


def disarmed(text: str) -> str:
    """Give a text of a plugin in which nothing looks like a label; whatever does has a round bracket then.

    Characters that turn the direction of what follows are left out: what they hide cannot be seen otherwise.
    Takes time linear in the text.
    """
    if text.isascii():
        return text
    if any(mark in text for mark in _TURNING):
        text = text.translate(dict.fromkeys(map(ord, _TURNING)))
    seen = text.translate({ord(one): _as_seen(one) for one in set(text)})
    places = [found.start() for found in _LOOKALIKE.finditer(seen)]
    if not places:
        return text
    letters = list(text)
    for place in places:
        letters[place] = "("
    return "".join(letters)


def _as_seen(one: str) -> str:
    """One character for one character, so that places stay the same."""
    if one in "\n\t\r":
        return one
    if unicodedata.category(one) in _UNSEEN_KINDS:
        return _UNSEEN
    plain = unicodedata.normalize("NFKD", one)[0].casefold()[0]
    return _OPENING.get(one) or _OPENING.get(plain) or _LOOKS_LIKE.get(plain, plain)
