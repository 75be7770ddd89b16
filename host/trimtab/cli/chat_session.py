"""The chat that is being talked in: its host, its messages by number, its settings."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from trimtab_sdk.errors import InvalidRequestError

if TYPE_CHECKING:
    from trimtab.cli.chat_loop import LoopThread
    from trimtab.config import Config
    from trimtab.host import Host
    from trimtab.store.protocol import StoredChat, StoredMessage
    from trimtab.turns.events import TurnEvent
    from trimtab.turns.settings import ChatSettings
    from trimtab.turns.stream import TurnStream

_T = TypeVar("_T")

_NUMBER = re.compile(r"#?([0-9]{1,12})")
_LEAST_PREFIX = 4


@dataclass(slots=True)
class Session:
    """A chat that is being talked in.

    `empty` tells that it was made just now and nothing was said yet, so it need not stay. `numbers` is number → id
    of all messages seen so far, those of other branches too.
    """

    loop: LoopThread
    host: Host
    config: Config
    owner: str
    chat_id: str
    empty: bool = False
    numbers: dict[int, str] = field(default_factory=dict)

    def run(self, work: Coroutine[object, object, _T]) -> _T:
        """Run a coroutine of the host."""
        return self.loop.run(work)

    def chat(self) -> StoredChat:
        """Give the chat as it is stored."""
        return self.run(self.host.chat(self.chat_id, owner=self.owner))

    def settings(self) -> ChatSettings:
        """Give the settings of the chat."""
        return self.run(self.host.settings(self.chat_id, owner=self.owner))

    def messages(self) -> list[StoredMessage]:
        """Give the messages of the active branch, and remember their numbers."""
        found = self.run(self.host.messages(self.chat_id, owner=self.owner))
        self.numbers |= {one.seq: one.message.id for one in found}
        return found

    def change(self, **changes: object) -> ChatSettings:
        """Change settings, once a turn is known to work with them. Raises what a turn would fail with."""
        settings = self.settings().changed(**changes)
        check_settings(settings, self.config)
        changed = self.host.update_chat(
            self.chat_id,
            owner=self.owner,
            provider=settings.provider,
            model=settings.model,
            context_strategy=settings.context_strategy,
            context_settings=settings.context_settings,
        )
        self.run(changed)
        return settings

    def ids(self, names: Sequence[str]) -> list[str]:
        """Give the ids behind names of messages: `#3` or `3`, an id, the beginning of one.

        Raises InvalidRequestError for a name that says nothing, or too little.
        """
        self.messages()
        return [self._id(name) for name in names]

    def events(self, stream: TurnStream) -> Iterator[TurnEvent]:
        """Give the events of a turn as they come."""
        self.empty = False
        events = aiter(stream)
        while (event := self.run(_next(events))) is not None:
            yield event

    def _id(self, name: str) -> str:
        known = set(self.numbers.values())
        if name in known:
            return name
        number = _NUMBER.fullmatch(name)
        if number and int(number[1]) in self.numbers:
            return self.numbers[int(number[1])]
        begun = [one for one in known if one.startswith(name)] if len(name) >= _LEAST_PREFIX else []
        if len(begun) == 1:
            return begun[0]
        raise InvalidRequestError(f"there is no message {name!r}; /messages shows their numbers", path="message")


async def _next(events: AsyncIterator[TurnEvent]) -> TurnEvent | None:
    return await anext(events, None)


def check_settings(settings: ChatSettings, config: Config) -> None:
    """Raise what a turn with these settings would fail with before anything is sent."""
    from trimtab.loading.registry import DEFAULT_REGISTRY
    from trimtab.turns.recipe import make_recipe

    make_recipe(settings, tools=(), scope="check", config=config, registry=DEFAULT_REGISTRY, environ=os.environ)
