"""A conversation that is fitted again and again: what is known of it is kept, and the accepted edit carried on."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from trimtab.config import Config
from trimtab.fitting.allocation import gc_paused
from trimtab.fitting.carrying import Carried, carry
from trimtab.fitting.job import Job, Setup
from trimtab.fitting.outside import clean_input
from trimtab.fitting.pipeline import Outcome, run_pipeline
from trimtab.fitting.recording import UNSTABLE
from trimtab.fitting.reporting import Whole, make_fit
from trimtab.fitting.stability import PrefixWatch, Stage, View
from trimtab.loading.plugins import INTERCEPT, SHIFT
from trimtab.loading.registry import ContextStrategyRegistry
from trimtab.naming import named_ids
from trimtab.opening import Options, open_conversation, replaced_note
from trimtab.report import Diagnostic, Fit
from trimtab_sdk.counting import Cost
from trimtab_sdk.errors import InvalidBudgetError, InvalidRequestError
from trimtab_sdk.groups import link_groups
from trimtab_sdk.messages import Message, ToolResult, plain_text
from trimtab_sdk.protection import Tail, tail_of

TARGET = 0.75
_NOTHING = Carried()
_HOSTS_OWN = frozenset({"final-budget", "wire-rule"})


class Conversation:
    """Holds a conversation with its groups and counts, and fits it turn after turn.

        chat = Conversation(messages, model="gpt-4o")
        request = chat.fit().messages
        chat.append(answer, next_question)
        request = chat.fit().messages     # the former request with the new messages behind it, while that fits

    What the strategy did is done again at the next fit before anything else. Only when that is over the budget the
    strategy is called again, and then it cuts down to `target`, a share of the budget: so the prefix that a
    provider caches stays the same for many turns. The carried edit is discarded when everything fits without
    it, and when pins or the messages it speaks of change.

    A plugin that is not built in and changes the older part of the request from turn to turn, so that the prefix
    breaks, is named (`prefix-unstable`): after three breaks its texts go before the current input, after three
    more it is not called any more.

    The options are those of `trimtab.fit`. Without a `scope` the conversation gets one of its own: its workers
    end with it, or with `close`. Safe to use from many threads; calls run one after another.
    """

    def __init__(
        self,
        messages: object = (),
        *,
        model: str,
        strategy: str = "truncate",
        context_limit: int | None = None,
        reserve: int | None = None,
        pins: Sequence[int | str] = (),
        excluded: Sequence[int | str] = (),
        tools: Sequence[object] | None = None,
        response_format: Mapping[str, object] | None = None,
        format: str | None = None,
        settings: Mapping[str, object] | None = None,
        scope: str | None = None,
        config: Config | None = None,
        registry: ContextStrategyRegistry | None = None,
        target: float = TARGET,
    ) -> None:
        options = Options(
            model=model,
            strategy=strategy,
            context_limit=context_limit,
            reserve=reserve,
            tools=tools,
            response_format=response_format,
            format=format,
            settings=settings,
            scope=scope,
            config=config,
            registry=registry,
            target=_share(target),
        )
        opened = open_conversation(list(messages) if isinstance(messages, tuple) else messages, options)
        self._setup = opened.setup if scope is not None else _with_own_scope(opened.setup)
        self._closing = None if scope is not None else _forget_at_end(self, self._setup)
        self._watch = _watch_for(self._setup)
        self._touched = False
        self._shifted = False
        self._decoded = opened.decoded
        self._notes: tuple[Diagnostic, ...] = opened.notes
        self._lock = threading.RLock()
        self._costs: dict[str, Cost] = {}
        self._uncounted: list[Message] = list(self._decoded.messages)
        self._total = self._setup.overhead.tokens
        self._places = self._make_places()
        self._active: list[Message] = list(self._decoded.messages)
        self._carried = _NOTHING
        self._awaited: frozenset[str] = frozenset()
        self._pins = set(self._ids("pins", pins))
        self._excluded = set(self._ids("excluded", excluded))

    def __len__(self) -> int:
        """Give the number of messages."""
        return len(self._decoded.messages) - self._decoded.leading

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the messages, in order."""
        return tuple(message.id for message in self._decoded.messages)

    def append(self, *messages: object) -> tuple[str, ...]:
        """Add messages at the end, in the format of the conversation; give their ids.

        Raises InvalidRequestError when one has the wrong shape; then none is added.
        """
        with self._lock:
            fresh = self._splice(len(self), len(self), messages)
            self._uncounted += fresh
            self._active += fresh
            if any(self._answers_dropped(message) for message in fresh):
                self._touched = True
                self._discard()
            return tuple(message.id for message in fresh)

    def edit(self, which: int | str, message: object) -> None:
        """Replace a message by another of the same id."""
        with self._lock:
            name, at = self._find(which)
            self._forget(name)
            (fresh,) = self._splice(at, at + 1, (message,), ids=(name,))
            self._uncounted.append(fresh)
            self._changed(name)

    def remove(self, which: int | str) -> None:
        """Take a message out for good. What is left of its group is the caller's to mend."""
        with self._lock:
            name, at = self._find(which)
            self._forget(name)
            self._splice(at, at + 1, ())
            self._pins.discard(name)
            self._excluded.discard(name)
            self._changed(name)

    def pin(self, *which: int | str) -> None:
        """Protect messages."""
        with self._lock:
            self._pins |= self._ids("pins", which)
            self._touched = True
            self._discard()

    def unpin(self, *which: int | str) -> None:
        """Protect messages no longer."""
        with self._lock:
            self._pins -= self._ids("pins", which)
            self._touched = True
            self._discard()

    def exclude(self, *which: int | str) -> None:
        """Leave messages out by hand, until they are included again. No summary goes on telling what they said."""
        with self._lock:
            names = self._ids("excluded", which)
            self._excluded |= names
            self._touched = True
            if any(self._carried.drop.get(name) == "summarized" for name in names):
                self._discard()

    def include(self, *which: int | str) -> None:
        """Leave messages out by hand no longer."""
        with self._lock:
            self._excluded -= self._ids("excluded", which)
            self._touched = True

    def close(self) -> None:
        """End the workers of the conversation. Those of a `scope` that the caller gave are the caller's to end."""
        if self._closing is not None:
            self._closing()

    def fit(self) -> Fit:
        """Fit the conversation as it is now. Raises what `trimtab.fit` raises."""
        with self._lock, gc_paused():
            self._count_new()
            if self._total <= self._setup.budget.available:
                self._discard()
            before = self._carried
            explained = self._touched or (self._shifted and before is not _NOTHING)
            costs = dict(self._costs)
            job = Job(
                setup=self._setup,
                messages=tuple(self._active),
                originals=self._decoded.originals,
                places=self._places,
                pins=frozenset(self._pins),
                excluded=frozenset(self._excluded),
                tail=self._tail(),
                costs=costs,
                carried=before if before is not _NOTHING else None,
                stages=self._watch.stages if self._watch is not None else {},
            )
            outcome = run_pipeline(job)
            gone = self._carry_on(outcome)
            if self._watch is not None:
                explained = explained or outcome.over
                self._judge(self._watch, outcome, end=self._prefix_end(job), gone=gone, explained=explained)
            self._touched = False
            by_hand = dict.fromkeys(self._excluded & before.drop.keys(), "manual")
            left = {**before.drop, **by_hand}
            whole = Whole(self._decoded.messages, costs, self._places, left, self._total)
            return make_fit(job, outcome, whole=whole, notes=self._notes)

    def _carry_on(self, outcome: Outcome) -> Collection[str]:
        """Keep the edit for the next fit, and give the ids that were not sent."""
        carried = carry(self._carried, outcome.after, outcome.account, size=len(self))
        self._shifted = False
        if not (carried.drop or carried.shorten or carried.inserts):
            return carried.known
        gone = carried.drop.keys() - self._carried.drop.keys()
        if gone:
            groups = link_groups(self._active)
            calls = {call for group in groups if group.ids[0] in gone for call in group.open_calls}
            self._awaited |= calls
            self._active = [message for message in self._active if message.id not in gone]
        self._shifted = any(carried.drop[name] in _HOSTS_OWN for name in gone)
        self._carried = carried
        return carried.known

    def _prefix_end(self, job: Job) -> int:
        """The place of the current input, which the prefix of the next request reaches to."""
        inputs = job.tail.inputs if job.tail is not None else ()
        return self._places[job.messages[inputs[0]].id] if inputs else len(self)

    def _judge(
        self, watch: PrefixWatch, outcome: Outcome, *, end: int, gone: Collection[str], explained: bool
    ) -> None:
        """Compare what plugins did to the older messages with what they did the last time."""
        account = outcome.account
        deeds = dict(account.deeds)
        strategy = (self._setup.strategy.plugin.origin, SHIFT)
        if strategy in deeds:
            made = tuple((plain_text(insert.message), follower) for insert, follower in self._carried.inserts)
            deeds[strategy] = replace(deeds[strategy], inserts=made)
        watch.judge(deeds, View(end, gone, account.cuts), places=self._places, explained=explained)
        for (origin, hook), stage in watch.stages.items():
            account.note(UNSTABLE, _told(stage, hook), origin=origin)

    def _discard(self) -> None:
        if self._carried is _NOTHING:
            return
        self._carried = _NOTHING
        self._awaited = frozenset()
        self._active = list(self._decoded.messages)

    def _answers_dropped(self, message: Message) -> bool:
        return any(isinstance(part, ToolResult) and part.call_id in self._awaited for part in message.parts)

    def _changed(self, name: str) -> None:
        """A message changed or went: the edit that speaks of it is void, and so is the list of what is in play."""
        self._touched = True
        if self._carried.touches(name):
            self._discard()
        self._active = [message for message in self._decoded.messages if message.id not in self._carried.drop]

    def _splice(
        self, start: int, stop: int, messages: Sequence[object], *, ids: Sequence[str] = ()
    ) -> list[Message]:
        cleaned = clean_input(list(messages))
        items = cleaned.data if isinstance(cleaned.data, list) else []
        old = self._decoded
        self._decoded = self._setup.codec.splice(old, start, stop, items, ids=ids)
        self._notes = (*self._notes, *replaced_note(cleaned.replaced))
        first = old.leading + start
        fresh = self._decoded.messages[first : first + len(items)]
        if stop == start:
            known = len(self._places)
            self._places = {**self._places, **{one.id: known - old.leading + at for at, one in enumerate(fresh)}}
        else:
            self._places = self._make_places()
        return list(fresh)

    def _forget(self, name: str) -> None:
        cost = self._costs.pop(name, None)
        if cost is not None:
            self._total -= cost.tokens
        self._uncounted = [message for message in self._uncounted if message.id != name]

    def _count_new(self) -> None:
        for message in self._uncounted:
            cost = self._setup.counter.message(message)
            self._costs[message.id] = cost
            self._total += cost.tokens
        self._uncounted = []

    def _tail(self) -> Tail:
        """The tail of the whole conversation, as positions in the messages that are still in play."""
        whole = self._decoded.messages
        tail = tail_of(whole)
        wanted = {whole[at].id for at in (*tail.inputs, *tail.results, *tail.unanswered)}
        positions: dict[str, int] = {}
        for at in range(len(self._active) - 1, -1, -1):
            if len(positions) == len(wanted):
                break
            if self._active[at].id in wanted:
                positions[self._active[at].id] = at

        def of(places: Sequence[int]) -> tuple[int, ...]:
            return tuple(positions[whole[at].id] for at in places if whole[at].id in positions)

        return Tail(of(tail.inputs), of(tail.results), of(tail.unanswered))

    def _make_places(self) -> dict[str, int]:
        leading = self._decoded.leading
        return {message.id: at - leading for at, message in enumerate(self._decoded.messages)}

    def _ids(self, what: str, which: Sequence[int | str]) -> frozenset[str]:
        return named_ids(what, which, self._decoded.messages, leading=self._decoded.leading)

    def _find(self, which: int | str) -> tuple[str, int]:
        (name,) = self._ids("which", (which,))
        at = self._places[name]
        if at < 0:
            raise InvalidRequestError(
                f"{name!r} stands in a field of the body, not in the list of messages", path="which", ids=(name,)
            )
        return name, at


def _with_own_scope(setup: Setup) -> Setup:
    return replace(setup, scope=os.urandom(16).hex())


def _forget_at_end(conversation: Conversation, setup: Setup) -> Callable[[], object] | None:
    """Give what ends the workers of a conversation; it is called when nobody holds the conversation any more."""
    if all(step.plugin.is_built_in for step in (setup.strategy, *setup.interceptors)):
        return None
    ending = weakref.finalize(conversation, setup.caller.forget, setup.scope or "")
    ending.atexit = False
    return ending


def _watch_for(setup: Setup) -> PrefixWatch | None:
    """Give the watch over the plugins that are called on every turn and are not built in."""
    plugins = [(step.plugin.origin, INTERCEPT) for step in setup.interceptors if not step.plugin.is_built_in]
    strategy = setup.strategy.plugin
    if strategy.traits.per_turn and not strategy.is_built_in:
        plugins.append((strategy.origin, SHIFT))
    return PrefixWatch(plugins) if plugins else None


def _told(stage: Stage, hook: str) -> str:
    if stage == "at-input":
        answer = "its texts go before the current input from now on"
    elif hook == SHIFT:
        answer = "the host's own shift answers in its place from now on"
    else:
        answer = "it is not called in this conversation any more"
    return f"it treated the older messages otherwise from request to request, which undoes prompt caches; {answer}"


def _share(target: object) -> float:
    if isinstance(target, bool) or not isinstance(target, int | float) or not 0 < target <= 1:
        raise InvalidBudgetError(f"target must be a share of the budget, over 0 and at most 1, not {target!r}")
    return float(target)
