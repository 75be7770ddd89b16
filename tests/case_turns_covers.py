"""How a fact about turns is covered, and the means to ask more of a story that has been told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from case_covers import ByField, Waits, check_named, check_waits
from case_files import Case
from case_turns_play import play
from case_turns_story import Story
from trimtab.host import Host

T = TypeVar("T")
StoryFact: TypeAlias = Callable[[Story], None]


@dataclass(frozen=True)
class Partly:
    """What can be checked of a fact now, and what the rest of it waits for."""

    check: StoryFact
    rest: Waits


StoryCover: TypeAlias = StoryFact | ByField | Waits | Partly


def check_story_fact(cover: StoryCover, stories: Sequence[Story]) -> None:
    """Check a fact over all stories of its case."""
    if isinstance(cover, ByField):
        check_named(cover, stories)
    elif isinstance(cover, Waits):
        check_waits(cover, stories[0].label)
    elif isinstance(cover, Partly):
        check_waits(cover.rest, stories[0].label)
        check_story_fact(cover.check, stories)
    else:
        for story in stories:
            cover(story)


def again(story: Story, case: Case) -> Story:
    """Play a changed case beside the store of a story."""
    return play(case, story.place.parent)


def ask(story: Story, question: Callable[[Host], Awaitable[T]]) -> T:
    """Open a new host on the store of a story, and ask it something."""

    async def answer() -> T:
        async with story.host() as host:
            return await question(host)

    return asyncio.run(answer())
