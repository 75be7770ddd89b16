"""Calling a plugin in this process: on a copy, in a thread of its own, for a limited time.

An in-process plugin is trusted code: it can be abandoned when it is late, but not stopped.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, overload

from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab_sdk.errors import (
    Origin,
    PluginBusyError,
    PluginCrashedError,
    PluginNeedsError,
    PluginTimeoutError,
    ServiceUnavailableError,
)
from trimtab_sdk.labels import labelled
from trimtab_sdk.messages import EMPTY_META, Message, Notice, Part, Text, ToolResult, Unknown, plain_text
from trimtab_sdk.protection import current_input
from trimtab_sdk.request import Request

if TYPE_CHECKING:
    from trimtab.loading.plugins import Plugin


@dataclass(frozen=True, slots=True)
class Room:
    """The room a plugin is told of, in tokens."""

    budget: int
    target: int


class HostServices:
    """What the host does for a plugin that runs in its process."""

    def __init__(self, counter: Counter, deadline: float) -> None:
        self._counter = counter
        self._deadline = deadline

    @property
    def deadline(self) -> float:
        """The moment the answer is due, on the clock of `time.monotonic()` (seconds)."""
        return self._deadline

    def can(self, name: str) -> bool:
        """Tell whether the host offers a service here."""
        return name == "count"

    def count(self, text: str) -> int:
        """Count `text` in tokens; lone surrogates are counted as U+FFFD."""
        if not isinstance(text, str):
            raise TypeError(f"services.count takes a text, not a {type(text).__name__}")
        return self._counter.text(text.encode("utf-8", "replace").decode())

    def embed(self, texts: list[str]) -> list[list[float]]:
        """Raise ServiceUnavailableError: no embedder is in play here."""
        raise ServiceUnavailableError("embed")


class PluginCaller:
    """Calls hooks, and remembers which plugins have not come back yet. Safe to share between threads."""

    def __init__(self) -> None:
        self._late: dict[int, threading.Thread] = {}
        self._lock = threading.Lock()

    def call(
        self,
        plugin: Plugin,
        hook: str,
        request: Request,
        counter: Counter,
        *,
        seconds: float,
    ) -> object:
        """Call a hook and give what it answered, unchecked.

        Raises PluginTimeoutError after `seconds`, PluginBusyError while an earlier call still runs, and
        PluginCrashedError for whatever the plugin raises, SystemExit included; PluginNeedsError when the host
        lacks a service that the plugin's traits name.
        """
        self._refuse_busy(plugin, hook)
        services = HostServices(counter, time.monotonic() + seconds)
        for need in plugin.traits.needs:
            if not services.can(need):
                raise PluginNeedsError(
                    f"needs the service {need}, which this host does not offer", origin=plugin.origin, hook=hook
                )
        outcome: list[object] = []
        failure: list[BaseException] = []

        def run() -> None:
            try:
                outcome.append(plugin.call(hook, request=request, services=services))
            except BaseException as error:
                failure.append(error)

        thread = threading.Thread(target=run, name=f"trimtab-{plugin.origin.plugin}", daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            with self._lock:
                self._late[id(plugin)] = thread
            raise PluginTimeoutError(f"did not answer within {seconds:g} s", origin=plugin.origin, hook=hook)
        if failure:
            raise _crashed(failure[0], plugin.origin, hook) from failure[0]
        return outcome[0]

    def _refuse_busy(self, plugin: Plugin, hook: str) -> None:
        with self._lock:
            thread = self._late.get(id(plugin))
            if thread is None:
                return
            if thread.is_alive():
                raise PluginBusyError(
                    "an earlier call that came too late still runs", origin=plugin.origin, hook=hook
                )
            del self._late[id(plugin)]


def _crashed(error: BaseException, origin: Origin, hook: str) -> PluginCrashedError:
    return PluginCrashedError(f"raised {type(error).__name__}: {_words(error)}", origin=origin, hook=hook)


def _words(error: BaseException) -> str:
    from trimtab.fitting.cleaning import clean_note

    try:
        return clean_note(str(error))
    except BaseException:
        return "(no text)"


def make_request(
    context: Context,
    *,
    room: Room,
    counter: Counter,
    plugin: str,
    summary: bool,
    settings: Mapping[str, object],
) -> Request:
    """Make what one plugin is given: copies of the messages, so that whatever it does to them stays its own."""
    base = Message("cost", "system")

    def cost_of_insert(text: str) -> int:
        framed = replace(base, parts=(Text(labelled(text, plugin=plugin, summary=summary)),))
        return counter.message(framed).tokens

    messages = copy_messages(context.messages, context.protected)
    return Request(
        messages=messages,
        groups=context.groups,
        tokens={message.id: context.costs[message.id].tokens for message in context.messages},
        protected=frozenset(message.id for message in context.messages if message.id in context.protected),
        budget=room.budget,
        total=context.total,
        overhead=context.overhead,
        target=room.target,
        cost_of_insert=cost_of_insert,
        query="\n".join(plain_text(context.messages[at]) for at in current_input(context.messages)),
        settings=copy.deepcopy(dict(settings)),
    )


_Item = TypeVar("_Item")


class Copies(Sequence[_Item]):
    """Copies of things the host keeps, each made when it is first looked at."""

    def __init__(self, items: Sequence[_Item], copy_of: Callable[[_Item], _Item]) -> None:
        self._items: Sequence[_Item] = items
        self._copy_of: Callable[[_Item], _Item] = copy_of
        self._copies: dict[int, _Item] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[_Item]:
        if len(self._copies) < len(self._items):
            for at, item in enumerate(self._items):
                if at not in self._copies:
                    self._copies[at] = self._copy_of(item)
        return iter([self._copies[at] for at in range(len(self._items))])

    @overload
    def __getitem__(self, index: int) -> _Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[_Item, ...]: ...
    def __getitem__(self, index: int | slice) -> _Item | tuple[_Item, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self._items))))
        at = range(len(self._items))[index]
        copied = self._copies.get(at)
        if copied is None:
            copied = self._copies[at] = self._copy_of(self._items[at])
        return copied


def copy_messages(messages: Sequence[Message], protected: Mapping[str, str]) -> Copies[Message]:
    """Give new messages with new parts; those protected by a pin are marked as pinned."""

    def copy_of(message: Message) -> Message:
        return _copy_message(message, pinned=protected.get(message.id) == "pinned")

    return Copies(messages, copy_of)


def _copy_message(message: Message, *, pinned: bool) -> Message:
    return Message(
        message.id,
        message.role,
        tuple([_copy_part(part) for part in message.parts]),
        message.name,
        message.source,
        message.pinned or pinned,
        message.required,
        message.ephemeral,
        message.relevance,
        copy.deepcopy(dict(message.meta)) if message.meta else EMPTY_META,
    )


def _copy_part(part: Part) -> Part:
    if type(part) is Text:
        return Text(part.text)
    if isinstance(part, ToolResult) and not isinstance(part.content, str):
        return replace(part, content=tuple(copy.copy(inner) for inner in copy.deepcopy(part.content)))
    if isinstance(part, Unknown | Notice):
        return copy.deepcopy(part)
    return copy.copy(part)
