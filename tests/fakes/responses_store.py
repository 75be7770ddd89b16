"""The answers that a cursor may name: kept when they were asked to be, until they expire or are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fakes.chat_replies import Json
from fakes.chat_requests import Request
from fakes.responses_items import Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """An answer with all that led to it. `chain` holds every item, its own output included."""

    id: str
    response: Json
    inputs: Sequence[Piece]
    outputs: Sequence[Piece]
    chain: Sequence[Piece]
    request: Request
    made_at: float


class ResponseStore:
    """Answers by id, and their items by id.

    An answer counts from the moment its last bytes are sent: one that broke, or whose client left, never does.
    `now` gives seconds; an answer is gone `keep_seconds` after it was made.
    """

    def __init__(self, *, now: Callable[[], float], keep_seconds: float) -> None:
        self.now = now
        self.unkept: set[str] = set()
        self._keep_seconds = keep_seconds
        self._kept: dict[str, Kept] = {}
        self._homes: dict[str, tuple[Kept, Piece]] = {}
        self._thought_before: dict[str, str] = {}

    def add(self, kept: Kept) -> None:
        """Keep an answer."""
        self._kept[kept.id] = kept
        thought = None
        for piece in [*kept.inputs, *kept.outputs]:
            if piece.sent.get("id"):
                self._homes.setdefault(piece.sent["id"], (kept, piece))
        for piece in kept.outputs:
            if piece.kind == "reasoning":
                thought = piece.sent["id"]
            elif thought is not None and piece.kind != "compaction":
                self._thought_before[piece.sent["id"]] = thought

    def find(self, response_id: str) -> Kept | None:
        """Give an answer that is still there."""
        kept = self._kept.get(response_id)
        return kept if kept is not None and self._is_there(kept) else None

    def item(self, item_id: str) -> Piece | None:
        """Give an item of an answer that is still there."""
        kept, piece = self._homes.get(item_id, (None, None))
        return piece if kept is not None and self._is_there(kept) else None

    def had_item(self, item_id: str) -> bool:
        """Whether an item was ever kept."""
        return item_id in self._homes

    def thought_before(self, item_id: str) -> str | None:
        """Give the id of the reasoning that an item came from, as long as that is known."""
        thought = self._thought_before.get(item_id)
        return thought if thought is not None and self.item(thought) is not None else None

    def forget(self, response_id: str) -> bool:
        """Forget an answer; those behind it stay whole. Tell whether it was there."""
        was_there = self.find(response_id) is not None
        self._kept.pop(response_id, None)
        return was_there

    def forget_all(self) -> None:
        """Forget everything."""
        self._kept.clear()

    def ids(self) -> list[str]:
        """Give the ids of all answers that are still there, oldest first."""
        return [kept.id for kept in list(self._kept.values()) if self._is_there(kept)]

    def _is_there(self, kept: Kept) -> bool:
        is_fresh = self.now() - kept.made_at < self._keep_seconds
        return is_fresh and kept.request.fate == "answered" and self._kept.get(kept.id) is kept
