"""A conversation that is held in memory: what is known of it is kept, and the accepted edit carried on.

Here the messages are at hand already. What reads them from a wire, or from a store, stands in front of this.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import compress
from operator import is_not

from trimtab.fitting.allocation import gc_paused
from trimtab.fitting.binding import Binding
from trimtab.fitting.carried_json import CarriedFacts, facts_of
from trimtab.fitting.carrying import NOTHING, Carried, carry, stands_on
from trimtab.fitting.held_fit import HeldFit, InsertedText, make_held_fit
from trimtab.fitting.job import Job, Setup
from trimtab.fitting.pipeline import Outcome, run_pipeline
from trimtab.fitting.recording import UNSTABLE
from trimtab.fitting.reporting import Whole
from trimtab.fitting.stability import PrefixWatch, View, told_of
from trimtab.fitting.tails import tail_in_play
from trimtab.loading.plugins import SHIFT
from trimtab.report import Diagnostic
from trimtab_sdk.codec import Decoded
from trimtab_sdk.counting import Cost
from trimtab_sdk.groups import Group, link_groups
from trimtab_sdk.messages import Message, ToolResult, plain_text

__all__ = ["HeldConversation", "HeldFit", "InsertedText", "watch_for"]

_HOSTS_OWN = frozenset({"final-budget", "wire-rule"})
_NO_COSTS: Mapping[str, Cost] = {}


class HeldConversation:
    """Fits a conversation turn after turn, counting each message once and carrying the accepted edit on.

        trial = held.fork()
        trial.extend(decoded, fresh)
        result = trial.fit()
        held = trial          # or not: `held` is as it was

    - `costs` are known already (id → cost, counted under the same `count_key`); those of other ids are ignored.
    - `carried` is the edit of the fits before. One that does not stand on these messages is not taken over.
    - `pins` and `excluded` are ids, besides the messages that are flagged themselves.
    - `watch` goes on watching plugins that may break the prefix; without one a new watch begins.

    For one thread at a time. Two that were forked from each other share nothing that changes, save the conduct of
    their plugins in the scope of the setup.
    """

    def __init__(
        self,
        setup: Setup,
        decoded: Decoded,
        *,
        notes: tuple[Diagnostic, ...] = (),
        costs: Mapping[str, Cost] = _NO_COSTS,
        carried: Carried = NOTHING,
        pins: Collection[str] = (),
        excluded: Collection[str] = (),
        watch: PrefixWatch | None = None,
    ) -> None:
        self._setup = setup
        self._decoded = decoded
        self._notes = notes
        self._watch = watch if watch is not None else watch_for(setup)
        self._touched = False
        self._shifted = False
        self._places = _places_of(decoded)
        self._costs = {name: cost for name, cost in costs.items() if name in self._places}
        self._unkept: dict[str, None] = {}
        self._total = setup.overhead.tokens + sum(cost.tokens for cost in self._costs.values())
        self._uncounted = self._without_cost()
        self._pins = set(pins)
        self._excluded = set(excluded)
        self._carried = NOTHING
        self._covered: dict[str, str] = {}
        self._since: dict[str, int] = {}
        self._awaited: frozenset[str] = frozenset()
        self._active: list[Message] = list(decoded.messages)
        if not carried.is_empty:
            self._take_over(carried)

    def __len__(self) -> int:
        """Give the number of messages that have an index."""
        return len(self._decoded.messages) - self._decoded.leading

    @property
    def setup(self) -> Setup:
        """What the fits stand on."""
        return self._setup

    @property
    def decoded(self) -> Decoded:
        """The messages, as the codec knows them."""
        return self._decoded

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all messages, in order."""
        return tuple(self._places)

    @property
    def places(self) -> Mapping[str, int]:
        """Id → index; negative for what stands in fields of its own."""
        return self._places

    @property
    def carried(self) -> Carried:
        """The accepted edit, which the next fit begins with."""
        return self._carried

    @property
    def watch(self) -> PrefixWatch | None:
        """The watch over plugins that may break the prefix, None where there are none."""
        return self._watch

    @property
    def pinned(self) -> frozenset[str]:
        """The ids that are pinned, by a flag or by `pin`."""
        return frozenset(self._pins).union(message.id for message in self._decoded.messages if message.pinned)

    def fork(self) -> HeldConversation:
        """Give a conversation of its own that begins as this one is."""
        twin = copy(self)
        twin._costs = dict(self._costs)
        twin._unkept = dict(self._unkept)
        twin._uncounted = list(self._uncounted)
        twin._active = list(self._active)
        twin._pins = set(self._pins)
        twin._excluded = set(self._excluded)
        twin._watch = self._watch.copy() if self._watch is not None else None
        return twin

    def with_setup(self, setup: Setup) -> HeldConversation:
        """Give a fork under other figures or other plugins. The costs stay, so what counts them must be the same.

        The edit is carried on unless the strategy or its settings are others. Raises ValueError for another codec,
        model or tokenizer.
        """
        before = self._setup
        if setup.counting != before.counting:
            raise ValueError(f"these messages are counted for {before.counting}, not for {setup.counting}")
        twin = self.fork()
        twin._setup = setup
        twin._total += setup.overhead.tokens - before.overhead.tokens
        twin._touched = True
        if _strategy_of(setup) != _strategy_of(before):
            twin._discard()
        if setup.watched != before.watched:
            twin._watch = watch_for(setup)
        return twin

    def extend(self, decoded: Decoded, fresh: Sequence[Message], *, notes: tuple[Diagnostic, ...] = ()) -> None:
        """Take in messages at the end: `decoded` is the whole as it is now, which ends in `fresh`.

        Raises ValueError when it is not what there was with `fresh` behind it.
        """
        known = len(self._places)
        fresh_places = {one.id: known - decoded.leading + at for at, one in enumerate(fresh)}
        places = {**self._places, **fresh_places}
        if not len(places) == len(decoded.messages) == known + len(fresh):
            raise ValueError(f"{known} messages and {len(fresh)} new ones do not make {len(decoded.messages)}")
        self._renew(decoded)
        self._decoded = decoded
        self._notes = (*self._notes, *notes)
        self._places = places
        self._uncounted += fresh
        self._active += fresh
        if any(self._answers_dropped(message) for message in fresh):
            self._touched = True
            self._discard()

    def replace_messages(
        self, decoded: Decoded, changed: Collection[str], *, notes: tuple[Diagnostic, ...] = ()
    ) -> None:
        """Take in the whole as it is now, in which the messages `changed` are other ones, or gone.

        What was there before and is not there now counts as gone, whether it is named or not. The edit is
        discarded when it speaks of one of them, and when something is pinned otherwise.
        """
        before, self._decoded = self._decoded, decoded
        old, self._places = self._places, _places_of(decoded)
        gone = old.keys() - self._places.keys()
        names = gone | set(changed)
        self._notes = (*self._notes, *notes)
        for name in names:
            self._forget(name)
        self._uncounted = self._without_cost()
        self._pins -= gone
        self._excluded -= gone
        self._touched = True
        pinned = _flagged(before.messages, names) != _flagged(decoded.messages, names)
        if pinned or any(self._carried.touches(name) for name in names):
            self._discard()
        self._active = self._in_play()

    def pin(self, names: Collection[str]) -> None:
        """Protect messages."""
        self._pins.update(names)
        self._touched = True
        self._discard()

    def unpin(self, names: Collection[str]) -> None:
        """Protect messages no longer; those whose own flag pins them stay protected."""
        self._pins.difference_update(names)
        self._touched = True
        self._discard()

    def exclude(self, names: Collection[str]) -> None:
        """Leave messages out by hand, until they are included again. No summary goes on telling what they said."""
        self._excluded.update(names)
        self._touched = True
        if any(self._carried.drop.get(name) == "summarized" for name in names):
            self._discard()

    def include(self, names: Collection[str]) -> None:
        """Leave messages out by hand no longer; those whose own flag excludes them stay out."""
        self._excluded.difference_update(names)
        self._touched = True

    def cover(self, reasons: Mapping[str, str]) -> None:
        """Leave messages out that something else stands for: id → reason. Replaces what was covered before."""
        if self._covered == reasons:
            return
        self._covered = dict(reasons)
        self._touched = True
        if any(self._carried.touches(name) for name in reasons):
            self._carried, self._awaited = NOTHING, frozenset()
        self._active = self._in_play()

    def say_since(self, since: Mapping[str, int]) -> None:
        """Tell of messages left out by hand from which index on all was said without them: id → index."""
        self._since = dict(since)

    def new_costs(self) -> dict[str, Cost]:
        """Give id → cost of the messages that were counted here, those of `costs_kept` left out.

        What was not counted yet is counted now.
        """
        self._count_new()
        return {name: self._costs[name] for name in self._unkept}

    def costs_kept(self) -> None:
        """Note that the costs of all that was counted so far are stored."""
        self._unkept = {}

    def facts(self, *, as_of: int) -> CarriedFacts:
        """Give what the carried edit holds for, to store it with; `as_of` is the revision of the chat by then."""
        return facts_of(self._setup, pins=self.pinned, as_of=as_of)

    def fit(self, *, binding: Binding | None = None) -> HeldFit:
        """Fit the conversation as it is now, and carry on the edit. Raises what `trimtab.fit` raises.

        `binding` knows on which prefixes reasoning was made, where the server asks for that.
        """
        with gc_paused():
            self._count_new()
            covered = sum(self._costs[name].tokens for name in self._covered if name in self._costs)
            if self._total - covered <= self._setup.budget.available:
                self._discard()
            before = self._carried
            explained = self._touched or (self._shifted and before is not NOTHING)
            job = self._make_job(binding)
            outcome = run_pipeline(job)
            gone = self._carry_on(outcome)
            if self._watch is not None:
                explained = explained or outcome.over
                self._judge(self._watch, outcome, end=self._prefix_end(job), gone=gone, explained=explained)
            self._touched = False
            return self._report(job, outcome, before)

    def _make_job(self, binding: Binding | None) -> Job:
        return Job(
            setup=self._setup,
            messages=tuple(self._active),
            originals=self._decoded.originals,
            places=self._places,
            pins=frozenset(self._pins),
            excluded=frozenset(self._excluded),
            tail=tail_in_play(self._decoded.messages, self._active),
            costs=dict(self._costs),
            carried=self._carried if self._carried is not NOTHING else None,
            stages=self._watch.stages if self._watch is not None else {},
            since=self._since,
            binding=binding,
        )

    def _report(self, job: Job, outcome: Outcome, before: Carried) -> HeldFit:
        by_hand = dict.fromkeys(self._excluded & before.drop.keys(), "manual")
        left = {**before.drop, **self._covered, **by_hand}
        costs = job.costs if job.costs is not None else {}
        whole = Whole(self._decoded.messages, costs, self._places, left, self._total)
        return make_held_fit(job, outcome, whole=whole, left=left, notes=self._notes, carried=self._carried)

    def _carry_on(self, outcome: Outcome) -> Collection[str]:
        """Keep the edit for the next fit, and give the ids that were not sent."""
        carried = carry(self._carried, outcome.after, outcome.account, size=len(self))
        self._shifted = False
        if carried.is_empty:
            return carried.known
        gone = carried.drop.keys() - self._carried.drop.keys()
        if gone:
            self._awaited |= _open_calls(link_groups(self._active), gone)
            self._active = [message for message in self._active if message.id not in gone]
        self._shifted = any(carried.drop[name] in _HOSTS_OWN for name in gone)
        self._carried = carried
        return carried.known

    def _take_over(self, carried: Carried) -> None:
        groups = link_groups(self._active)
        if not stands_on(carried, self._active, groups):
            return
        self._carried = carried
        self._awaited = _open_calls(groups, carried.drop)
        self._active = [message for message in self._active if message.id not in carried.drop]

    def _renew(self, decoded: Decoded) -> None:
        """Put the messages that a codec made anew, as what was the current input, in place of the old ones."""
        old, new = self._decoded.messages, decoded.messages
        renewed = {message.id: message for message in compress(new, map(is_not, old, new))}
        if not renewed:
            return
        self._uncounted = [renewed.get(message.id, message) for message in self._uncounted]
        for at in range(len(self._active) - 1, -1, -1):
            message = renewed.pop(self._active[at].id, None)
            if message is not None:
                self._active[at] = message
            if not renewed:
                return

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
            account.note(UNSTABLE, told_of(stage, hook), origin=origin)

    def _discard(self) -> None:
        if self._carried is NOTHING:
            return
        self._carried = NOTHING
        self._awaited = frozenset()
        self._active = self._in_play()

    def _in_play(self) -> list[Message]:
        """Give the messages that neither the carried edit nor anything else stands for."""
        gone = self._carried.drop.keys() | self._covered.keys()
        return [message for message in self._decoded.messages if message.id not in gone]

    def _answers_dropped(self, message: Message) -> bool:
        return any(isinstance(part, ToolResult) and part.call_id in self._awaited for part in message.parts)

    def _forget(self, name: str) -> None:
        cost = self._costs.pop(name, None)
        if cost is not None:
            self._total -= cost.tokens
        self._unkept.pop(name, None)

    def _without_cost(self) -> list[Message]:
        return [message for message in self._decoded.messages if message.id not in self._costs]

    def _count_new(self) -> None:
        for message in self._uncounted:
            cost = self._setup.counter.message(message)
            self._costs[message.id] = cost
            self._unkept[message.id] = None
            self._total += cost.tokens
        self._uncounted = []


def watch_for(setup: Setup) -> PrefixWatch | None:
    """Give a new watch over the plugins that may break the prefix; None where there are none."""
    plugins = setup.watched
    return PrefixWatch(plugins) if plugins else None


def _places_of(decoded: Decoded) -> dict[str, int]:
    return {message.id: at - decoded.leading for at, message in enumerate(decoded.messages)}


def _strategy_of(setup: Setup) -> tuple[object, Mapping[str, object]]:
    return setup.strategy.plugin.origin, setup.strategy.settings


def _flagged(messages: Sequence[Message], names: Collection[str]) -> frozenset[str]:
    return frozenset(message.id for message in messages if message.pinned and message.id in names)


def _open_calls(groups: Sequence[Group], gone: Container[str]) -> frozenset[str]:
    """Give the ids of the calls without a result in the groups that leave."""
    return frozenset(call for group in groups if group.ids[0] in gone for call in group.open_calls)
