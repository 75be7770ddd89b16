"""Calls and their results: those of the client's tools turn by turn, those of the server's own within a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from fakes.chat_judge import Wrong
from fakes.chat_replies import Json
from fakes.messages_context import Place, blocks_of, places_in, turns_of


def pairing_faults(messages: Sequence[Json]) -> Iterator[Wrong]:
    """Find calls without results, results without calls, and those that stand in the wrong place.

    The results of a turn stand first in the one message right behind it.
    """
    places = places_in(messages)
    yield from _twice(places)
    turns = turns_of(places)
    open_calls: list[Place] = []
    for at, turn in enumerate(turns):
        if turn[0].role == "assistant":
            yield from _server_faults(turn, is_last=at == len(turns) - 1)
            answered = _results_of(messages, turn[-1].message + 1)
            missing = [place for place in turn if place.kind == "tool_use" and place.block["id"] not in answered]
            open_calls += missing
            yield from _missing(missing)
    yield from _orphans(messages, places, known={place.block["id"] for place in open_calls})


def _results_of(messages: Sequence[Json], at: int) -> list[str]:
    """Give the ids of the results that a message begins with."""
    ids: list[str] = []
    if at >= len(messages) or messages[at]["role"] != "user":
        return ids
    for block in blocks_of(messages[at]["content"]):
        if block["type"] != "tool_result":
            break
        ids.append(block["tool_use_id"])
    return ids


def _missing(calls: Sequence[Place]) -> Iterator[Wrong]:
    if calls:
        ids = ", ".join(place.block["id"] for place in calls)
        where = f"messages.{calls[0].message}"
        yield Wrong(
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each "
            "`tool_use` block must have a corresponding `tool_result` block in the next message.",
            where,
        )


def _orphans(messages: Sequence[Json], places: Sequence[Place], *, known: Collection[str]) -> Iterator[Wrong]:
    """Find results without a call, and those of one call beyond the first; `known` are named already."""
    results = [place for place in places if place.kind == "tool_result"]
    orphans = [
        place for place in results if place.block["tool_use_id"] not in _calls_before(messages, place.message)
    ]
    for place in orphans:
        call_id = place.block["tool_use_id"]
        if call_id not in known:
            yield Wrong(
                f"{place.path}: unexpected `tool_use_id` found in `tool_result` blocks: {call_id}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
                place.path,
            )
    counted = Counter(place.block["tool_use_id"] for place in results if place not in orphans)
    for call_id, times in counted.items():
        if times > 1:
            yield Wrong(
                f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {call_id}"
            )


def _calls_before(messages: Sequence[Json], at: int) -> set[str]:
    """Give the ids of the calls in the assistant's turn that ends right before a message."""
    ids: set[str] = set()
    while at > 0 and messages[at - 1]["role"] == "assistant":
        at -= 1
        ids |= {block["id"] for block in blocks_of(messages[at]["content"]) if block["type"] == "tool_use"}
    return ids


def _twice(places: Sequence[Place]) -> Iterator[Wrong]:
    seen: set[str] = set()
    for place in places:
        if place.kind in ("tool_use", "server_tool_use"):
            if place.block["id"] in seen:
                yield Wrong(f"{place.path}: `tool_use` ids must be unique", place.path)
            seen.add(place.block["id"])


def _server_faults(turn: Sequence[Place], *, is_last: bool) -> Iterator[Wrong]:
    open_calls: dict[str, Place] = {}
    for place in turn:
        if place.kind == "server_tool_use":
            open_calls[place.block["id"]] = place
        elif place.kind.endswith("_tool_result") and open_calls.pop(place.block["tool_use_id"], None) is None:
            yield Wrong(f"{place.path}: unexpected `tool_use_id` found in `{place.kind}` blocks", place.path)
    if is_last or any(place.kind == "tool_use" for place in turn):
        return
    for call_id, place in open_calls.items():
        name = place.block["name"]
        yield Wrong(
            f"messages.{place.message}: `{name}` tool use with id `{call_id}` was found without a corresponding "
            f"`{name}_tool_result` block",
            place.path,
        )
