"""Which messages of a case belong together, read straight off the raw messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from case_files import Json

_ID_SPELLINGS = ("tool_call_id", "toolCallId", "callId", "call_id")


def groups_of(messages: Sequence[Json]) -> list[list[int]]:
    """Split messages into groups of places, ordered by first member.

    A result belongs to the nearest earlier message with an open call of its id, an approval to its call, and an
    assistant message that only thinks to the assistant message right behind it.
    """
    owner = list(range(len(messages)))
    open_calls = [_call_ids(message) for message in messages]
    for at, message in enumerate(messages):
        for root in (*_call_of(message, at, open_calls), *_asked_in(message, at, messages)):
            _join(owner, root, at)
    for at, message in enumerate(messages[1:], 1):
        if message["role"] == "assistant" and _only_thinks(messages[at - 1]):
            _join(owner, at - 1, at)
    groups: dict[int, list[int]] = {}
    for at, root in enumerate(owner):
        groups.setdefault(root, []).append(at)
    return list(groups.values())


def _join(owner: list[int], one: int, other: int) -> None:
    first, second = sorted((owner[one], owner[other]))
    owner[:] = [first if root == second else root for root in owner]


def _only_thinks(message: Json) -> bool:
    says = message.get("content") or message.get("tool_calls") or message.get("function_call")
    return message["role"] == "assistant" and not says and bool(message.get("reasoning") or message.get("blocks"))


def _call_ids(message: Json) -> list[str]:
    ids = [call["id"] for call in message.get("tool_calls") or ()]
    if message.get("function_call"):
        ids.append(_legacy_id(message["function_call"]["name"]))
    return ids


def _legacy_id(name: str) -> str:
    return f"function:{name}"


def _result_id(message: Json) -> str | None:
    if message["role"] == "function":
        return _legacy_id(message["name"])
    if message["role"] != "tool":
        return None
    return next((message[key] for key in _ID_SPELLINGS if key in message), None)


def _call_of(message: Json, at: int, open_calls: list[list[str]]) -> Iterator[int]:
    wanted = _result_id(message)
    for earlier in reversed(range(at)):
        if wanted in open_calls[earlier]:
            open_calls[earlier].remove(wanted)
            yield earlier
            return


def _asked_in(message: Json, at: int, messages: Sequence[Json]) -> Iterator[int]:
    """The messages that approvals in this one speak of: the nearest with the call, the nearest that asked."""
    for request in message.get("approval_requests") or ():
        yield from _nearest(at, [request["tool_call_id"] in _call_ids(one) for one in messages])
    for response in message.get("approval_responses") or ():
        yield from _nearest(at, [response["approval_id"] in _approval_ids(one) for one in messages])


def _nearest(at: int, holds: Sequence[bool]) -> Iterator[int]:
    yield from [place for place in range(at + 1) if holds[place]][-1:]


def _approval_ids(message: Json) -> list[str]:
    return [request["approval_id"] for request in message.get("approval_requests") or ()]
