"""JSON of values that hold the same long lists again and again, as the requests of a chat do."""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, compress, count
from operator import is_not
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

_LONG = 16
_BEFORE, _BEHIND = b'{"messages":[', b"]}"


class MemoJson:
    """Writes compact ASCII JSON. A long list that begins as the last one did costs what is new in it.

    What was written must not be changed afterwards. Gives the very text that `json.dumps` gives. Safe between
    threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[object] = []
        self._text = bytearray()
        # How many items the text holds up to which byte; not every item has such an end.
        self._counts: list[int] = [0]
        self._ends: list[int] = [0]
        self._is_new = True
        self._marks: list[tuple[int, _Hash]] = [(0, sha256(_BEFORE))]

    def dumps(self, value: Mapping[str, object]) -> bytes:
        """Give the JSON of an object. Raises TypeError, ValueError or RecursionError for what JSON cannot hold."""
        long = _longest(value)
        pieces: list[bytes | bytearray] = [b"{"]
        with self._lock:
            for key, one in value.items():
                pieces += (b"," if len(pieces) > 1 else b"", _dumps(key), b":")
                if long is None or one is not long:
                    pieces.append(_dumps(one))
                    continue
                self._take(long)
                pieces += (b"[", self._text, b"]")
            return b"".join((*pieces, b"}"))

    def digest(self, messages: list[object]) -> str:
        """Give the SHA-256 of the JSON of an object with these `messages` alone, in hexadecimal."""
        with self._lock:
            self._take(messages)
            whole = self._hashed_to(self._ends[-2] if len(self._ends) > 1 else 0).copy()
            whole.update(memoryview(self._text)[self._marks[-1][0] :])
        whole.update(_BEHIND)
        return whole.hexdigest()

    def _hashed_to(self, end: int) -> _Hash:
        """Give the hash of the text up to the last end but one, from where it was hashed before."""
        at, known = self._marks[-1]
        if at < end:
            known = known.copy()
            known.update(memoryview(self._text)[at:end])
            self._marks.append((end, known))
        return known

    def _take(self, items: list[object]) -> None:
        """Make `items` the list that is known, and its text."""
        shared = next(compress(count(), map(is_not, self._items, items)), min(len(self._items), len(items)))
        at = bisect_right(self._counts, shared) - 1
        begin = self._counts[at]
        texts = self._texts_of(items[begin:])
        del self._counts[at + 1 :], self._ends[at + 1 :], self._text[self._ends[at] :]
        while self._marks[-1][0] > len(self._text):
            self._marks.pop()
        self._add(texts, begin, len(items))
        self._items = list(items)

    def _texts_of(self, items: Sequence[object]) -> list[bytes]:
        """Write items one by one; the very first list as a whole, which is fastest if it never returns."""
        if self._is_new and len(items) > 1:
            self._is_new = False
            return [_dumps(items)[1:-1]]
        return [_dumps(item) for item in items]

    def _add(self, texts: Sequence[bytes], begin: int, whole: int) -> None:
        if not texts:
            return
        self._text += (b"," if begin else b"") + b",".join(texts)
        if len(texts) < whole - begin:
            self._counts.append(whole)
            self._ends.append(len(self._text))
            return
        first = self._ends[-1] + bool(begin)
        sizes = accumulate((len(text) + 1 for text in texts), initial=first - 1)
        self._ends += list(sizes)[1:]
        self._counts += range(begin + 1, whole + 1)


def _longest(value: Mapping[str, object]) -> list[object] | None:
    """Give the longest list of an object, None when none is long."""
    lists = [one for one in value.values() if type(one) is list and len(one) >= _LONG]
    return max(lists, key=len, default=None)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no JSON value")


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode


def _dumps(value: object) -> bytes:
    return _encode(value).encode("ascii")
