"""The events of a turn, numbered, with the pieces of an answer joined."""

from __future__ import annotations

from collections.abc import Sequence

from trimtab.store.protocol import StoredEvent
from trimtab.turns.events import TurnEvent
from trimtab_sdk.provider import ReasoningDelta, TextDelta, ToolCallDelta

_MOST_CHARACTERS = 16_384


class EventLog:
    """Numbers events, and keeps them until somebody writes them.

    Pieces of one kind that follow each other wait for more of theirs and become one event, so that a thousand
    tokens are not a thousand rows. What waits gets its number when something else comes, or by `cut`.
    `first` is the number of the first event.
    """

    def __init__(self, *, first: int = 1) -> None:
        self._next = first
        self._open: _Pieces | None = None
        self._unwritten: list[StoredEvent] = []

    def add(self, event: TurnEvent) -> tuple[StoredEvent, ...]:
        """Take in an event, and give those that get their number by it."""
        if not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta):
            return (*self.cut(), self._number(event.to_dict()))
        if self._open is not None and self._open.take(event):
            return ()
        done = self.cut()
        self._open = _Pieces(event)
        return done

    def cut(self) -> tuple[StoredEvent, ...]:
        """Number the pieces that wait, and give the event they make; none when none wait."""
        if self._open is None:
            return ()
        event, self._open = self._open.to_dict(), None
        return (self._number(event),)

    def take(self) -> tuple[StoredEvent, ...]:
        """Give the numbered events that were not given before, to be written."""
        taken = tuple(self._unwritten)
        self._unwritten = []
        return taken

    def put_back(self, events: Sequence[StoredEvent]) -> None:
        """Take back the first events of those that `take` gave last: they were not written."""
        self._unwritten[:0] = events

    def take_back(self, event: StoredEvent) -> None:
        """Forget the event that was numbered last: nobody was told of it."""
        if event.sequence == self._next - 1:
            self._next -= 1

    @property
    def unwritten(self) -> int:
        """How many numbered events wait to be written."""
        return len(self._unwritten)

    @property
    def next(self) -> int:
        """The number the next event gets, when it is no piece of what waits."""
        return self._next + (self._open is not None)

    def _number(self, event: dict[str, object]) -> StoredEvent:
        made = StoredEvent(self._next, event)
        self._next += 1
        self._unwritten.append(made)
        return made


class _Pieces:
    """Pieces of one kind, and of one call, that become one event."""

    def __init__(self, first: TextDelta | ReasoningDelta | ToolCallDelta) -> None:
        self._first = first
        self._texts: list[str] = []
        self._size = 0
        self._add(first)

    def take(self, event: TextDelta | ReasoningDelta | ToolCallDelta) -> bool:
        """Take in a piece, or tell that it belongs to something else."""
        call_id = getattr(self._first, "call_id", None)
        if event.kind != self._first.kind or getattr(event, "call_id", None) != call_id:
            return False
        if self._size > _MOST_CHARACTERS:
            return False
        self._add(event)
        return True

    def to_dict(self) -> dict[str, object]:
        """Give the event as JSON values."""
        key = "arguments" if isinstance(self._first, ToolCallDelta) else "text"
        return self._first.to_dict() | {key: "".join(self._texts)}

    def _add(self, event: TextDelta | ReasoningDelta | ToolCallDelta) -> None:
        text = event.arguments if isinstance(event, ToolCallDelta) else event.text
        self._texts.append(text)
        self._size += len(text)
