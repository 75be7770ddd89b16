"""What the repair of a single message or item gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from trimtab_plugins.codecs.reading import JsonObject


class Mended(NamedTuple):
    """The object that goes out, and a sentence for each repair; the object is the given one when none was made."""

    wire: JsonObject
    sentences: tuple[str, ...] = ()


def mended(raw: JsonObject, copy: JsonObject, sentences: Sequence[str]) -> Mended:
    """Give `copy` with the repairs that were made on it, `raw` when there are none."""
    return Mended(copy, tuple(sentences)) if sentences else Mended(raw)
