"""How near two texts are in meaning, from the vectors that the host's embedder gives."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt
from operator import mul
from typing import TypeAlias, TypeGuard

from trimtab_sdk import Services

Vector: TypeAlias = list[float]
_NEARLY_ONE = 1 - 1e-9


class NoMeaningError(Exception):
    """The embedder gave nothing that can be used; the text says why."""


def by_meaning(query: str, texts: Sequence[str], services: Services) -> list[float]:
    """Score texts by the cosine of their vector to that of the query, from 0 to 1; a blank text gets 0.

    Embedders differ in how alike they find any two texts, so what the texts have in common on average counts as
    nothing. Raises NoMeaningError when the embedder fails.
    """
    told = [at for at, text in enumerate(texts) if text.strip()]
    if not told or not query.strip():
        return [0.0] * len(texts)
    wanted, *units = map(_unit, _vectors([query, *(texts[at] for at in told)], services))
    common = _mean_cosine(units)
    scores = [0.0] * len(texts)
    for at, unit in zip(told, units, strict=True):
        scores[at] = min(1.0, max(0.0, (_dot(wanted, unit) - common) / (1 - common)))
    return scores


def _vectors(texts: list[str], services: Services) -> list[Vector]:
    try:
        vectors: object = services.embed(texts)
    except Exception as error:
        raise NoMeaningError(f"the embedder raised {type(error).__name__}") from error
    if not _are_vectors(vectors, number=len(texts)):
        raise NoMeaningError("the embedder gave no vectors of one length and finite numbers")
    return vectors


def _are_vectors(vectors: object, *, number: int) -> TypeGuard[list[Vector]]:
    if not isinstance(vectors, list) or len(vectors) != number:
        return False
    lengths = {len(vector) if isinstance(vector, list) else 0 for vector in vectors}
    return len(lengths) == 1 and 0 not in lengths and all(_is_finite(value) for row in vectors for value in row)


def _is_finite(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _mean_cosine(units: Sequence[Vector]) -> float:
    """The mean cosine of all pairs, from the length of their sum; 0 where it would tell nothing apart."""
    size = len(units)
    if size < 2:
        return 0.0
    total = [sum(column) for column in zip(*units, strict=True)]
    mean = (_dot(total, total) - size) / (size * (size - 1))
    return mean if 0 < mean < _NEARLY_ONE else 0.0


def _unit(vector: Vector) -> Vector:
    length = sqrt(_dot(vector, vector))
    return [value / length for value in vector] if length else vector


def _dot(one: Vector, other: Vector) -> float:
    return float(sum(map(mul, one, other)))
