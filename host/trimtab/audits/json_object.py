"""A JSON object that nobody has checked: whoever asks for a key says what must stand there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

from trimtab.audits.columns import from_runs

_Value = TypeVar("_Value")
_MISSING = object()


class JsonObject:
    """Reads a JSON object at `path`. Every method raises ValueError, with the place, for what is not as asked.

    A `default` stands for a key that is not there; without one the key must be there. Figures are whole numbers
    from 0; a run is a column written as runs, `places` are indexes under `size`.
    """

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{path} is no object")
        self._value = cast("Mapping[str, object]", value)
        self.path = path

    def get(self, key: str, default: object = _MISSING) -> object:
        """Give what stands at a key, whatever it is."""
        value = self._value.get(key, default)
        if value is _MISSING:
            raise ValueError(f"{self.path}.{key} is missing")
        return value

    def __contains__(self, key: str) -> bool:
        return key in self._value

    @property
    def names(self) -> list[str]:
        """The keys."""
        return [self._checked_text(key, "a key") for key in self._value]

    def text(self, key: str, default: object = _MISSING) -> str:
        """Give a text."""
        return self._checked_text(self.get(key, default), key)

    def _checked_text(self, value: object, key: str) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{self.path}.{key} is no text")
        return value

    def flag(self, key: str, default: object = _MISSING) -> bool:
        """Give true or false."""
        value = self.get(key, default)
        if not isinstance(value, bool):
            raise ValueError(f"{self.path}.{key} is neither true nor false")
        return value

    def figure(self, key: str, default: object = _MISSING) -> int:
        """Give a figure."""
        return self._checked_figure(self.get(key, default), key)

    def figure_if_any(self, key: str) -> int | None:
        """Give a figure; None for null and for a key that is not there."""
        value = self.get(key, None)
        return None if value is None else self._checked_figure(value, key)

    def _checked_figure(self, value: object, key: str) -> int:
        if type(value) is not int or value < 0:
            raise ValueError(f"{self.path}.{key} is no whole number from 0")
        return value

    def number(self, key: str) -> float:
        """Give a finite number."""
        value = self.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{self.path}.{key} is no number")
        return float(value)

    def rows(self, key: str, read: Callable[[object], _Value], default: object = _MISSING) -> list[_Value]:
        """Give a list, each row of it read by `read`."""
        value = self.get(key, default)
        if not isinstance(value, list):
            raise ValueError(f"{self.path}.{key} is no list")
        return [read(one) for one in value]

    def texts(self, key: str, default: object = _MISSING) -> list[str]:
        """Give a list of texts."""
        return self.rows(key, lambda one: self._checked_text(one, key), default)

    def figures(self, key: str) -> list[int]:
        """Give a list of figures."""
        return self.rows(key, lambda one: self._checked_figure(one, key))

    def run(self, key: str, size: int) -> list[object]:
        """Give a column of `size` values."""
        return from_runs(self.get(key), size)

    def run_of_texts(self, key: str, size: int) -> list[str]:
        """Give a column of `size` texts."""
        return [self._checked_text(one, key) for one in self.run(key, size)]

    def run_of_revisions(self, key: str, size: int) -> list[int | None]:
        """Give a column of `size` figures, None where there is none."""
        return [None if one is None else self._checked_figure(one, key) for one in self.run(key, size)]

    def places(self, key: str, size: int) -> frozenset[int]:
        """Give a set of places in lists of `size` rows."""
        places = frozenset(self.figures(key))
        if any(place >= size for place in places):
            raise ValueError(f"{self.path}.{key} names a place that is not there")
        return places

    def inner(self, key: str) -> JsonObject:
        """Give the object at a key."""
        return JsonObject(self.get(key), f"{self.path}.{key}")

    def whole(self) -> dict[str, object]:
        """Give all of it, as it is."""
        return dict(self._value)
