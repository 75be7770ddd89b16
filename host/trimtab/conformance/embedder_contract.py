"""The contract of an embedder: a driver that turns texts into vectors."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import ClassVar, cast

import pytest

from trimtab.conformance.base import RecordProperty
from trimtab.conformance.corpus import chat_named, prose, texts_in
from trimtab.conformance.driver_base import Door, DriverContract, Outcome, outcome_of, shown
from trimtab_sdk.embedder import Embedder

_NEAR = 1e-3
_PLAIN = (
    "The ferry leaves at half past six.",
    "Rye flour, salt, water and a day of patience.",
    "A pump that stops needs a closed valve first.",
    "The orchard was sold, the ladder was not.",
)
_STRANGE = ("", " ", "\n\n\t", "\x00", "\ufeff", "e\u0301\u0300" * 30, "👩‍👩‍👧‍👦🏳️‍🌈", "\U0010fffd", "a" * 20_000)


class EmbedderContract(DriverContract):
    """What a host relies on in an embedder.

        class TestMyEmbedder(EmbedderContract):
            @pytest.fixture
            def subject(self):
                return MyEmbedder()

    One claim, no by default: `works_offline`, when it never uses the network. `slack` is how far the numbers of
    the same text may differ from call to call, as a share of the vector's length.
    """

    abilities = ("works_offline",)
    parts: ClassVar[dict[str, str]] = {"name": "text", "dimensions": "size", "embed": "method"}

    works_offline: bool = False
    slack: float = _NEAR

    @property
    def may_use_network(self) -> bool:
        """Whether it has not claimed to do without."""
        return not self.works_offline

    @pytest.fixture
    def embedder(self, made: object) -> Embedder:
        """The subject, once it has all its parts."""
        self.whole(made)
        return cast("Embedder", made)

    def test_gives_a_vector_for_each_text(self, embedder: Embedder) -> None:
        """Return a list with a list of `dimensions` floats for each text, none of them NaN or infinite.

        Convert arrays of numpy and the like by `.tolist()`. Vectors are compared number by number, and one that
        is not finite makes every comparison meaningless.
        """
        for texts in (list(_PLAIN), list(_PLAIN[:1]), [_PLAIN[0]] * 3):
            self.judge(_shape_faults(embedder, texts))

    def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        """Return [] for []: look at the length before you call a model.

        A host may have nothing to compare with, and does not look first.
        """
        self.judge(_shape_faults(embedder, []))

    def test_any_text_has_a_vector(self, embedder: Embedder) -> None:
        """Give a vector to empty, blank, strange and very long texts too; cut what the model cannot take.

        Of an empty text any finite vector will do. One text that raises leaves all others without a vector.
        """
        scripts = texts_in(chat_named("many scripts").messages)
        for text in (*_STRANGE, *scripts):
            self.judge(f"{text[:30]!r}: {fault}" for fault in _shape_faults(embedder, [text]))
        self.judge(_shape_faults(embedder, [*_STRANGE, *_PLAIN]))

    def test_vectors_are_in_the_order_of_the_texts(
        self, embedder: Embedder, record_property: RecordProperty
    ) -> None:
        """Put the vectors back into the order of the texts after batching, sorting or removing doubles.

        The first vector is taken for that of the first text. Vectors that are all alike show no order either.
        """
        texts = [*_PLAIN, _PLAIN[1], *(prose(str(at)) for at in range(40))]
        start = time.perf_counter()
        vectors = self._vectors(embedder, texts)
        record_property(f"milliseconds_for_{len(texts)}", round(1000 * (time.perf_counter() - start), 2))
        backwards = self._vectors(embedder, texts[::-1])[::-1]
        alone = [self._vectors(embedder, [text])[0] for text in _PLAIN]
        self.judge(self._displaced(texts, vectors, backwards, "in another order"))
        self.judge(self._displaced(texts, vectors, alone, "alone"))
        if self._near(vectors[0], vectors[1]) and self._near(vectors[0], vectors[2]):
            self.judge(["different texts have the same vector"])

    def test_the_same_text_has_the_same_vector(self, embedder: Embedder) -> None:
        """Take out what differs from call to call; small differences of rounding may be claimed as `slack`.

        Vectors are stored and compared with new ones, so a text must stay near itself.
        """
        first, second = self._vectors(embedder, list(_PLAIN)), self._vectors(embedder, list(_PLAIN))
        self.judge(self._displaced(_PLAIN, first, second, "in a second call"))

    def test_leaves_its_texts_alone(self, embedder: Embedder) -> None:
        """Work on a copy of the list: sort, strip or shorten nothing in place.

        The list belongs to the caller, who uses it after the call.
        """
        texts = [*_PLAIN, "", "  blank  "]
        before = list(texts)
        self._vectors(embedder, texts)
        self.judge([] if texts == before else [f"the list was changed to {texts!r:.200}"])

    def test_uses_no_network(self, embedder: Embedder, door: Door) -> None:
        """Keep the model on this machine, or take the claim `works_offline` back.

        Who claims it is used where texts must not leave the house.
        """
        self.need("works_offline")
        outcome_of(embedder.embed, list(_PLAIN))
        self.judge(door.knocks)

    def _vectors(self, embedder: Embedder, texts: list[str]) -> list[list[float]]:
        got = outcome_of(embedder.embed, texts)
        if any(_faults_of(got, len(texts), embedder.dimensions)):
            self.not_judged("the vectors have no right shape; mend test_gives_a_vector_for_each_text first")
        return cast("list[list[float]]", got.value)

    def _displaced(
        self, texts: Sequence[str], first: Sequence[list[float]], second: Sequence[list[float]], how: str
    ) -> Iterator[str]:
        for text, one, two in zip(texts, first, second, strict=False):
            if not self._near(one, two):
                yield f"{text[:40]!r} has another vector {how}"

    def _near(self, one: Sequence[float], two: Sequence[float]) -> bool:
        return math.dist(one, two) <= self.slack * max(1e-9, math.hypot(*one))


def _shape_faults(embedder: Embedder, texts: list[str]) -> Iterator[str]:
    return _faults_of(outcome_of(embedder.embed, list(texts)), len(texts), embedder.dimensions)


def _faults_of(got: Outcome, many: int, dimensions: int) -> Iterator[str]:
    """Tell what is wrong with the answer for `many` texts."""
    if got.error is not None:
        yield f"embed raised {shown(got.error)}"
        return
    if type(got.value) is not list:
        yield f"embed gave a {type(got.value).__name__}, not a list"
        return
    if len(got.value) != many:
        yield f"embed gave {len(got.value)} vectors for {many} texts"
    for at, vector in enumerate(got.value):
        yield from (f"vector {at} {fault}" for fault in _vector_faults(vector, dimensions))


def _vector_faults(vector: object, dimensions: int) -> Iterator[str]:
    if type(vector) is not list:
        yield f"is a {type(vector).__name__}, not a list"
        return
    if len(vector) != dimensions:
        yield f"has {len(vector)} numbers, not {dimensions}"
    odd = [value for value in vector if type(value) is not float or not math.isfinite(value)]
    if odd:
        yield f"holds {odd[0]!r:.40}, which is no finite float"
