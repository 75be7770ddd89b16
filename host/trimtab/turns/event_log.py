"""The events of a turn as they are stored: numbered, with the pieces of an answer joined."""

from __future__ import annotations

from trimtab.store.protocol import StoredEvent
from trimtab.turns.events import TurnEvent
from trimtab_sdk.provider import ReasoningDelta, TextDelta, ToolCallDelta

FLUSH_SECONDS = 0.5
_MOST_CHARACTERS = 16_384


class EventLog:
    """Collects events until somebody writes them.

    Pieces of one kind that follow each other become one event, so that a thousand tokens are not a thousand rows.
    `first` is the number of the first event.
    """

    def __init__(self, *, first: int = 1) -> None:
        self._next = first
        self._events: list[dict[str, object]] = []
        self._since: float | None = None

    def add(self, event: TurnEvent, *, now: float) -> None:
        """Take in an event; `now` is in seconds."""
        if self._since is None:
            self._since = now
        if not self._join(event):
            self._events.append(event.to_dict())

    def is_due(self, now: float) -> bool:
        """Tell whether events have waited for half a second."""
        return self._since is not None and now - self._since >= FLUSH_SECONDS

    def take(self) -> tuple[StoredEvent, ...]:
        """Give the events that were not given before, numbered."""
        taken = tuple(StoredEvent(self._next + at, event) for at, event in enumerate(self._events))
        self._next += len(taken)
        self._events = []
        self._since = None
        return taken

    @property
    def next(self) -> int:
        """The number the next event gets."""
        return self._next + len(self._events)

    def _join(self, event: TurnEvent) -> bool:
        if not self._events or not isinstance(event, TextDelta | ReasoningDelta | ToolCallDelta):
            return False
        last = self._events[-1]
        key = "arguments" if isinstance(event, ToolCallDelta) else "text"
        if last["kind"] != event.kind or last.get("callId") != getattr(event, "call_id", None):
            return False
        text = str(last[key])
        if len(text) > _MOST_CHARACTERS:
            return False
        last[key] = text + (event.arguments if isinstance(event, ToolCallDelta) else event.text)
        return True
