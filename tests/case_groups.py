"""Which messages of a case belong together, read off the views of the raw messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from case_views import View


def groups_of(views: Sequence[View]) -> list[list[int]]:
    """Split messages into groups of places, ordered by first member.

    A result belongs to the nearest earlier message with an open call of its id, an approval to its call, and an
    assistant message that only thinks to the assistant message right behind it and the calls that follow that.
    """
    owner = list(range(len(views)))
    open_calls = [[call.id for call in view.calls] for view in views]
    for at, view in enumerate(views):
        for root in (*_calls_of(view, at, open_calls), *_asked_in(view, at, views)):
            _join(owner, root, at)
    for first, last in _thought_runs(views):
        for at in range(first + 1, last + 1):
            _join(owner, first, at)
    groups: dict[int, list[int]] = {}
    for at, root in enumerate(owner):
        groups.setdefault(root, []).append(at)
    return list(groups.values())


def _join(owner: list[int], one: int, other: int) -> None:
    first, second = sorted((owner[one], owner[other]))
    owner[:] = [first if root == second else root for root in owner]


def _calls_of(view: View, at: int, open_calls: list[list[str]]) -> Iterator[int]:
    for wanted in view.answers:
        for earlier in reversed(range(at)):
            if wanted in open_calls[earlier]:
                open_calls[earlier].remove(wanted)
                yield earlier
                break


def _asked_in(view: View, at: int, views: Sequence[View]) -> Iterator[int]:
    """The messages that approvals in this one speak of: the nearest with the call, the nearest that asked."""
    for _, wanted in view.asks:
        yield from _nearest(at, [wanted in [call.id for call in one.calls] for one in views])
    for approval in view.approves:
        yield from _nearest(at, [approval in [asked for asked, _ in one.asks] for one in views])


def _nearest(at: int, holds: Sequence[bool]) -> Iterator[int]:
    yield from [place for place in range(at + 1) if holds[place]][-1:]


def _thought_runs(views: Sequence[View]) -> Iterator[tuple[int, int]]:
    """The first and last place of what one thought leads to: thinking, an answer, the calls right behind it."""
    at = 0
    while at < len(views):
        first = last = at
        while last < len(views) and views[last].only_thinks:
            last += 1
        if last > first:
            while last + 1 < len(views) and views[last].role == "assistant" and _only_calls(views[last + 1]):
                last += 1
            answered = last < len(views) and views[last].role == "assistant"
            yield first, last if answered else last - 1
        at = last + 1


def _only_calls(view: View) -> bool:
    return view.role == "assistant" and bool(view.calls)
