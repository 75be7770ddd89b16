"""Tokens without a vocabulary: an estimate from scripts and shapes, and a floor under every honest count.

The estimate adds up kinds of characters and of neighbours, each with a weight fitted to `o200k_base` over 160
texts: prose in 80 languages, code, logs, tables. A little over is meant. Measured on everyday prose and code,
estimate over count:

    English 1.04, Spanish 1.05, French 1.15, German 1.17, Portuguese 1.18, Italian 1.03, Dutch 1.03
    Polish 1.15, Czech 1.07, Hungarian 1.01, Turkish 1.17, Swahili 1.17, Indonesian 1.26, Vietnamese 1.30
    Russian 1.19, Ukrainian 0.97, Greek 1.04, Arabic 1.08, Persian 1.03, Hebrew 1.04, Georgian 1.03
    Hindi 1.04, Bengali 1.04, Tamil 1.03, Thai 1.03, Chinese 1.17, Japanese 1.03, Korean 1.04
    Python 1.08, JavaScript 1.38, C 1.30, SQL 1.18, JSON 1.18, shell 1.03

A vocabulary with fewer words of a language needs more tokens for it: `cl100k_base` 1.2 times as many in most
Latin scripts, 1.6 times in Russian, 3 to 5 times in the scripts of India and the Caucasus.
"""

from __future__ import annotations

from collections.abc import Callable

_BLOCK = 32_768
_DENSE = 8  # what has a token for every eight characters is above the floor
_CONTINUATION = bytes(range(0x80, 0xC0))


class ApproximateV1:
    """The profile `approximate-v1`: an estimate for any text, in linear time and bounded memory."""

    profile = "approximate-v1"
    version = "1"
    approximate = True

    def count(self, text: str) -> int:
        """Give 0 for the empty text, else at least 1 and its floor, and at most the text's bytes in UTF-8."""
        estimate = 0.0
        size = 0
        for start in range(0, len(text), _BLOCK):
            block = text[start : start + _BLOCK]
            data = block.encode("utf-8", "replace")
            kinds = data.translate(_KINDS, _CONTINUATION)
            estimate += _shapes(kinds) + _words(block, kinds)
            if not block.isascii():
                estimate += _scripts(data)
            size += len(data)
        count = round(estimate)
        if count * _DENSE < len(text):
            count = max(count, floor_tokens(text))
        return min(size, max(1, count)) if text else 0


def floor_tokens(text: str) -> int:
    """Give a count that no honest tokenizer falls below: 0 for the empty text, else at least 1.

    Two bounds, the higher counts. By the first, a character weighs its share of the longest tokens there are,
    as 128 blanks or 20 Thai letters; no token of `o200k_base`, `cl100k_base` or DeepSeek weighs more than 1, so
    the bound holds however a text is cut. By the second, no token opens more than four words.
    """
    if not text:
        return 0
    data = text.encode("utf-8", "ignore").translate(_FLOOR_KINDS, _CONTINUATION)
    weight = sum(share * data.count(kind) for kind, share in _FLOOR_SHARES)
    words = (b" " + data.translate(_GAPS)).count(b" x")
    return max(-(-weight // _FLOOR_UNIT), -(-words // 4), 1)


def _table(kind: Callable[[int], str]) -> bytes:
    return "".join(kind(byte) for byte in range(256)).encode("ascii")


def _floor_kind(byte: int) -> str:
    if byte >= 0x80:
        ends = (
            (0xCA, "l"),
            (0xE0, "h"),
            (0xE1, "t"),
            (0xE2, "g"),
            (0xE3, "t"),
            (0xEA, "h"),
            (0xEE, "k"),
            (0xF0, "h"),
        )
        return next((kind for end, kind in ends if byte < end), "c")
    letter = chr(byte)
    if letter.isalpha():
        return "l"
    if letter.isdigit():
        return "d"
    if letter in " \t\n\v\f\r":
        return " " if letter == " " else "n"
    return "." if letter.isprintable() else "c"


_FLOOR_UNIT = 128
_FLOOR_SHARES = (
    (b" ", 1),
    (b".", 1),
    (b"l", 2),
    (b"n", 4),
    (b"t", 6),  # Thai, Indic scripts, dashes
    (b"h", 7),  # Chinese, kana, Cyrillic
    (b"g", 8),  # Georgian and its neighbours
    (b"d", 8),
    (b"k", 12),  # Hangul
    (b"c", 32),
)
_FLOOR_KINDS = _table(_floor_kind)
_GAPS = _table(lambda byte: " " if byte in b" n" else "x")


def _kind(byte: int) -> str:
    """Letters `a` and `A`, digits `0`, marks `.`; beyond ASCII by the first byte of a character."""
    if byte >= 0x80:
        ends = ((0xC0, "_"), (0xC3, "s"), (0xCA, "a"), (0xE0, "2"), (0xE2, "3"), (0xE3, "y"), (0x100, "3"))
        return next(kind for end, kind in ends if byte < end)
    letter = chr(byte)
    if letter.isalpha():
        return "A" if letter.isupper() else "a"
    if letter.isdigit():
        return "0"
    if letter in "\n\r":
        return "n"
    if letter in "\t\v\f":
        return "t"
    return " " if letter == " " else "." if letter.isprintable() else "c"


_KINDS = _table(_kind)
_SHAPES = (
    (b".", 0.78),
    (b"........", -2.4),
    (b"0", 0.73),
    (b"AA", 0.31),
    (b"AaA", 2.2),
    (b"aAA", 2.2),
    (b"n", 0.95),
    (b"nn", -0.89),
    (b"t", 0.25),
    (b"  ", 0.016),
    (b"c", 1.0),
    (b"s", 1.0),
    (b" 2", 0.6),
    (b" y", 0.8),
    (b"yy", -0.6),
)


def _shapes(kinds: bytes) -> float:
    """What marks, digits, gaps and unusual neighbours cost."""
    return sum(weight * kinds.count(shape) for shape, weight in _SHAPES)


_WORD = 0.87
_WORD_IN_A_LARGE_LANGUAGE = 0.24
_LETTER = 0.21
_LETTER_IN_ENGLISH = 0.05
_LETTER_AFTER_A_MARK = 0.2
_WORDS_ONLY = bytes.maketrans(b"Ant", b"a  ")


def _words(block: str, kinds: bytes) -> float:
    """What words in Latin letters cost: less in the languages that vocabularies are made of."""
    shape = b" " + kinds.translate(_WORDS_ONLY)
    english, large = _shares(block)
    word = _WORD - (_WORD - _WORD_IN_A_LARGE_LANGUAGE) * large
    letter = _LETTER - (_LETTER - _LETTER_IN_ENGLISH) * english
    marked = shape.count(b".a") + shape.count(b"0a")
    return word * shape.count(b" a") + letter * shape.count(b"a") + _LETTER_AFTER_A_MARK * marked


def _words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SAMPLE = 1024
_SAMPLE_EVERY = 8192
_CHARACTERS_PER_WORD = 6
_SURE_SHARE = 0.16
_BEFORE_LOOKING = 0.36
_ENGLISH = _words_of("""
    the of and that is it you for with this be not have to what if can your or return as from we they but my are
""")
_LARGE = _words_of("""
    de que el los las del una por con para não com uma os um les des et dans pour est pas du qui le
    der und das nicht ein den ist ich auf sich mit von zu van het een dat niet op
    yang dan untuk dengan tidak dari ini itu
""")
_MIDDLING = _words_of("""
    di che per della sono il och att det som og ikke ve bir bu için ja ei on că și să care nu este
""")


def _shares(block: str) -> tuple[float, float]:
    """How much of a block looks English, and how much like another large language: at most 1 together.

    Small words tell, in samples. A text too short to tell counts as English.
    """
    sample = " ".join(block[at : at + _SAMPLE] for at in range(0, len(block), _SAMPLE_EVERY)).lower()
    words = sample.split()
    enough = _SURE_SHARE * (1 + len(sample) / _CHARACTERS_PER_WORD)
    english = min(1.0, (_BEFORE_LOOKING + sum(word in _ENGLISH for word in words)) / enough)
    large = sum(word in _LARGE for word in words) + sum(word in _MIDDLING for word in words) / 2
    return english, min(1.0 - english, large / enough)


_COSTS_BY_FIRST_BYTE = (
    (0xC3, 0xC9, 0.5),  # Latin with accents, besides what every letter costs
    (0xCA, 0xCC, 1.3),
    (0xCD, 0xCF, 0.35),  # Greek
    (0xD0, 0xD1, 0.28),  # Cyrillic
    (0xD2, 0xD2, 0.5),  # its letters for other languages
    (0xD3, 0xD3, 1.3),
    (0xD4, 0xD5, 0.32),  # Armenian
    (0xD6, 0xD7, 0.34),  # Hebrew
    (0xD8, 0xDB, 0.31),  # Arabic
    (0xDC, 0xDF, 1.3),
    (0xE0, 0xE0, 1.3),
    (0xE1, 0xE1, 2.8),
    (0xE2, 0xE2, 0.82),  # punctuation, symbols
    (0xE3, 0xE3, 0.74),  # kana
    (0xE4, 0xE9, 0.93),  # Chinese characters
    (0xEA, 0xEA, 2.9),
    (0xEB, 0xED, 0.79),  # Hangul
    (0xEE, 0xEF, 1.45),
    (0xF0, 0xF4, 3.5),
)
_COSTS_BY_TWO_BYTES = (
    (0xE0, 0xA4, 0xA5, 0.38),  # Devanagari
    (0xE0, 0xA6, 0xA7, 0.44),  # Bengali
    (0xE0, 0xA8, 0xA9, 0.65),  # Gurmukhi
    (0xE0, 0xAA, 0xAB, 0.42),  # Gujarati
    (0xE0, 0xAE, 0xAF, 0.37),  # Tamil
    (0xE0, 0xB0, 0xB1, 0.49),  # Telugu
    (0xE0, 0xB2, 0xB3, 0.44),  # Kannada
    (0xE0, 0xB4, 0xB5, 0.36),  # Malayalam
    (0xE0, 0xB6, 0xB7, 0.65),  # Sinhala
    (0xE0, 0xB8, 0xB9, 0.44),  # Thai
    (0xE0, 0xBA, 0xBB, 1.94),  # Lao
    (0xE1, 0x80, 0x81, 0.58),  # Burmese
    (0xE1, 0x83, 0x83, 0.41),  # Georgian
    (0xE1, 0x88, 0x8D, 2.1),  # Ethiopic
    (0xE1, 0x9E, 0x9F, 0.65),  # Khmer
    (0xE1, 0xBA, 0xBB, 0.3),  # Vietnamese
    (0xE2, 0xB0, 0xB7, 2.7),  # Tifinagh and other old scripts
    (0xEA, 0xB0, 0xBF, 0.79),  # Hangul
    (0xF0, 0x9F, 0x9F, 2.1),  # emoji
)
_COSTS = {bytes([byte]): cost for first, last, cost in _COSTS_BY_FIRST_BYTE for byte in range(first, last + 1)}
_PAIRS = {
    lead: tuple(
        (bytes([first, second]), cost - each)
        for first, start, end, cost in _COSTS_BY_TWO_BYTES
        for second in range(start, end + 1)
        if first == lead[0]
    )
    for lead, each in _COSTS.items()
}
_RUSSIAN_DISCOUNT = 0.05
_RUSSIAN_SHARE = 0.012


def _scripts(data: bytes) -> float:
    """What characters outside ASCII cost, by the first byte or two of their encoding."""
    cost = 0.0
    for lead, each in _COSTS.items():
        found = data.count(lead)
        if found:
            cost += each * found + sum(more * data.count(pair) for pair, more in _PAIRS[lead])
    return cost - _cheaper_in_russian(data)


def _cheaper_in_russian(data: bytes) -> float:
    """What Russian costs less than its neighbours; it has ы, and no і."""
    letters = data.count(b"\xd0") + data.count(b"\xd1")
    signs = data.count("ы".encode()) - data.count("і".encode())
    return _RUSSIAN_DISCOUNT * min(letters, max(0.0, signs / _RUSSIAN_SHARE))
