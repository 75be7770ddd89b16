"""`vector-recall`: what has little to do with the current input leaves first, then old history, oldest first.

Lorebook entries and memories under the `threshold` leave by relevance, the least relevant first. Then history
leaves by age. Relevant entries leave only after it, and the steps of the running turn last of all. Nothing
more leaves than needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trimtab_sdk import (
    Departure,
    Edit,
    Group,
    Message,
    Request,
    Services,
    Traits,
    current_input,
    hookimpl,
    is_aside,
    leaving_order,
    plain_text,
)
from trimtab_strategies import shortening
from trimtab_strategies.relevance import measure, query_terms

RECALLED = frozenset({"lorebook", "memory"})
"""The sources that leave by relevance."""
THRESHOLD = 0.2
"""Under this, an entry has little to do with the input. One rare word in common makes about 0.5."""

SCHEMA = {
    "type": "object",
    "properties": {"threshold": {"type": "number", "minimum": 0, "maximum": 1}, **shortening.SETTINGS},
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class _Entry:
    """A group of lorebook entries or memories that may leave, and its relevance from 0 to 1."""

    group: Group
    relevance: float


@hookimpl
def trimtab_traits() -> Traits:
    """Say which settings there are."""
    return Traits(settings_schema=SCHEMA)


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Drop by relevance and age down to the target, and name the entries that matter."""
    if request.total <= request.budget:
        return Edit()
    eased, cuts = shortening.shorten_results(request, services)
    departures = leaving_order(eased.messages, eased.groups, protected=eased.protected)
    entries, notes = _weigh(eased, services, departures)
    low = [entry for entry in entries if entry.relevance < _threshold(request)]
    high = [entry for entry in entries if entry.relevance >= _threshold(request)]
    leaving = _needed(eased, _order(departures, low, high))
    edit = shortening.drop_or_shorten(eased, services, leaving, cuts=cuts)
    return replace(edit, relevant=_staying(high, edit), notes=notes)


def _threshold(request: Request) -> float:
    value = request.settings.get("threshold")
    return value if isinstance(value, int | float) else THRESHOLD


def _weigh(
    request: Request, services: Services, departures: Sequence[Departure]
) -> tuple[list[_Entry], list[str]]:
    """Give the entries among what may leave, the least relevant and of those the oldest first, and notes."""
    groups = [departure.group for departure in departures if _is_recalled(request, departure.group)]
    if not groups:
        return [], []
    messages = [request.messages[at] for group in groups for at in group.positions]
    scores, notes = measure(_query(request), [plain_text(message) for message in messages], services)
    known = {
        message.id: max(score, message.relevance or 0.0) for message, score in zip(messages, scores, strict=True)
    }
    entries = [_Entry(group, max(known[name] for name in group.ids)) for group in groups]
    return sorted(entries, key=lambda entry: entry.relevance), notes


def _is_recalled(request: Request, group: Group) -> bool:
    return all(request.messages[at].source in RECALLED for at in group.positions)


def _query(request: Request) -> str:
    """Give the text of the input, behind that of the message before it when it says nothing by itself."""
    if query_terms(request.query):
        return request.query
    inputs = current_input(request.messages)
    earlier = reversed(request.messages[: inputs[0]] if inputs else ())
    before = next((message for message in earlier if _speaks(message)), None)
    return request.query if before is None else f"{plain_text(before)}\n{request.query}"


def _speaks(message: Message) -> bool:
    return message.role in ("user", "assistant") and not is_aside(message) and bool(plain_text(message).strip())


def _order(
    departures: Sequence[Departure], low: Sequence[_Entry], high: Sequence[_Entry]
) -> list[tuple[Group, str]]:
    """Order all that may leave, each with its reason."""
    entries = {entry.group.positions for entry in (*low, *high)}
    history = [departure for departure in departures if departure.group.positions not in entries]
    return [
        *((entry.group, "low-relevance") for entry in low),
        *((one.group, one.reason) for one in history if one.reason == "context-shift"),
        *((entry.group, "low-relevance") for entry in high),
        *((one.group, one.reason) for one in history if one.reason == "running-turn"),
    ]


def _needed(request: Request, order: Sequence[tuple[Group, str]]) -> list[tuple[Group, str]]:
    """Give the first of them, as many as bring the total down to the target."""
    excess = request.total - min(request.target, request.budget)
    needed: list[tuple[Group, str]] = []
    for group, reason in order:
        if excess <= 0:
            break
        needed.append((group, reason))
        excess -= group.tokens
    return needed


def _staying(high: Sequence[_Entry], edit: Edit) -> list[str]:
    return [name for entry in high for name in entry.group.ids if entry.relevance > 0 and name not in edit.drop]
