"""A strategy that keeps what people asked.

Everything else leaves first, oldest first. Where that is not enough the oldest questions leave as well, and a list
of them takes their place, as long as it costs less than they did.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence

from trimtab_sdk import (
    AT_GAP,
    Departure,
    Edit,
    Insert,
    Message,
    Request,
    Services,
    Traits,
    hookimpl,
    is_aside,
    leaving_order,
    plain_text,
)

LINES = 20
SHARE = 0.1
LEAST_ROOM = 128
HEAD = "Questions asked earlier:"
# No expression with a repetition in it: the time to split a text must not grow faster than the text.
_SENTENCE_ENDS = re.compile(r"(?<=[.!?？؟。\n])")
_QUESTION_MARKS = ("?", "？", "؟")
_MOST_LETTERS = 300
_SPARE_SECONDS = 0.2

SETTINGS: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "lines": {"type": "integer", "minimum": 0, "maximum": 200, "default": LINES},
        "share": {"type": "number", "minimum": 0, "maximum": 0.12, "default": SHARE},
    },
    "additionalProperties": False,
}


@hookimpl
def trimtab_traits() -> Traits:
    """Take the two settings of the README; anything else is refused by the host before this module is called."""
    return Traits(settings_schema=SETTINGS)


@hookimpl
def trimtab_shift(request: Request, services: Services) -> Edit:
    """Let answers leave before questions, and list the questions that leave."""
    questions = {message.id: _questions_of(message) for message in request.messages}
    room = _room(request, services)
    leaving = _choose(request, questions, room)
    drop = {name: departure.reason for departure in leaving for name in departure.group.ids}
    asked = [name for name in drop if questions[name]]
    after = request.total - sum(departure.group.tokens for departure in leaving)
    listed = _list_of(asked, questions, request, services, min(room, request.target - after))
    return Edit(drop=drop, insert=[listed] if listed else [], notes=_notes(asked, listed))


def _questions_of(message: Message) -> list[str]:
    """Give the questions in what a person wrote, each on one line and not too long."""
    if message.role != "user" or is_aside(message):
        return []
    pieces = (" ".join(piece.split()) for piece in _SENTENCE_ENDS.split(plain_text(message)))
    return [_shortened(piece) for piece in pieces if piece.endswith(_QUESTION_MARKS) and len(piece) > 1]


def _shortened(question: str) -> str:
    # Half a surrogate pair, which JSON may name, cannot be sent; an insert with one in it would be rejected.
    sound = question.encode("utf-8", "replace").decode()
    return sound if len(sound) <= _MOST_LETTERS else f"…{sound[-_MOST_LETTERS:]}"


def _room(request: Request, services: Services) -> int:
    """Give what a list of questions may cost, in tokens; nothing when it is switched off or time is short."""
    if _most_lines(request) == 0 or time.monotonic() > services.deadline - _SPARE_SECONDS:
        return 0
    share = request.settings.get("share", SHARE)
    wanted = int(request.budget * share) if isinstance(share, int | float) else 0
    return min(max(wanted, LEAST_ROOM), request.target // 4)


def _choose(request: Request, questions: Mapping[str, Sequence[str]], room: int) -> list[Departure]:
    """Choose the groups that leave, and why. Once a question leaves, `room` is kept free for the list."""
    order = leaving_order(request.messages, request.groups, protected=request.protected)
    plain = [one for one in order if not any(questions[name] for name in one.group.ids)]
    asking = [one for one in order if any(questions[name] for name in one.group.ids)]
    total = request.total
    chosen: list[Departure] = []
    for departures, goal in ((plain, request.target), (asking, request.target - room)):
        if total <= request.target:
            break
        for departure in departures:
            if total <= goal:
                break
            total -= departure.group.tokens
            chosen.append(departure)
    return chosen


def _list_of(
    asked: Sequence[str],
    questions: Mapping[str, Sequence[str]],
    request: Request,
    services: Services,
    room: int,
) -> Insert | None:
    """Write the list with as many of the newest questions as there is room for, or none."""
    chosen = list(_newest(asked, questions, request, services, room))[::-1]
    while chosen:
        text = "\n".join([HEAD, *(line for _, line in chosen)])
        covers = list(dict.fromkeys(name for name, _ in chosen))
        cost = request.cost_of_insert(text)
        if cost <= room:
            return Insert(text, AT_GAP, covers=covers) if cost < _tokens(covers, request) else None
        # Lines that are counted one by one can come out a few tokens cheaper than the text they make.
        del chosen[0]
    return None


def _newest(
    asked: Sequence[str],
    questions: Mapping[str, Sequence[str]],
    request: Request,
    services: Services,
    room: int,
) -> Iterator[tuple[str, str]]:
    """Give (id, line) from the newest question back, each line counted once, while there is room and time."""
    spent = request.cost_of_insert(HEAD)
    lines = [(name, f"- {question}") for name in asked for question in questions[name]]
    for name, line in reversed(lines[-_most_lines(request) :]):
        spent += services.count(f"\n{line}")
        if spent > room or time.monotonic() > services.deadline - _SPARE_SECONDS:
            return
        yield name, line


def _most_lines(request: Request) -> int:
    lines = request.settings.get("lines", LINES)
    return lines if isinstance(lines, int) else LINES


def _tokens(covers: Sequence[str], request: Request) -> int:
    return sum(request.tokens[name] for name in covers)


def _notes(asked: Sequence[str], listed: Insert | None) -> list[str]:
    if not asked:
        return []
    return [f"{len(asked)} messages with questions left, {len(listed.covers) if listed else 0} of them are listed"]
