"""The contract of a tokenizer: a driver that counts texts in one vocabulary."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import ClassVar, cast

import pytest
from hypothesis import strategies as st

from trimtab.conformance.base import RecordProperty
from trimtab.conformance.corpus import corpus, prose, texts_in
from trimtab.conformance.driver_base import (
    Door,
    DriverContract,
    cost_in_seconds,
    growth_faults,
    outcome_of,
    shown,
)
from trimtab.fitting.approximate import floor_tokens
from trimtab_sdk.counting import Tokenizer

_MILLION = 1_000_000
_SECONDS_FOR_A_MILLION = 5.0
_LEAST_SECONDS = 0.2
_RUNS = (
    "a",
    "A",
    "0",
    " ",
    "\n",
    "\t",
    "!",
    "-",
    "é",
    "漢",
    "あ",
    "한",
    "ก",
    "😀",
    "\u0301",
    "\x00",
    "\r\n",
    "ab ",
)
_SPECIAL = (
    *("<|endoftext|>", "<|endofprompt|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|begin_of_text|>"),
    *("<|eot_id|>", "<|start_header_id|>", "<start_of_turn>", "<｜User｜>", "<｜begin▁of▁sentence｜>"),
)
_ODD = (
    *(" ", "\n", "\r\n", "\t\t", "\x00", "\x1b[0m", "\x7f", "\ufeff", "\ufffd", "\u2028", "\u200b", "\u00a0"),
    *(
        "\U00010000",
        "\U0010ffff",
        "𝔘𝔫𝔦",
        "🜁",
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈",
        "🇳🇴🇯🇵",
        "5️⃣",
        "e\u0301",
        "Z\u0351\u036b\u0343\u0302",
    ),
    *("漢字", "龦", "かな", "한글", "각", "ก็", "क्षि", "שלום", "مرحبا", "ﷺ", "ﬁ", "ß", "İ", "Ⅷ½", "٣٤٥"),
    *("I'm", "x'ſ", "#!/bin", "</s>", "[INST]", "0xFFFF", "1,000,000", "__init__", "fooBarBaz", "e" * 300),
)
_SURROGATES = ("\ud83d", "\ude00", "a\ud83db", "\ud83d\ude00", "\udcff" * 50)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


class TokenizerContract(DriverContract):
    """What a host relies on in a tokenizer.

        class TestMyTokenizer(TokenizerContract):
            @pytest.fixture
            def subject(self):
                return MyTokenizer()

    Claims, all of them no by default:

    - `joins_cheaply`: two texts together cost no more than apart, but for `slack` tokens.
    - `counts_surrogates`: it counts texts with lone surrogates too, which cannot be encoded in UTF-8.

    `special_tokens` are those of your vocabulary, as texts: they are tried besides the well-known ones.
    """

    abilities = ("joins_cheaply", "counts_surrogates")
    parts: ClassVar[dict[str, str]] = {
        "profile": "name",
        "version": "text",
        "approximate": "flag",
        "count": "method",
    }

    joins_cheaply: bool = False
    counts_surrogates: bool = False
    slack: int = 3
    special_tokens: Sequence[str] = ()
    examples: int = 100

    @pytest.fixture
    def tokenizer(self, made: object) -> Tokenizer:
        """The subject, once it has all its parts."""
        self.whole(made)
        return cast("Tokenizer", made)

    def test_counts_are_whole_numbers_that_can_be(self, tokenizer: Tokenizer) -> None:
        """Return an int from 0 to the bytes of the text in UTF-8, for every text; `len(ids)`, not the ids.

        No token is shorter than a byte. Where a host gets anything else it uses a figure of its own, and reports
        your tokenizer as suspect.
        """
        self.judge(_each(_all_texts(), lambda text: count_faults(tokenizer, text)))
        self.judge_examples(_TEXTS, lambda text: count_faults(tokenizer, text))

    def test_only_nothing_costs_nothing(self, tokenizer: Tokenizer) -> None:
        """Return 0 for the empty text and at least 1 for every other; add no tokens for begin and end.

        What frames a message on the wire is counted by the codec.
        """
        if (got := tokenizer.count("")) != 0:
            self.judge([f"the empty text costs {got!r}"])
        self.judge(_each(_all_texts(), lambda text: [] if tokenizer.count(text) else ["costs nothing"]))

    def test_counts_are_not_under_the_floor(self, tokenizer: Tokenizer) -> None:
        """Count the whole text: no cutting at a limit, no stripping, no words instead of tokens.

        The floor is what no vocabulary falls below: a token holds at most some 128 blanks, or 4 words. A host
        uses the floor where a count is under it, and reports your tokenizer as suspect.
        """
        long = [unit * 3_000 for unit in _RUNS]
        self.judge(_each([*_all_texts(), *long], lambda text: _under_floor(tokenizer, text)))
        self.judge_examples(_TEXTS, lambda text: _under_floor(tokenizer, text))

    def test_special_tokens_are_plain_text(self, tokenizer: Tokenizer) -> None:
        """Encode without special tokens: `encode_ordinary` of tiktoken, `add_special_tokens=False` and no match.

        A user may write such a text. Read as a special token it costs one token and the bill is wrong; refused it
        stops a conversation.
        """
        names = list(dict.fromkeys((*_SPECIAL, *self.special_tokens)))
        self.judge(_each(names, lambda text: _special_faults(tokenizer, text)))
        self.judge(_each([f"a {name} b" for name in names], lambda text: count_faults(tokenizer, text)))

    def test_the_same_text_has_the_same_count(self, tokenizer: Tokenizer) -> None:
        """Keep no state between calls, and none that threads share without a lock.

        Counts are kept by text, profile and version. A host counts in several threads at once.
        """
        texts = _all_texts()
        first = [tokenizer.count(text) for text in texts]
        with ThreadPoolExecutor(4) as pool:
            rounds = [pool.submit(lambda: [tokenizer.count(text) for text in texts[::-1]]) for _ in range(8)]
            self.judge(
                f"{text[:40]!r}: {one} at first, {other} in another thread"
                for counted in rounds
                for text, one, other in zip(texts, first, counted.result()[::-1], strict=True)
                if one != other
            )

    def test_a_million_equal_characters_are_counted_in_time(
        self, tokenizer: Tokenizer, record_property: RecordProperty
    ) -> None:
        """Cut long runs before the merging: it is quadratic in many libraries, and tiktoken panics at such blanks.

        Somebody will paste a megabyte of blanks or dashes. Five seconds are allowed, a panic is not.
        """
        slowest = 0.0
        for unit in _RUNS:
            for size in (10_000, 100_000, _MILLION):
                text = unit * (size // len(unit))
                start = time.perf_counter()
                faults = list(count_faults(tokenizer, text))
                taken = time.perf_counter() - start
                slowest = max(slowest, taken)
                if taken > max(_LEAST_SECONDS, _SECONDS_FOR_A_MILLION * size / _MILLION):
                    faults.append(f"took {taken:.2f} s")
                self.judge(f"{size:,} characters of {unit!r}: {fault}" for fault in faults)
        record_property("slowest_million_milliseconds", round(1000 * slowest, 1))

    def test_time_is_linear_in_the_text(self, tokenizer: Tokenizer, record_property: RecordProperty) -> None:
        """Look at each piece of the text once; join and cut no long texts in a loop.

        Ten times the text may take ten times the time, with much slack.
        """
        texts = {"prose": _prose_of, "one word": lambda size: "xyzzy" * (size // 5), "scripts": _scripts_of}
        for name, make in texts.items():
            few, many = (cost_in_seconds(_counting(tokenizer, make(size))) for size in (20_000, 200_000))
            record_property(f"megabytes_per_second_{name.replace(' ', '_')}", _speed(make(200_000), many))
            self.judge(growth_faults(name, few, many))

    def test_uses_no_network(self, tokenizer: Tokenizer, door: Door) -> None:
        """Ship the vocabulary or read it from disk; raise TokenizerUnavailableError when it is not there.

        Many libraries download a vocabulary when they are first used. A fit must work on a machine without a
        network, and must not tell anybody that it runs.
        """
        for text in _all_texts():
            outcome_of(tokenizer.count, text)
        self.judge(door.knocks)

    def test_joined_texts_cost_no_more_than_apart(self, tokenizer: Tokenizer) -> None:
        """Take the claim `joins_cheaply` back, or raise `slack` to what a seam can cost in your vocabulary.

        Who claims it says that a text may be counted in pieces for an upper bound.
        """
        self.need("joins_cheaply")
        self.judge(_seam_faults(tokenizer, pairwise(_all_texts()), self.slack))
        self.judge_examples(st.tuples(_TEXTS, _TEXTS), lambda pair: _seam_faults(tokenizer, [pair], self.slack))

    def test_lone_surrogates_are_counted(self, tokenizer: Tokenizer) -> None:
        """Replace lone surrogates by U+FFFD before you encode, or take the claim `counts_surrogates` back.

        A host replaces them in all input, so a tokenizer need not know them.
        """
        self.need("counts_surrogates")
        self.judge(_each(_SURROGATES, lambda text: count_faults(tokenizer, text)))


def count_faults(tokenizer: Tokenizer, text: str) -> Iterator[str]:
    """Tell what is wrong with the count of a text, whatever a tokenizer gives or raises."""
    got = outcome_of(tokenizer.count, text)
    most = len(text.encode("utf-8", "surrogatepass"))
    if got.error is not None:
        yield f"count raised {shown(got.error)}"
    elif type(got.value) is not int:
        yield f"count gave a {type(got.value).__name__} ({got.value!r:.40}), not an int"
    elif not 0 <= got.value <= most:
        yield f"count gave {got.value}, which is not between 0 and its {most} bytes"


def _under_floor(tokenizer: Tokenizer, text: str) -> Iterator[str]:
    count, floor = tokenizer.count(text), floor_tokens(text)
    if count < floor:
        yield f"costs {count}, and no vocabulary needs less than {floor} for {len(text)} characters"


def _special_faults(tokenizer: Tokenizer, text: str) -> Iterator[str]:
    faults = list(count_faults(tokenizer, text))
    yield from faults
    if not faults and tokenizer.count(text) < 2:
        yield "is counted as one token, so it is read as a special one"


def _seam_faults(tokenizer: Tokenizer, pairs: Iterable[tuple[str, str]], slack: int) -> Iterator[str]:
    for one, two in pairs:
        apart, joined = tokenizer.count(one) + tokenizer.count(two), tokenizer.count(one + two)
        if joined > apart + slack:
            yield f"{one[-20:]!r} and {two[:20]!r} cost {apart} apart and {joined} together"


def _each(texts: Iterable[str], faults: Callable[[str], Iterable[str]]) -> Iterator[str]:
    for text in texts:
        yield from (f"{text[:40]!r}, {len(text)} characters: {fault}" for fault in faults(text))


def _all_texts() -> list[str]:
    told = [text for chat in corpus() if len(chat.messages) <= 100 for text in texts_in(chat.messages)]
    return [text for text in dict.fromkeys((*_ODD, *_SPECIAL, *told)) if text]


def _counting(tokenizer: Tokenizer, text: str) -> Callable[[], object]:
    return lambda: tokenizer.count(text)


def _prose_of(size: int) -> str:
    text = " ".join(prose(str(at), 5) for at in range(size // 200))
    return text[:size].ljust(size, "x")


def _scripts_of(size: int) -> str:
    mixed = "".join(_ODD)
    return (mixed * (size // len(mixed) + 1))[:size]


def _speed(text: str, seconds: float) -> float:
    return round(len(text.encode()) / 1e6 / max(seconds, 1e-6), 1)
