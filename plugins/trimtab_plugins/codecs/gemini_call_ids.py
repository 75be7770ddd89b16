"""Ids for function calls on a wire that may have none: a response then answers the call of its name, in order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Sequence

from trimtab_sdk import Message, ToolCall, ToolResult

_Turn = tuple[int, deque["_Call"]]


class _Call:
    __slots__ = ("answered", "call_id")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.answered = False


class CallIds:
    """Gives every call and response of a conversation an id.

    `made` are the ids that the wire did not have, `orphans` counts the responses that answer no call.

    A response with an id of its own answers the call with that id, else a call of its name that has none. Without
    an id it answers the first open call of its name in the latest turn that has one; calls without an id come
    first.
    """

    def __init__(self) -> None:
        self.made: set[str] = set()
        self.orphans = 0
        self._numbers: Counter[str] = Counter()
        self._turn = 0
        self._by_id: dict[str, deque[_Call]] = {}
        self._by_name: dict[tuple[str, bool], list[_Turn]] = {}

    def learn(self, messages: Sequence[Message], made: Collection[str]) -> None:
        """Take in what was read before; `made` are the ids that the wire did not have."""
        self.made.update(made)
        for message in messages:
            if message.role != "assistant":
                self._turn += 1
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._open(part.call_id, part.name, has_id=part.call_id not in made)
                elif isinstance(part, ToolResult):
                    call = _first_open(self._by_id.get(part.call_id))
                    if call is not None:
                        call.answered = True

    def of_call(self, name: str, own: str) -> str:
        """Give the id of a call; `own` is the wire's, empty when it has none."""
        call_id = own or self._next(name)
        self._open(call_id, name, has_id=bool(own))
        return call_id

    def of_response(self, name: str, own: str) -> str:
        """Give the id of the call that a response answers; one that no call has when it answers none."""
        call = _first_open(self._by_id.get(own)) if own else None
        for has_id in (False,) if own else (False, True):
            call = call or _latest_open(self._by_name.get((name, has_id)))
        if call is None:
            self.orphans += 1
            return own or self._make(f"{name}#0")
        call.answered = True
        return call.call_id

    def end_turn(self) -> None:
        """Note that something other than a model turn was read."""
        self._turn += 1

    def _open(self, call_id: str, name: str, *, has_id: bool) -> None:
        call = _Call(call_id)
        self._by_id.setdefault(call_id, deque()).append(call)
        turns = self._by_name.setdefault((name, has_id), [])
        if not turns or turns[-1][0] != self._turn:
            turns.append((self._turn, deque()))
        turns[-1][1].append(call)

    def _next(self, name: str) -> str:
        while True:
            self._numbers[name] += 1
            call_id = f"{name}#{self._numbers[name]}"
            if call_id not in self._by_id and call_id not in self.made:
                return self._make(call_id)

    def _make(self, call_id: str) -> str:
        self.made.add(call_id)
        return call_id


def _first_open(calls: deque[_Call] | None) -> _Call | None:
    while calls and calls[0].answered:
        calls.popleft()
    return calls[0] if calls else None


def _latest_open(turns: list[_Turn] | None) -> _Call | None:
    while turns:
        call = _first_open(turns[-1][1])
        if call is not None:
            return call
        turns.pop()
    return None
