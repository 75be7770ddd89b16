"""How many answers may be streamed at once: in all, and to one owner."""

from __future__ import annotations

from collections import Counter
from types import TracebackType

from trimtab.http.errors import HttpError

_RETRY_SECONDS = "5"


class StreamSlot:
    """The right to stream one answer; given back by `release`, once, or by leaving a `with` block."""

    def __init__(self, slots: StreamSlots, owner: str) -> None:
        self._slots = slots
        self._owner = owner
        self._held = True

    def release(self) -> None:
        """Give it back. Does nothing the second time."""
        if self._held:
            self._held = False
            self._slots._give_back(self._owner)

    def __enter__(self) -> StreamSlot:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class StreamSlots:
    """The slots of all streams. Used in one event loop."""

    def __init__(self, *, most: int, most_of_owner: int) -> None:
        self._most = most
        self._most_of_owner = most_of_owner
        self._held: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """How many streams there are."""
        return self._held.total()

    def take(self, owner: str) -> StreamSlot:
        """Take a slot, before anything of a turn has begun. Raises HttpError TOO_MANY_STREAMS."""
        if self._held[owner] >= self._most_of_owner or self.open >= self._most:
            raise HttpError(
                "TOO_MANY_STREAMS",
                "there are as many streams as may be open at once; close one, or try again a little later",
                headers={"Retry-After": _RETRY_SECONDS},
            )
        self._held[owner] += 1
        return StreamSlot(self, owner)

    def _give_back(self, owner: str) -> None:
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
