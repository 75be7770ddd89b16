"""Calling a plugin for a limited time: in this process in a thread of its own, or confined in a worker.

An in-process plugin is trusted code: it can be abandoned when it is late, but not stopped. A worker is killed.
"""

from __future__ import annotations

import copy
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar, overload

from trimtab.fitting.cleaning import class_name, clean_note
from trimtab.fitting.context import Context
from trimtab.fitting.counting import Counter
from trimtab.fitting.placing import insert_text
from trimtab.loading.plugins import SHIFT
from trimtab_sdk.errors import (
    Origin,
    PluginBusyError,
    PluginCrashedError,
    PluginNeedsError,
    PluginTimeoutError,
    ServiceUnavailableError,
)
from trimtab_sdk.messages import EMPTY_META, Message, Notice, Part, Text, ToolResult, Unknown, plain_text
from trimtab_sdk.protection import current_input
from trimtab_sdk.request import Request

if TYPE_CHECKING:
    from trimtab.config import Config
    from trimtab.loading.plugins import Plugin


@dataclass(frozen=True, slots=True)
class Room:
    """The room a plugin is told of, in tokens."""

    budget: int
    target: int


@dataclass(slots=True)
class CallTrace:
    """What a call used, filled in whether it ends well or not.

    - `seconds` of wall time; `confined` says that it ran in a worker.
    - `asked`: how often a confined plugin asked the host for something.
    - `output`: what a confined plugin printed, cleaned and capped.
    - `refused`: confinement steps the platform refused, step → why.
    """

    seconds: float = 0.0
    confined: bool = False
    asked: int = 0
    output: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)


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

    def served(self, name: str) -> Callable[[object], object]:
        """Give a service as what answers the frames of a worker."""
        return {"count": lambda text: self.count(_text(text))}[name]


def cost_service(request: Request) -> Callable[[object], object]:
    """Give `request.cost_of_insert` as what answers the frames of a worker."""
    return lambda text: request.cost_of_insert(_text(text))


def _text(value: object) -> str:
    from trimtab_worker.services import MOST_CHARS

    if type(value) is not str:
        raise TypeError(f"a text is wanted, not a {type(value).__name__}")
    if len(value) > MOST_CHARS:
        raise ValueError(f"a text of {len(value)} characters; at most {MOST_CHARS} are taken")
    return value.encode("utf-8", "replace").decode()


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
        config: Config,
        trace: CallTrace,
        scope: str | None = None,
        seconds: float | None = None,
    ) -> object:
        """Call a hook and give what it answered, unchecked. `trace` is filled in, also when this raises.

        `scope` is the key of the conversation or tenant: a worker never sees two of them. Without one each call
        gets a worker of its own. `seconds` may shorten the time limit that the configuration gives.

        Raises PluginTimeoutError after the plugin's seconds, PluginBusyError while an earlier call still runs, and
        PluginCrashedError for whatever the plugin raises, SystemExit included; PluginNeedsError when the host
        lacks a service that the plugin's traits name.
        """
        limit = config.seconds_for(plugin.origin.plugin, strategy=hook == SHIFT)
        seconds = limit if seconds is None else min(limit, seconds)
        began = time.monotonic()
        call = self._call_here if plugin.confined is None else self._call_confined
        try:
            return call(plugin, hook, request, counter, config=config, trace=trace, scope=scope, seconds=seconds)
        finally:
            trace.seconds = time.monotonic() - began

    def forget(self, scope: str) -> None:
        """End the workers of a conversation that is over. Never waits."""
        # Not there yet, or just being imported while a finalizer runs: then there are no workers either.
        find_pool = getattr(sys.modules.get("trimtab.loading.worker.pool"), "worker_pool", None)
        if find_pool is not None:
            find_pool().forget(scope)

    def _call_confined(
        self,
        plugin: Plugin,
        hook: str,
        request: Request,
        counter: Counter,
        *,
        config: Config,
        trace: CallTrace,
        scope: str | None,
        seconds: float,
    ) -> object:
        from trimtab.loading.worker.calling import Use, call_confined
        from trimtab.loading.worker.pool import worker_pool
        from trimtab.loading.worker.spec import bounds_of

        assert plugin.confined is not None
        trace.confined = True
        name = plugin.origin.plugin
        grant = config.grant_for(name)
        services = HostServices(counter, time.monotonic() + seconds)
        offered = tuple(one for one in grant.services if services.can(one))
        _check_needs(plugin, hook, offered)
        use = Use()
        try:
            return call_confined(
                worker_pool(),
                plugin.confined,
                request,
                services={"cost": cost_service(request), **{one: services.served(one) for one in offered}},
                offered=offered,
                meta=grant.meta,
                scope=scope,
                bounds=bounds_of(config, name),
                seconds=seconds,
                use=use,
            )
        finally:
            trace.asked, trace.output, trace.refused = use.asked, clean_note(use.output), use.refused

    def _call_here(
        self,
        plugin: Plugin,
        hook: str,
        request: Request,
        counter: Counter,
        *,
        seconds: float,
        **_: object,
    ) -> object:
        self._refuse_busy(plugin, hook)
        services = HostServices(counter, time.monotonic() + seconds)
        _check_needs(plugin, hook, tuple(need for need in plugin.traits.needs if services.can(need)))
        outcome: list[object] = []
        failure: list[tuple[BaseException, str]] = []

        def run() -> None:
            try:
                outcome.append(plugin.call(hook, request=request, services=services))
            except BaseException as error:
                # What the error says is asked here, where it may take no longer than the call.
                failure.append((error, _words(error)))

        thread = threading.Thread(target=run, name=f"trimtab-{plugin.origin.plugin}", daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            with self._lock:
                self._late[id(plugin)] = thread
            raise PluginTimeoutError(f"did not answer within {seconds:g} s", origin=plugin.origin, hook=hook)
        if failure:
            error, words = failure[0]
            raise _crashed(error, words, plugin.origin, hook) from error
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


def _check_needs(plugin: Plugin, hook: str, offered: Collection[str]) -> None:
    for need in plugin.traits.needs:
        if need not in offered:
            raise PluginNeedsError(
                f"needs the service {need}, which this host does not offer here", origin=plugin.origin, hook=hook
            )


def _crashed(error: BaseException, words: str, origin: Origin, hook: str) -> PluginCrashedError:
    return PluginCrashedError(f"raised {class_name(error)}: {words}", origin=origin, hook=hook)


def _words(error: BaseException) -> str:
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
    leaves: bool = False,
) -> Request:
    """Make what one plugin is given: copies of the messages, so that whatever it does to them stays its own.

    Each copy is made when it is first looked at. A request that `leaves` the process needs none.
    """
    base = Message("cost", "system")

    def cost_of_insert(text: str) -> int:
        framed = replace(base, parts=(insert_text(text, plugin=plugin, summary=summary),))
        return counter.message(framed).tokens

    give = _with_pins if leaves else copy_messages
    messages = give(context.messages, context.protected)
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


def _with_pins(messages: Sequence[Message], protected: Mapping[str, str]) -> Sequence[Message]:
    """Give the messages themselves; only those protected by a pin are made anew, marked as pinned."""
    return tuple([replace(one, pinned=True) if protected.get(one.id) == "pinned" else one for one in messages])


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
