"""How plugins behave in one conversation: the time they took in this turn, and how often they failed in all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from trimtab.fitting.account import PluginKey
from trimtab_sdk.errors import (
    PluginBusyError,
    PluginError,
    PluginNeedsError,
    PluginSuspendedError,
    PluginTimeoutError,
)
from trimtab_sdk.messages import Message, plain_text
from trimtab_sdk.protection import Tail, tail_of

if TYPE_CHECKING:
    from trimtab.fitting.calling import CallTrace

STRIKES = 3
MAX_SCOPES = 1024
MAX_TURNS = 16

Turn: TypeAlias = int
"""A turn, told apart by its current input."""


class Conduct:
    """The books of one conversation: strikes in all, and the seconds of the last turns. Safe between threads.

    A call that fails is a strike, and three strikes end it: nothing takes one back, neither a good answer nor
    another turn. No strike are a call that was not made (a busy plugin, a service the host lacks, an allowance
    that is used up) and one that came too late only because little was left of its allowance.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._strikes: dict[PluginKey, tuple[str, ...]] = {}
        self._spent: OrderedDict[Turn, dict[PluginKey, float]] = OrderedDict()

    def copy(self) -> Conduct:
        """Give books of their own that begin as these are, for a fit that shall leave no trace."""
        other = Conduct()
        with self._lock:
            other._strikes = dict(self._strikes)
            other._spent = OrderedDict((turn, dict(spent)) for turn, spent in self._spent.items())
        return other

    @contextmanager
    def watch(
        self, plugin: PluginKey, turn: Turn, trace: CallTrace, *, seconds: float, turn_seconds: float
    ) -> Iterator[float]:
        """Give the seconds that a call may take, and book what `trace` and a PluginError of the block tell.

        `seconds` is the limit of one call, `turn_seconds` that of all calls in this turn. Raises
        PluginSuspendedError after three strikes, PluginTimeoutError when the turn's allowance is used up.
        """
        self._refuse_suspended(plugin)
        left = turn_seconds - self._spent_in(plugin, turn)
        if left <= 0:
            origin, hook = plugin
            text = f"its {turn_seconds:g} s for this turn are used up; it is called again in the next turn"
            raise PluginTimeoutError(text, origin=origin, hook=hook)
        try:
            yield min(seconds, left)
        except PluginBusyError:
            raise  # the time went by waiting for the host
        except PluginError as error:
            self._spend(plugin, turn, trace.seconds)
            hurried = isinstance(error, PluginTimeoutError) and left < min(seconds, turn_seconds)
            if not hurried and not isinstance(error, PluginNeedsError):
                self._strike(plugin, error.code)
            raise
        self._spend(plugin, turn, trace.seconds)

    def _refuse_suspended(self, plugin: PluginKey) -> None:
        with self._lock:
            codes = self._strikes.get(plugin, ())
        if len(codes) >= STRIKES:
            origin, hook = plugin
            raise PluginSuspendedError(
                f"failed {STRIKES} times in this conversation ({', '.join(codes[:STRIKES])}) and is not called "
                "in it any more; mend it, then start another conversation or scope",
                origin=origin,
                hook=hook,
            )

    def _strike(self, plugin: PluginKey, code: str) -> None:
        with self._lock:
            self._strikes[plugin] = (*self._strikes.get(plugin, ()), code)

    def _spent_in(self, plugin: PluginKey, turn: Turn) -> float:
        with self._lock:
            return self._spent.get(turn, {}).get(plugin, 0.0)

    def _spend(self, plugin: PluginKey, turn: Turn, seconds: float) -> None:
        with self._lock:
            spent = self._spent.setdefault(turn, {})
            spent[plugin] = spent.get(plugin, 0.0) + seconds
            self._spent.move_to_end(turn)
            if len(self._spent) > MAX_TURNS:
                self._spent.popitem(last=False)


class Conducts:
    """The conduct of each scope; of many scopes those used last. Safe between threads."""

    def __init__(self, most: int = MAX_SCOPES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._scopes: OrderedDict[str, Conduct] = OrderedDict()

    def of(self, scope: str | None) -> Conduct:
        """Give the conduct in a scope; None is a fresh one for each call."""
        if scope is None:
            return Conduct()
        with self._lock:
            conduct = self._scopes.setdefault(scope, Conduct())
            self._scopes.move_to_end(scope)
            if len(self._scopes) > self._most:
                self._scopes.popitem(last=False)
            return conduct


def turn_of(messages: Sequence[Message], tail: Tail | None = None) -> Turn:
    """Tell which turn a conversation is in, by ids and texts of its current input; else by its last message.

    `tail` goes before what `tail_of` reads, for a list that others were taken out of.
    """
    inputs = (tail_of(messages) if tail is None else tail).inputs
    told = [messages[at] for at in inputs] if inputs else messages[-1:]
    return hash(tuple((message.id, plain_text(message)) for message in told))
