"""The accepted edits of conversations that are stored nowhere, found again by what the conversations say.

A client that keeps its conversation itself sends all of it each time, with something new at its end. The edit that
was made of its beginning is made again then, so that the provider's cache finds the prefix it knows.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import sha256
from threading import Lock
from typing import Any, Final

from trimtab.fitting.carrying import NOTHING, Carried

_MOST: Final = 1024
_MOST_ENTRIES: Final = 200_000
_OWN_CHARACTERS: Final = 100
"""How many characters of an inserted text weigh as much as an id."""
_FORM: Final = 0
"""The oldest form of marshal: the same bytes for equal values, however their texts are kept in memory."""


def links_of(name: str, items: Sequence[Any]) -> list[bytes]:
    """Give a hash for each beginning of a list of JSON values, from one value on. `name` is of all it hangs on.

    Equal values whose keys stand in another order may have other hashes.
    """
    link = sha256(name.encode("utf-8", "surrogatepass")).digest()
    links: list[bytes] = []
    for item in items:
        link = sha256(link + sha256(marshal.dumps(item, _FORM)).digest()).digest()
        links.append(link)
    return links


class RememberedEdits:
    """Remembers edits by the hash of the conversation they were made of; of many, those used last.

    Bounded by the number of edits, and by the ids and texts in them. May be asked from any thread.
    """

    def __init__(self, *, most: int = _MOST, most_entries: int = _MOST_ENTRIES) -> None:
        self._most = most
        self._most_entries = most_entries
        self._edits: OrderedDict[bytes, Carried] = OrderedDict()
        self._entries = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._edits)

    def find(self, links: Sequence[bytes]) -> Carried:
        """Give the edit of the longest beginning that has one."""
        with self._lock:
            for link in reversed(links):
                found = self._edits.get(link)
                if found is not None:
                    self._edits.move_to_end(link)
                    return found
        return NOTHING

    def note(self, link: bytes, edit: Carried) -> None:
        """Remember the edit of a conversation; an empty one is not worth it."""
        with self._lock:
            before = self._edits.pop(link, None)
            self._entries -= 0 if before is None else _weight(before)
            if edit.is_empty:
                return
            self._edits[link] = edit
            self._entries += _weight(edit)
            while len(self._edits) > self._most or (self._entries > self._most_entries and len(self._edits) > 1):
                _, oldest = self._edits.popitem(last=False)
                self._entries -= _weight(oldest)


def _weight(edit: Carried) -> int:
    texts = sum(
        len(part.text) for insert, _ in edit.inserts for part in insert.message.parts if hasattr(part, "text")
    )
    return 1 + len(edit.drop) + len(edit.known) + len(edit.shorten) + texts // _OWN_CHARACTERS
