"""Making groups smaller instead of leaving them out.

Of what a user or the model said the beginning stays; of a tool result also the end, where errors stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from trimtab_sdk import (
    Edit,
    Group,
    Message,
    Path,
    Request,
    Services,
    Span,
    ToolResult,
    is_free,
    keep_spans,
    texts_of,
)
from trimtab_strategies.cutting import LEAST_CHARS, Shape, cut_text

Key: TypeAlias = tuple[str, Path]
Cuts: TypeAlias = dict[Key, list[Span]]

SETTINGS: Mapping[str, object] = {
    "shorten_messages": {"type": "boolean"},
    "tool_result_share": {"type": "number", "minimum": 0, "maximum": 1},
}
"""The settings of shortening, as properties of a JSON schema."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A text that may be cut, and what it costs as it stands now, in tokens."""

    key: Key
    text: str
    shape: Shape
    tokens: int


def shorten_group(
    request: Request, services: Services, group: Group, *, room: int, cuts: Mapping[Key, list[Span]] | None = None
) -> Cuts:
    """Give the spans that bring a group down to `room` tokens, nothing when that cannot be done.

    The longest texts are cut first, to one length, at the ends of sentences and lines where possible; of no
    text less than 20 characters stay. `cuts` are spans that hold already; `group.tokens` counts with them.
    """
    known = cuts or {}
    places = [place for at in group.positions for place in _places(request.messages[at], services, cuts=known)]
    excess = group.tokens - room
    if excess >= sum(place.tokens for place in places):
        return {}
    found, saved = _level_down(places, services, excess=excess)
    return found if saved >= excess else {}


def shorten_results(request: Request, services: Services) -> tuple[Request, Cuts]:
    """Cut tool results that cost more than the share `tool_result_share` of the budget down to that share.

    The oldest are cut first, until the total is down to the target; what is protected stays whole. Gives the
    request with its tokens as they are then (its messages are not cut), and the spans. A share of 0, or
    none, changes nothing.
    """
    share = request.settings.get("tool_result_share")
    if not isinstance(share, int | float) or share <= 0:
        return request, {}
    most = int(share * request.budget)
    excess = request.total - min(request.target, request.budget)
    cuts: Cuts = {}
    saved: dict[str, int] = {}
    for message in _larger_than(most, request):
        if excess <= 0:
            break
        found, saved[message.id] = _cut_results(message, services, most=most)
        cuts |= found
        excess -= saved[message.id]
    return _eased(request, saved), cuts


def drop_or_shorten(
    request: Request, services: Services, leaving: Sequence[tuple[Group, str]], *, cuts: Mapping[Key, list[Span]]
) -> Edit:
    """Give the edit for groups that leave, each with its reason, in the order they leave.

    With the setting `shorten_messages` the last of them is shortened instead, where that helps. `request`
    counts with `cuts`, the spans that hold already.
    """
    shorten = dict(cuts)
    if leaving and request.settings.get("shorten_messages") is True:
        last = leaving[-1][0]
        left = request.total - sum(group.tokens for group, _ in leaving)
        spared = shorten_group(request, services, last, room=request.target - left, cuts=cuts)
        if spared:
            shorten |= spared
            leaving = leaving[:-1]
    drop = {name: reason for group, reason in leaving for name in group.ids}
    return Edit(drop=drop, shorten={key: spans for key, spans in shorten.items() if key[0] not in drop})


def _places(message: Message, services: Services, *, cuts: Mapping[Key, list[Span]]) -> list[_Place]:
    places: list[_Place] = []
    for path, text in texts_of(message):
        if len(text) > LEAST_CHARS:
            key = (message.id, path)
            now = keep_spans(text, cuts[key]) if key in cuts else text
            places.append(_Place(key, text, _shape(message, path), services.count(now)))
    return places


def _shape(message: Message, path: Path) -> Shape:
    return "both-ends" if isinstance(message.parts[path[0]], ToolResult) else "beginning"


def _larger_than(most: int, request: Request) -> Iterator[Message]:
    for group in request.groups:
        if is_free(group, request.protected):
            for at in group.positions:
                if request.tokens[request.messages[at].id] > most:
                    yield request.messages[at]


def _cut_results(message: Message, services: Services, *, most: int) -> tuple[Cuts, int]:
    """Cut each tool result of a message down to `most` tokens; give the spans and the tokens they save."""
    results: dict[int, list[_Place]] = {}
    for place in _places(message, services, cuts={}):
        if place.shape == "both-ends":
            results.setdefault(place.key[1][0], []).append(place)
    cuts: Cuts = {}
    saved = 0
    for places in results.values():
        found, spared = _level_down(places, services, excess=sum(place.tokens for place in places) - most)
        cuts |= found
        saved += spared
    return cuts, saved


def _level_down(places: Sequence[_Place], services: Services, *, excess: int) -> tuple[Cuts, int]:
    """Cut the longest texts to one length so that `excess` tokens are saved, or as many as can be."""
    cuts: Cuts = {}
    saved = 0
    longest_first = sorted(places, key=lambda place: -place.tokens)
    level = _level([place.tokens for place in longest_first], excess)
    for place in longest_first:
        if saved >= excess or place.tokens <= level:
            break
        most = max(level, place.tokens - (excess - saved))
        cut = cut_text(place.text, tokens=place.tokens, most=most, shape=place.shape, count=services.count)
        if cut is not None:
            cuts[place.key] = cut.spans
            saved += place.tokens - cut.tokens
    return cuts, saved


def _level(descending: Sequence[int], excess: int) -> int:
    """Give the length to which the longest must come down so that `excess` is saved; at least 0."""
    above = 0
    for number, tokens in enumerate(descending, 1):
        above += tokens
        following = descending[number] if number < len(descending) else 0
        level = (above - excess) // number
        if level >= following:
            return max(0, level)
    return 0


def _eased(request: Request, saved: Mapping[str, int]) -> Request:
    if not saved:
        return request
    return replace(
        request,
        total=request.total - sum(saved.values()),
        tokens={name: tokens - saved.get(name, 0) for name, tokens in request.tokens.items()},
        groups=tuple(
            group._replace(tokens=group.tokens - sum(saved.get(name, 0) for name in group.ids))
            for group in request.groups
        ),
    )
